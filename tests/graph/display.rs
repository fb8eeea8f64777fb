//! The stable text form.

use outcrop::graph::keys::Keys;

use crate::sample::{every_op, hostile, key};

#[test]
fn every_op_reads_well() {
    insta::assert_snapshot!(every_op().to_string());
}

#[test]
fn a_culled_graph_says_what_is_kept() {
    let culled = every_op().cull(&Keys::One(key("stats", 0))).unwrap();
    insta::assert_snapshot!(culled.to_string());
}

#[test]
fn hostile_names_stay_on_their_line() {
    let graph = hostile();
    let text = graph.to_string();
    assert_eq!(text.lines().count(), graph.layer_count(), "{text}");
    assert!(!text.contains(|c: char| c != '\n' && (c.is_control() || c == '\u{202e}')), "{text}");
    insta::assert_snapshot!(text);
}
