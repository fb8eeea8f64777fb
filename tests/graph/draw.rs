//! Pictures.

use crate::sample::{every_op, hostile};

#[test]
fn every_op_as_svg() {
    insta::assert_snapshot!(every_op().to_svg());
}

#[test]
fn every_op_as_dot() {
    insta::assert_snapshot!(every_op().to_dot());
}

#[test]
fn hostile_text_as_dot() {
    insta::assert_snapshot!(hostile().to_dot());
}
