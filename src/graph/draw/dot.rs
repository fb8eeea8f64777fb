//! Pictures in Graphviz's language.

use std::fmt;

use super::Picture;
use super::card::{Card, Look};

/// The whole document.
pub(super) fn document(picture: &Picture) -> String {
    Document(picture).to_string()
}

struct Document<'a>(&'a Picture);

impl fmt::Display for Document<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Picture { cards, edges } = self.0;
        f.write_str(
            "digraph outcrop {\n  rankdir=TB;\n  node [shape=box, style=filled, fontname=\"Helvetica\", \
             fontsize=11, fontcolor=\"#16191c\"];\n  edge [color=\"#4a535c\", arrowsize=0.7];\n",
        )?;
        for (at, card) in cards.iter().enumerate() {
            write_card(f, at, card)?;
        }
        for edge in edges {
            let dashed = if edge.is_after { " [style=dashed]" } else { "" };
            writeln!(f, "  n{} -> n{}{dashed};", edge.from, edge.to)?;
        }
        let looks = self.0.looks();
        if !looks.is_empty() {
            f.write_str(
                "  subgraph cluster_legend {\n    label=\"fills\"; fontsize=11; color=\"#c8cdd2\";\n",
            )?;
            for look in looks {
                let (fill, line) = look.colours();
                let (name, style) = (look.words(), style(look));
                writeln!(
                    f,
                    "    \"legend {name}\" [label=\"{name}\", {style}, fillcolor=\"{fill}\", color=\"{line}\"];"
                )?;
            }
            f.write_str("  }\n")?;
        }
        f.write_str("}\n")
    }
}

/// User's text stands in labels and tooltips alone, never in a node's name.
fn write_card(f: &mut fmt::Formatter<'_>, at: usize, card: &Card) -> fmt::Result {
    let (fill, line) = card.look.colours();
    let lines = std::iter::once(&card.title).chain(&card.facts).chain(&card.wishes);
    let label: Vec<String> = lines.map(|line| escaped(line)).collect();
    let border = if card.is_output { ", penwidth=3" } else { "" };
    writeln!(
        f,
        "  n{at} [label=\"{}\", tooltip=\"{}\", {}, fillcolor=\"{fill}\", color=\"{line}\"{border}];",
        label.join("\\n"),
        escaped(&card.tooltip).replace('\n', "\\n"),
        style(card.look)
    )
}

const fn style(look: Look) -> &'static str {
    match look {
        Look::Source => "shape=cylinder, style=filled",
        Look::Sink => "shape=folder, style=filled",
        Look::Wait => "shape=box, style=\"rounded,dashed,filled\"",
        _ => "shape=box, style=filled",
    }
}

/// As text of a label between quotes, in which Graphviz takes backslashes for escapes and ampersands for entities.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('&', "&amp;")
}
