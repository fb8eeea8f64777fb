//! What may not be written.

use crate::Findings;
use crate::scan::Source;

pub fn unsafe_without_reason(source: &Source) -> Findings {
    let is_use = |code: &str| {
        word_at(code, "unsafe").any(|at| {
            let after = code[at + "unsafe".len()..].trim_start();
            after.starts_with('{') || after.starts_with("impl") || after.is_empty()
        })
    };
    let reasoned = |line: usize| {
        let above = source.raw[..=line].iter().rev().take(12);
        above.take_while(|text| !text.trim().is_empty()).any(|text| text.contains("// SAFETY:"))
    };
    findings(
        source,
        |line| is_use(&source.code[line]) && !reasoned(line),
        "unsafe without '// SAFETY:' above; say why it is sound",
    )
}

pub fn names(source: &Source) -> Findings {
    const MODULES: [&str; 8] = ["utils", "util", "common", "misc", "base", "helpers", "helper", "prelude"];
    let names_nothing = |name: &str| MODULES.contains(&name);
    let mut found = Vec::new();
    if source.path.trim_end_matches(".rs").split('/').any(names_nothing) {
        found.push(format!("{}: the name says nothing; name the module after what it does", source.at(0)));
    }
    let inline = |code: &str| {
        word_at(code, "mod").any(|at| {
            let name: String = code[at + 3..]
                .trim_start()
                .chars()
                .take_while(|c| c.is_alphanumeric() || *c == '_')
                .collect();
            names_nothing(&name)
        })
    };
    found.extend(findings(
        source,
        |line| inline(&source.code[line]),
        "the module's name says nothing; name what it does",
    ));
    let getter = |line: usize| source.code[line].contains("fn get_");
    found.extend(findings(source, getter, "'get_' says nothing; name the value"));
    found
}

pub fn unfinished(source: &Source) -> Findings {
    let has = |line: usize, words: &[&str]| {
        words.iter().any(|word| word_at(&source.code[line], word).next().is_some())
    };
    let mut found = findings(
        source,
        |line| has(line, &["todo!", "unimplemented!", "dbg!"]),
        "unfinished; finish it or take it out",
    );
    let ignored = |line: usize| source.code[line].trim_start().starts_with("#[ignore");
    found.extend(findings(source, ignored, "an ignored test; make it run, or let it say SKIPPED and why"));
    let glob = |line: usize| {
        let code = source.code[line].trim();
        code.starts_with("pub")
            && word_at(code, "use").next().is_some()
            && code.trim_end_matches(';').ends_with("::*")
    };
    found.extend(findings(source, glob, "a glob re-export; name what is exported"));
    found
}

pub fn unwraps(source: &Source) -> Findings {
    let panics = |line: usize| {
        let code = &source.code[line];
        !source.test[line] && (code.contains(".unwrap()") || code.contains(".expect("))
    };
    let reasoned = |line: usize| {
        let above = source.raw[..line].iter().rev().take_while(|text| text.trim_start().starts_with("//"));
        std::iter::once(&source.raw[line]).chain(above).any(|text| text.contains("// INVARIANT:"))
    };
    findings(
        source,
        |line| panics(line) && !reasoned(line),
        "unwrap or expect; return an error, or say '// INVARIANT:' why it holds",
    )
}

fn findings(source: &Source, wrong: impl Fn(usize) -> bool, what: &str) -> Findings {
    (0..source.code.len())
        .filter(|line| wrong(*line))
        .map(|line| format!("{}: {what}", source.at(line)))
        .collect()
}

/// Where `word` stands on its own.
fn word_at<'a>(code: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    let in_word = |c: char| c.is_alphanumeric() || c == '_';
    code.match_indices(word)
        .map(|(at, _)| at)
        .filter(move |at| !code[..*at].ends_with(in_word) && !code[at + word.len()..].starts_with(in_word))
}

#[test]
fn each_rule_finds_its_case_and_no_other() {
    type Rule = fn(&Source) -> Findings;
    let table: [(Rule, &str, usize); 18] = [
        (unsafe_without_reason, "let a = unsafe { b() };", 1),
        (unsafe_without_reason, "// SAFETY: because.\nlet a = unsafe { b() };", 0),
        (unsafe_without_reason, "// SAFETY: because\n// of this.\n#[allow(x)]\nunsafe impl Send for A {}", 0),
        (unsafe_without_reason, "// SAFETY: far off.\n\nunsafe impl Send for A {}", 1),
        (unsafe_without_reason, "unsafe fn f();\n#![deny(unsafe_code)]", 0),
        (names, "mod utils {}", 1),
        (names, "fn get_x() {}", 1),
        (names, "fn target_x() {}\nmod common_case;", 0),
        (unfinished, "fn f() { todo!() }", 1),
        (unfinished, "#[ignore]\nfn f() {}", 1),
        (unfinished, "pub use self::a::*;", 1),
        (unfinished, "use super::*;\nlet s = \"todo!\";", 0),
        (unwraps, "a.unwrap();", 1),
        (unwraps, "a.expect(\"b\");", 1),
        (unwraps, "a.unwrap_or(1); // .unwrap()", 0),
        (unwraps, "// INVARIANT: it is there.\na.unwrap();", 0),
        (unwraps, "a.unwrap(); // INVARIANT: it is there.", 0),
        (unwraps, "#[cfg(test)]\nmod tests {\n    a.unwrap();\n}", 0),
    ];
    for (rule, text, want) in table {
        assert_eq!(rule(&Source::new("src/graph/a.rs", text)).len(), want, "{text}");
    }
    assert_eq!(names(&Source::new("src/graph/helpers.rs", "")).len(), 1);
}
