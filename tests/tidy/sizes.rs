//! How long files and functions may be, and the ones that still are longer.

use crate::Findings;
use crate::scan::{Source, item_end, sources};

const FILE_LINES_MAX: usize = 500;
const FUNCTION_LINES_MAX: usize = 70;

/// Files (`src/a.rs`) and functions (`src/a.rs f`) over the limit, with the length they have. The list may only
/// shrink: an entry that isn't exact fails, and so does one that isn't needed.
const ALLOWED: &[(&str, usize)] = &[];

pub fn check(folders: &[&str]) -> Findings {
    let over: Vec<(String, usize, String)> =
        folders.iter().flat_map(|folder| sources(folder)).flat_map(|source| over_limit(&source)).collect();
    judge(&over, ALLOWED)
}

fn judge(over: &[(String, usize, String)], allowed: &[(&str, usize)]) -> Findings {
    let mut findings = Vec::new();
    for (what, lines, place) in over {
        match allowed.iter().find(|(name, _)| name == what) {
            None => findings.push(format!("{place}: {lines} lines; split it by family or by event")),
            Some((_, known)) if lines > known => {
                findings.push(format!("{place}: grew from {known} to {lines} lines; split it"));
            }
            Some((_, known)) if lines < known => {
                findings.push(format!(
                    "{place}: shrank from {known} to {lines} lines; lower its entry in ALLOWED"
                ));
            }
            Some(_) => {}
        }
    }
    for (name, _) in allowed {
        if !over.iter().any(|(what, ..)| what == name) {
            findings
                .push(format!("tests/tidy/sizes.rs: '{name}' is within the limit or gone; drop its entry"));
        }
    }
    findings
}

fn over_limit(source: &Source) -> Vec<(String, usize, String)> {
    let mut over = Vec::new();
    if source.raw.len() > FILE_LINES_MAX {
        over.push((source.path.clone(), source.raw.len(), source.at(FILE_LINES_MAX)));
    }
    for (line, name) in functions(source) {
        // A function without an end is a scrap of a macro.
        let end = item_end(&source.code, line).unwrap_or(line);
        let lines = end + 1 - line;
        if lines > FUNCTION_LINES_MAX {
            over.push((format!("{} {name}", source.path), lines, format!("{}: fn {name}", source.at(line))));
        }
    }
    over
}

fn functions(source: &Source) -> Vec<(usize, String)> {
    let mut functions = Vec::new();
    for (line, code) in source.code.iter().enumerate() {
        let Some(at) = code.find("fn ") else { continue };
        let (before, after) = (&code[..at], &code[at + 3..]);
        let word = before.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let name: String = after.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        if !word && !name.is_empty() {
            functions.push((line, name));
        }
    }
    functions
}

#[test]
fn long_functions_are_found_and_the_list_only_shrinks() {
    let body = "    x();\n".repeat(70);
    let source = Source::new("src/a.rs", &format!("fn short() {{}}\nfn long(a: [u8; 2]) {{\n{body}}}\n"));
    let over = over_limit(&source);
    assert_eq!(
        over.iter().map(|(what, lines, _)| (what.as_str(), *lines)).collect::<Vec<_>>(),
        [("src/a.rs long", 72)]
    );
    assert_eq!(judge(&over, &[]).len(), 1);
    assert_eq!(judge(&over, &[("src/a.rs long", 72)]).len(), 0);
    assert_eq!(judge(&over, &[("src/a.rs long", 71)]).len(), 1);
    assert_eq!(judge(&over, &[("src/a.rs long", 73)]).len(), 1);
    assert_eq!(judge(&[], &[("src/a.rs long", 72)]).len(), 1);
}
