use std::sync::Arc;

use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::layout::{Layout, Size, layout};
use super::svg::Document;
use super::*;
use crate::annotate::{Annotations, annotate};
use crate::collections::Array;
use crate::dtype::DType;
use crate::graph::layer::Layer;

/// Sizes of boxes, and edges from earlier ones to later ones.
fn diagram() -> impl Strategy<Value = (Vec<Size>, Vec<Edge>)> {
    let size = (20u32..300, 20u32..120)
        .prop_map(|(width, height)| Size { width: f64::from(width), height: f64::from(height) });
    let edge = (any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<bool>());
    (prop::collection::vec(size, 1..40), prop::collection::vec(edge, 0..80)).prop_map(|(sizes, pairs)| {
        let ends = pairs.iter().map(|(a, b, is_after)| {
            let (a, b) = (a.index(sizes.len()), b.index(sizes.len()));
            Edge { from: a.min(b), to: a.max(b), is_after: *is_after }
        });
        let mut edges: Vec<Edge> = ends.filter(|edge| edge.from < edge.to).collect();
        edges.sort_unstable();
        edges.dedup();
        (sizes, edges)
    })
}

fn check(sizes: &[Size], edges: &[Edge], layout: &Layout) -> Result<(), TestCaseError> {
    let right = |at: usize| layout.corners[at].0 + sizes[at].width;
    let bottom = |at: usize| layout.corners[at].1 + sizes[at].height;
    for at in 0..sizes.len() {
        let (x, y) = layout.corners[at];
        prop_assert!(x >= -0.01 && y >= 0.0, "box {at} begins at {x} {y}");
        prop_assert!(right(at) <= layout.size.width + 0.01 && bottom(at) <= layout.size.height + 0.01);
        for other in 0..at {
            let (x2, y2) = layout.corners[other];
            let apart = right(at) < x2 || right(other) < x || bottom(at) < y2 || bottom(other) < y;
            prop_assert!(apart, "boxes {other} and {at} overlap");
        }
    }
    for (edge, stops) in edges.iter().zip(&layout.routes) {
        let (first, last) = (stops[0], stops[stops.len() - 1]);
        prop_assert!((bottom(edge.from) - first.top).abs() < 0.01, "it leaves its box below");
        prop_assert!((layout.corners[edge.to].1 - last.bottom).abs() < 0.01, "it reaches its box above");
        prop_assert!(layout.corners[edge.from].0 < first.x && first.x < right(edge.from));
        prop_assert!(layout.corners[edge.to].0 < last.x && last.x < right(edge.to));
        for stop in stops {
            prop_assert!(stop.x >= -0.01 && stop.x <= layout.size.width + 0.01, "it stays inside");
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 128, rng_seed: RngSeed::Fixed(3), failure_persistence: None, ..Default::default()
    })]

    #[test]
    fn boxes_stand_apart_and_inside((sizes, edges) in diagram()) {
        check(&sizes, &edges, &layout(&sizes, &edges))?;
    }
}

#[test]
fn an_arrow_over_several_rows_passes_beside_the_boxes() {
    let sizes = [Size { width: 100.0, height: 40.0 }; 3];
    let edge = |from, to| Edge { from, to, is_after: false };
    let edges = [edge(0, 1), edge(0, 2), edge(1, 2)];
    let layout = layout(&sizes, &edges);
    let [_, past, _] = layout.routes[1][..] else { panic!("one joint: {}", layout.routes[1].len()) };
    let (left, right) = (layout.corners[1].0, layout.corners[1].0 + 100.0);
    assert!(past.x < left || past.x > right, "{} lies in {left}..{right}", past.x);
}

fn graph(outputs: &[Array]) -> LayerGraph {
    LayerGraph::of(outputs.iter().map(|array| array.layer().unwrap().clone()))
}

/// Every tag that opens closes, in order, and no text has a character that XML forbids.
fn assert_well_formed(document: &str) {
    let allowed = |c: char| c == '\n' || !(c.is_control() || c == '\u{ffff}' || c == '\u{fffe}');
    assert!(document.chars().all(allowed));
    let mut open = Vec::new();
    for piece in document.split('<').skip(1) {
        let (tag, text) = piece.split_once('>').expect("a tag ends");
        assert!(!text.contains('>'), "{text}");
        for entity in text.split('&').skip(1) {
            assert!(["amp;", "lt;", "gt;"].iter().any(|known| entity.starts_with(known)), "{entity}");
        }
        match tag.strip_prefix('/') {
            Some(name) => assert_eq!(open.pop(), Some(name)),
            None if tag.ends_with('/') => {}
            None => open.push(tag.split(' ').next().unwrap_or(tag)),
        }
    }
    assert!(open.is_empty(), "{open:?}");
}

#[test]
fn user_text_cannot_leave_its_element() {
    for text in ["</text><script>", "a & b &lt; \"c\" 'd'", "\u{0}\u{1b}\r\n\u{ffff}", "]]> <!-- 火山 🗻"]
    {
        let wish = Annotations::new().set("x-note", text).unwrap();
        let named = annotate(wish, || (&Array::ones([4], DType::F64) + 1.0).named(text));
        let document = graph(&[named]).to_svg();
        assert_well_formed(&document);
        assert!(!document.contains("script>") || document.contains("&lt;script&gt;"), "{document}");
    }
}

#[test]
fn the_legend_has_what_occurs() {
    let x = Array::ones([4], DType::F64);
    let words = |graph: &LayerGraph| {
        let document = graph.to_svg();
        ["host", "GPU", "GPU preferred", "any device", "source", "wait", "sink", "waits, reads nothing"]
            .into_iter()
            .filter(|words| document.contains(&format!(">{words}</text></g>")))
            .collect::<Vec<_>>()
    };
    assert_eq!(words(&graph(std::slice::from_ref(&x))), ["host"]);
    let gpu = annotate(Annotations::new().set("device", "gpu").unwrap(), || &x + 1.0);
    assert_eq!(words(&graph(&[gpu])), ["host", "GPU"]);
    assert!(words(&LayerGraph::default()).is_empty());
    assert_well_formed(&LayerGraph::default().to_svg());
}

#[test]
fn pictures_are_linear_in_the_layers() {
    let x = Array::ones([4], DType::F64).named("x");
    let mut last = &x + 1.0;
    for _ in 0..5000 {
        last = &last + &x;
    }
    let graph = graph(&[last]);
    let picture = Picture::of(&graph);
    assert_eq!((picture.cards.len(), picture.edges.len()), (5002, 10_001));
    let document = Document::new(&picture);
    let joints: usize = document.layout.routes.iter().map(|stops| stops.len() - 2).sum();
    assert!(joints < 24 * 24, "{joints} joints");
    assert!(document.to_string().len() < 1500 * graph.layer_count());
    assert!(graph.to_dot().len() < 700 * graph.layer_count());
}

#[test]
fn equal_graphs_give_equal_pictures() {
    let make = || {
        let x = Array::ones([9], DType::F32).rechunk(&[2]);
        graph(&[&x.sin() + &x.cos(), x.exp()])
    };
    assert_eq!(make().to_svg(), make().to_svg());
    assert_eq!(make().to_dot(), make().to_dot());
}

#[test]
fn a_box_is_a_layer_and_never_a_block() {
    let x = Array::zeros([1 << 40], DType::F32).rechunk(&[1 << 10]);
    let graph = graph(&[&x + 1.0]);
    let layers: Vec<&Arc<Layer>> = graph.layers().map(|(_, layer)| layer).collect();
    assert_eq!(Picture::of(&graph).cards.len(), layers.len());
    assert!(graph.to_svg().contains("1073741824 tasks"));
}
