//! Content tokens: what they look at, what they leave out, and who hasn't one.

use std::sync::Arc;

use outcrop::annotate::{Annotations, annotate};
use outcrop::block::Block;
use outcrop::collections::Array;
use outcrop::collections::array::Over;
use outcrop::dtype::DType;
use outcrop::graph::content::NotResumable;
use outcrop::graph::layer_graph::LayerGraph;
use outcrop::graph::op::{Source, TransferError};
use outcrop::shape::{Region, Shape};
use outcrop::token::Token;

fn content(array: &Array) -> Result<Token, NotResumable> {
    let layer = array.layer().unwrap().clone();
    let name = layer.name().to_owned();
    LayerGraph::of([layer]).contents().of(&name).unwrap().map_err(Clone::clone)
}

fn of(array: &Array) -> Token {
    content(array).unwrap()
}

fn source(last: f32, chunk: usize) -> Array {
    let mut values = [1f32; 12];
    values[11] = last;
    Array::from_slice([12], &values).rechunk(&[chunk])
}

fn pipeline(source: &Array, constant: f64) -> Array {
    (source * constant - source.mean(&Over::all())).sqrt()
}

#[test]
fn arrays_in_memory_go_by_their_elements() {
    let (a, b) = (source(5.0, 4), source(5.0, 4));
    assert_ne!(a.layer().unwrap().token(), b.layer().unwrap().token(), "names go by a handle");
    assert_eq!(of(&a), of(&b));
    assert_eq!(of(&pipeline(&a, 2.0)), of(&pipeline(&b, 2.0)));
}

#[test]
fn content_counts_and_nothing_else() {
    let one = of(&pipeline(&source(5.0, 4), 2.0));
    let annotated = annotate(Annotations::new().with_retries(3).unwrap(), || pipeline(&source(5.0, 4), 2.0));
    assert_eq!(one, of(&annotated));
    assert_eq!(one, of(&pipeline(&source(5.0, 4).named("x"), 2.0).named("y")));
    for (other, what) in [
        (pipeline(&source(6.0, 4), 2.0), "an element"),
        (pipeline(&source(5.0, 3), 2.0), "the cuts"),
        (pipeline(&source(5.0, 4), 2.5), "a constant"),
        (pipeline(&source(5.0, 4), 2.0) + 0.0, "another operation"),
    ] {
        assert_ne!(one, of(&other), "{what}");
    }
}

#[test]
fn functions_of_a_name_and_a_version_are_known_and_others_make_all_after_them_unknown() {
    let twice =
        |block: Block| block.to_vec::<f32>().unwrap().into_iter().map(|x| x * 2.0).collect::<Vec<f32>>();
    let known = |version| source(5.0, 4).map_blocks(("twice", version), move |block| twice(block.clone()));
    assert_eq!(of(&known(1)), of(&known(1)));
    assert_ne!(of(&known(1)), of(&known(2)));
    let unknown = source(5.0, 4).map_blocks("secret", move |block| twice(block.clone())).named("hidden");
    let error = content(&(unknown + 1.0).sum(&Over::all())).unwrap_err();
    assert!(
        matches!(&error, NotResumable::Opaque { layer, op } if layer == "hidden" && op == "secret"),
        "{error}"
    );
}

/// A source that can't tell what it holds.
#[derive(Debug)]
struct Dice;

impl Source for Dice {
    fn describe(&self) -> String {
        "dice".to_owned()
    }
    fn token(&self) -> Token {
        Token::of("dice")
    }
    fn content(&self) -> Result<Token, TransferError> {
        Err(TransferError { place: self.describe(), problem: "every throw is another".to_owned() })
    }
    fn dtype(&self) -> DType {
        DType::F32
    }
    fn shape(&self) -> Shape {
        [4].into()
    }
    fn in_place(&self) -> bool {
        false
    }
    fn view(&self, _region: &Region) -> Result<Block, TransferError> {
        unreachable!("not in place")
    }
    fn read(&self, _region: &Region, _into: &Block) -> Result<(), TransferError> {
        Ok(())
    }
}

#[test]
fn a_source_without_content_says_why() {
    let thrown = Array::from_source(Arc::new(Dice), &[]).named("throws");
    let error = content(&(thrown * 2.0)).unwrap_err().to_string();
    assert_eq!(error, "'throws' reads what can't be identified: dice: every throw is another");
}
