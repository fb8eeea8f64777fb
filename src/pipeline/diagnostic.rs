//! Problems of a pipeline file, shown as a compiler shows them: file, line, column, carets, help.

use std::ops::Range;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

/// A text with the name that error messages give it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceText {
    /// Usually the path as the user wrote it.
    pub name: String,
    /// The content.
    pub text: String,
}

impl SourceText {
    /// A text and its name.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        SourceText { name: name.into(), text: text.into() }
    }

    /// Line and column of a byte, both from 1, the column in characters.
    pub fn line_column(&self, offset: usize) -> (usize, usize) {
        let before = &self.text.as_bytes()[..offset.min(self.text.len())];
        let line_start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        (line, 1 + String::from_utf8_lossy(&before[line_start..]).chars().count())
    }
}

/// One thing that is wrong, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// What is wrong, without a final full stop.
    pub message: String,
    /// The bytes of the file at fault; `None` when no text of the file is (a `--set` on the command line).
    pub span: Option<Range<usize>>,
    /// Stands beside the carets.
    pub label: Option<String>,
    /// What the user can do.
    pub help: Option<String>,
}

impl Problem {
    /// A problem at `span`.
    pub fn new(message: impl Into<String>, span: impl Into<Option<Range<usize>>>) -> Self {
        Problem { message: message.into(), span: span.into(), label: None, help: None }
    }

    /// With a text beside the carets.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// With advice.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// With "did you mean …" when one of `known` resembles `name`, else with the list of what is known.
    pub fn suggest<'a>(self, name: &str, known: impl IntoIterator<Item = &'a str>) -> Self {
        let known: Vec<&str> = known.into_iter().collect();
        match closest(name, known.iter().copied()) {
            Some(best) => self.label(format!("did you mean '{best}'?")),
            None if known.is_empty() => self,
            None => self.help(format!("known here: {}", known.join(", "))),
        }
    }
}

/// The one of `known` that `name` most resembles, if any comes close: at most a third of its letters wrong.
pub fn closest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = name.to_lowercase();
    let allowed = (name.chars().count() / 3).max(1);
    known
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(&wanted, &candidate.to_lowercase()), candidate))
        // Of a one-letter name nothing is left when its letter is wrong.
        .filter(|(distance, candidate)| {
            *distance <= allowed && *distance < candidate.chars().count().max(wanted.chars().count())
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// All problems as text, in the order of the file, those without a place last; `color` adds ANSI escapes.
pub fn render(source: &SourceText, problems: &[Problem], color: bool) -> String {
    let renderer = if color { Renderer::styled() } else { Renderer::plain() };
    let mut ordered: Vec<&Problem> = problems.iter().collect();
    ordered.sort_by_key(|problem| problem.span.as_ref().map_or(usize::MAX, |span| span.start));
    let rendered: Vec<String> =
        ordered.iter().map(|problem| renderer.render(&[group(source, problem)])).collect();
    rendered.join("\n\n")
}

fn group<'a>(source: &'a SourceText, problem: &'a Problem) -> Group<'a> {
    let mut group = Group::with_title(Level::ERROR.primary_title(&problem.message));
    if let Some(span) = &problem.span {
        let annotation = AnnotationKind::Primary
            .span(on_one_line(&source.text, span.clone()))
            .label(problem.label.as_deref().unwrap_or_default());
        group = group.element(Snippet::source(&source.text).path(&source.name).annotation(annotation));
    } else if let Some(label) = &problem.label {
        group = group.element(Level::NOTE.message(label));
    }
    match &problem.help {
        Some(help) => group.element(Level::HELP.message(help)),
        None => group,
    }
}

/// Cuts a span at the end of its first line: carets under a whole table help nobody.
fn on_one_line(text: &str, span: Range<usize>) -> Range<usize> {
    let start = floor_char_boundary(text, span.start);
    let end = floor_char_boundary(text, span.end.max(start));
    let line = text[start..end].find('\n').map_or(end, |newline| start + newline);
    start..line
}

fn floor_char_boundary(text: &str, offset: usize) -> usize {
    (0..=offset.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_points_into_the_text() {
        let source = SourceText::new("a.toml", "first = 1\nsecond = \"ä ö\"\n");
        let problem = Problem::new("no such thing", 23..25).label("here").help("write another");
        insta::assert_snapshot!(render(&source, &[problem], false), @r#"
        error: no such thing
         --> a.toml:2:13
          |
        2 | second = "ä ö"
          |             ^ here
          |
          = help: write another
        "#);
        assert_eq!(source.line_column(23), (2, 13));
        assert_eq!(source.line_column(9999), (3, 1));
    }

    #[test]
    fn problems_come_in_the_order_of_the_file() {
        let source = SourceText::new("a.toml", "one\ntwo");
        let problems = [
            Problem::new("of the command line", None).label("--set x"),
            Problem::new("second", 4..7),
            Problem::new("first", 0..7),
        ];
        insta::assert_snapshot!(render(&source, &problems, false), @r#"
        error: first
         --> a.toml:1:1
          |
        1 | one
          | ^^^

        error: second
         --> a.toml:2:1
          |
        2 | two
          | ^^^

        error: of the command line
         |
         = note: --set x
        "#);
        assert!(render(&source, &problems, true).contains("\u{1b}["));
    }

    #[test]
    fn spans_out_of_range_are_cut() {
        let source = SourceText::new("a.toml", "ä");
        for span in [0..1, 1..1, 7..9, 0..99] {
            assert!(render(&source, &[Problem::new("odd", span)], false).contains("a.toml:1:"));
        }
    }

    #[test]
    fn suggestions_are_close_ones() {
        assert_eq!(closest("gxx", ["gy", "gx"]), Some("gx"));
        assert_eq!(closest("slpoe", ["aspect", "slope"]), Some("slope"));
        assert_eq!(closest("Path", ["chunks", "path"]), Some("path"));
        assert_eq!(closest("a", ["b"]), None);
        assert_eq!(closest("hillshade", ["dem"]), None);
    }
}
