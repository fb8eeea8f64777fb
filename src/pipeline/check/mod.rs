//! From what a file says to what is to be computed, or everything that is wrong with it.

mod graph;
mod inputs;
mod outputs;

use super::diagnostic::Problem;
use super::expr::{Node, Span, is_identifier, is_reserved};
use super::schema::{Expression, File, Located, RawAnnotation, Settings};

pub use inputs::{Fill, Input, Source};
pub use outputs::{Format, Output};

/// A pipeline file without faults that can be seen in its text alone.
#[derive(Clone, Debug)]
pub struct Checked {
    /// In the order written.
    pub inputs: Vec<Input>,
    /// Every layer after all that it uses; otherwise in the order written.
    pub layers: Vec<Layer>,
    /// In the order written; no two have one path.
    pub outputs: Vec<Output>,
    /// As written.
    pub settings: Settings,
}

/// A layer with its syntax tree.
#[derive(Clone, Debug)]
pub struct Layer {
    /// Its name: an identifier, unique among layers and inputs.
    pub name: Located<String>,
    /// The expression; every name in it is an input or a layer. Whether its functions exist, and what its
    /// arguments may be, is not checked here.
    pub tree: Node,
    /// The expression's text and its place.
    pub expression: Expression,
    /// The inputs and layers that the expression names, each once, in the order of the text.
    pub uses: Vec<String>,
    /// Its annotations, not checked here.
    pub annotate: Vec<RawAnnotation>,
}

impl Layer {
    /// The bytes of the file for a span of the tree: for later errors, such as shapes that don't fit.
    pub fn file_span(&self, span: &Span) -> Span {
        self.expression.map.file_span(span)
    }
}

/// Checks a file: names, expressions, references, cycles, sources, outputs. Opens no file.
///
/// # Errors
/// All problems found, those of reading included. A cycle or an unknown name is reported also when other
/// layers don't parse; what only follows from another problem is left out.
pub fn check(file: &File) -> Result<Checked, Vec<Problem>> {
    if file.malformed {
        return Err(file.problems.clone());
    }
    let mut problems = file.problems.clone();
    check_names(file, &mut problems);
    let inputs = inputs::check(file, &mut problems);
    let layers = graph::check(file, &mut problems);
    let outputs = outputs::check(file, &mut problems);
    if problems.is_empty() {
        Ok(Checked { inputs, layers, outputs, settings: file.settings.clone() })
    } else {
        Err(problems)
    }
}

fn check_names(file: &File, problems: &mut Vec<Problem>) {
    let inputs = file.inputs.iter().map(|input| ("input", &input.name));
    let layers = file.layers.iter().map(|layer| ("layer", &layer.name));
    let mut seen: Vec<(&str, &str)> = Vec::new();
    for (what, name) in inputs.chain(layers) {
        let text = name.value.as_str();
        if !is_identifier(text) {
            let problem = Problem::new(format!("'{text}' can't be the name of {}", with_article(what)), None)
                .help(identifier_help(text));
            problems.push(Problem { span: name.span.clone(), ..problem });
        } else if is_reserved(text) {
            let message = format!("'{text}' can't be the name of {}", with_article(what));
            let problem = Problem::new(message, name.span.clone());
            problems.push(problem.label("this word has a meaning in every expression"));
        } else if let Some((earlier, _)) = seen.iter().find(|(_, other)| *other == text) {
            let problem = Problem::new(format!("the name '{text}' is used twice"), name.span.clone());
            problems.push(problem.label(format!("already the name of {}", with_article(earlier))));
        } else {
            seen.push((what, text));
        }
    }
}

fn with_article(what: &str) -> String {
    format!("{} {what}", if what == "input" { "an" } else { "a" })
}

fn identifier_help(text: &str) -> String {
    let mut proposal: String =
        text.chars().map(|c| if c == '_' || c.is_alphanumeric() { c } else { '_' }).collect();
    if !proposal.starts_with(|c: char| c == '_' || c.is_alphabetic()) {
        proposal.insert(0, '_');
    }
    format!("names are letters, digits and '_', and don't start with a digit: '{proposal}'")
}
