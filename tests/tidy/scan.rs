//! A scanner that knows just enough Rust: comments, strings, characters, and which lines are test code.

use std::fs;
use std::path::{Path, PathBuf};

/// One source file.
pub struct Source {
    /// The path from the root of the repository, with `/`.
    pub path: String,
    /// The lines as they are.
    pub raw: Vec<String>,
    /// The lines with comments and the contents of strings blanked out, so that columns stay.
    pub code: Vec<String>,
    /// Whether a line is compiled for tests only.
    pub test: Vec<bool>,
}

impl Source {
    /// Scans a text as if it were the file `path`.
    pub fn new(path: &str, text: &str) -> Source {
        let code: Vec<String> = blanked(text).lines().map(str::to_owned).collect();
        let test = test_lines(&code);
        Source { path: path.to_owned(), raw: text.lines().map(str::to_owned).collect(), code, test }
    }

    /// The module's path in the crate: `src/plan/place/mod.rs` is `plan::place`; empty for the roots.
    pub fn module(&self) -> Vec<String> {
        let below = self.path.trim_start_matches("src/").trim_end_matches(".rs");
        let mut parts: Vec<String> = below.split('/').map(str::to_owned).collect();
        if matches!(parts.last().map(String::as_str), Some("mod" | "lib" | "main")) {
            parts.pop();
        }
        parts
    }

    /// `path:line`, where `line` counts from 0.
    pub fn at(&self, line: usize) -> String {
        format!("{}:{}", self.path, line + 1)
    }
}

/// Every `.rs` file below a folder, sorted; none when there is no such folder.
pub fn sources(folder: &str) -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut paths = Vec::new();
    walk(&root.join(folder), &mut paths);
    paths.sort();
    let mut sources: Vec<Source> = paths
        .iter()
        .map(|path| {
            let text = fs::read_to_string(path).expect("a readable source file");
            let relative = path.strip_prefix(root).expect("a path below the root");
            Source::new(&relative.to_string_lossy().replace('\\', "/"), &text)
        })
        .collect();
    mark_test_files(&mut sources);
    sources
}

fn walk(folder: &Path, paths: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            walk(&path, paths);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            paths.push(path);
        }
    }
}

/// A file whose `mod` stands under `#[cfg(test)]` is test code as a whole, and so is all below it.
fn mark_test_files(sources: &mut [Source]) {
    let mut modules: Vec<Vec<String>> = Vec::new();
    for source in sources.iter() {
        for (line, _) in source.code.iter().enumerate().filter(|(line, _)| source.test[*line]) {
            let words: Vec<&str> =
                source.code[line].trim().trim_start_matches("pub ").split_whitespace().collect();
            if let ["mod", name] = words[..]
                && let Some(name) = name.strip_suffix(';')
            {
                let mut module = source.module();
                match source.raw[line - 1]
                    .trim()
                    .strip_prefix("#[path = \"")
                    .and_then(|p| p.strip_suffix(".rs\"]"))
                {
                    // Relative to the folder that the file stands in.
                    Some(file) => *module.last_mut().expect("a module with a file") = file.to_owned(),
                    None => module.push(name.to_owned()),
                }
                modules.push(module);
            }
        }
    }
    for source in sources.iter_mut() {
        let own = source.module();
        if modules.iter().any(|module| own.starts_with(module)) {
            source.test.fill(true);
        }
    }
}

/// Marks the item after each `#[cfg(test)]`, up to its closing brace or its semicolon.
fn test_lines(code: &[String]) -> Vec<bool> {
    let mut test = vec![false; code.len()];
    for start in 0..code.len() {
        let line = code[start].trim();
        let attribute = line.starts_with("#[cfg(") && line.contains("test") && !line.contains("not(test");
        if attribute || line.starts_with("#[test]") {
            let end = item_end(code, start + 1).unwrap_or(code.len() - 1);
            test[start..=end].fill(true);
        }
    }
    test
}

/// The line where the item that starts at or after `start` ends.
pub fn item_end(code: &[String], start: usize) -> Option<usize> {
    let (mut braces, mut others) = (0usize, 0usize);
    for (line, text) in code.iter().enumerate().skip(start) {
        for c in text.chars() {
            match c {
                '{' => braces += 1,
                '}' => {
                    braces = braces.saturating_sub(1);
                    if braces == 0 && others == 0 {
                        return Some(line);
                    }
                }
                '(' | '[' => others += 1,
                ')' | ']' => others = others.saturating_sub(1),
                ';' if braces == 0 && others == 0 => return Some(line),
                _ => {}
            }
        }
    }
    None
}

/// The text with comments and the contents of strings and characters replaced by spaces.
pub fn blanked(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while at < chars.len() {
        let end = match chars[at] {
            '/' if chars.get(at + 1) == Some(&'/') => line_end(&chars, at),
            '/' if chars.get(at + 1) == Some(&'*') => block_comment_end(&chars, at),
            '"' => string_end(&chars, at + 1),
            'r' if !in_word(&chars, at) => raw_string_end(&chars, at).unwrap_or(at),
            '\'' => character_end(&chars, at).unwrap_or(at),
            _ => at,
        };
        if end == at {
            out.push(chars[at]);
            at += 1;
            continue;
        }
        out.extend(chars[at..end].iter().map(|c| if *c == '\n' { '\n' } else { ' ' }));
        at = end;
    }
    out
}

/// Whether the character before is part of the same word; `br"…"` begins with `b`.
fn in_word(chars: &[char], at: usize) -> bool {
    let before = at.checked_sub(1).map(|before| chars[before]);
    before.is_some_and(|c| c.is_alphanumeric() || c == '_') && before != Some('b')
}

fn line_end(chars: &[char], at: usize) -> usize {
    chars[at..].iter().position(|c| *c == '\n').map_or(chars.len(), |length| at + length)
}

fn block_comment_end(chars: &[char], mut at: usize) -> usize {
    let mut depth = 0;
    while at < chars.len() {
        match (chars[at], chars.get(at + 1)) {
            ('/', Some('*')) => (depth, at) = (depth + 1, at + 2),
            ('*', Some('/')) => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at
}

fn string_end(chars: &[char], mut at: usize) -> usize {
    while at < chars.len() {
        match chars[at] {
            '\\' => at += 2,
            '"' => return at + 1,
            _ => at += 1,
        }
    }
    chars.len()
}

fn raw_string_end(chars: &[char], at: usize) -> Option<usize> {
    let hashes = chars[at + 1..].iter().take_while(|c| **c == '#').count();
    let open = at + 1 + hashes;
    if chars.get(open) != Some(&'"') {
        return None;
    }
    let closes = |quote: &usize| {
        chars[*quote] == '"' && chars[*quote + 1..].iter().take_while(|c| **c == '#').count() >= hashes
    };
    Some((open + 1..chars.len()).find(closes).map_or(chars.len(), |quote| quote + 1 + hashes))
}

/// `'a'` and `'\n'` are characters, `'a` is a lifetime.
fn character_end(chars: &[char], at: usize) -> Option<usize> {
    match (chars.get(at + 1)?, chars.get(at + 2)?) {
        ('\\', _) => chars[at + 3..].iter().take(10).position(|c| *c == '\'').map(|length| at + 4 + length),
        (_, '\'') => Some(at + 3),
        _ => None,
    }
}

#[test]
fn comments_strings_and_characters_are_blanked() {
    let table = [
        ("a // unsafe {", "a"),
        ("a /* x /* y */ z */ b", "a                   b"),
        (r#"f("a \" b", c)"#, "f(        , c)"),
        (r##"f(r#"a " b"#, c)"##, "f(          , c)"),
        (r#"f(br"a", c)"#, "f(b    , c)"),
        (r"f('\'', 'x', &'a str)", "f(    ,    , &'a str)"),
        ("let r = for_r\"\";", "let r = for_r  ;"),
    ];
    for (text, want) in table {
        assert_eq!(blanked(text).trim_end(), want, "{text}");
    }
}

#[test]
fn test_files_are_marked() {
    let parent = |text| Source::new("src/a/read.rs", text);
    let child = |path| Source::new(path, "fn x() {}");
    let mut sources = [
        parent("#[cfg(test)]\nmod tests;\n#[cfg(test)]\n#[path = \"read_tests.rs\"]\nmod far;\nmod code;"),
        child("src/a/read/tests.rs"),
        child("src/a/read/tests/more.rs"),
        child("src/a/read_tests.rs"),
        child("src/a/read/code.rs"),
    ];
    mark_test_files(&mut sources);
    assert_eq!(sources.map(|source| source.test[0]), [true, true, true, true, false]);
}

#[test]
fn test_items_are_marked() {
    let text = "fn a() {}\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\nfn c() {}\n#[cfg(test)]\nmod far;\nfn d() {}";
    let source = Source::new("src/x.rs", text);
    assert_eq!(source.test, [false, true, true, true, true, false, true, true, false]);
}
