//! Rechunks under budgets that whole gathers don't fit: pieces put together give the same elements.

use std::fmt::Debug;

use outcrop::block::Block;
use outcrop::collections::Array;
use outcrop::dtype::Element;
use outcrop::exec::Control;
use outcrop::graph::chunking::Chunking;
use outcrop::session::{Completed, Prepared, Session};
use outcrop::settings::Config;
use outcrop::shape::Shape;
use outcrop::steps::StepKind;
use outcrop::units::Bytes;
use proptest::prelude::*;

/// An array's extents, and the extents of its blocks before and after.
#[derive(Clone, Debug)]
struct Turn {
    shape: Vec<usize>,
    from: Vec<usize>,
    to: Vec<usize>,
}

fn turns() -> impl Strategy<Value = Turn> {
    let axis = (1usize..=24).prop_flat_map(|extent| (Just(extent), 1..=extent, 1..=extent));
    proptest::collection::vec(axis, 1..=3).prop_map(|axes| Turn {
        shape: axes.iter().map(|axis| axis.0).collect(),
        from: axes.iter().map(|axis| axis.1).collect(),
        to: axes.iter().map(|axis| axis.2).collect(),
    })
}

fn session(memory: Option<u64>, threads: usize) -> Session {
    Session::new(Config { threads: Some(threads), memory: memory.map(Bytes), ..Config::default() })
}

fn prepared(array: &Array, session: &Session) -> Prepared {
    session.prepare(&[array.layer().unwrap().clone()]).unwrap()
}

fn values<T: Element>(block: &Block) -> Vec<T> {
    block.to_vec().unwrap_or_default()
}

impl Turn {
    /// Elements are computed before and after, so that blocks are values, neither views nor parts of the result.
    fn array<T: Element>(&self, elements: &[T]) -> Array {
        let x = Array::from_slice(Shape::from(self.shape.as_slice()), elements).rechunk(&self.from);
        let turned = x.map_blocks("made", values::<T>).rechunk(&self.to);
        turned.map_blocks("read", values::<T>)
    }

    /// What one step needs at most: a block with its pieces. The result is held besides, and the reader's block may be
    /// part of it.
    fn working_set(&self, size: usize) -> u64 {
        let block = |sizes: &[usize]| Chunking::regular(&self.shape.as_slice().into(), sizes).largest_block();
        let result: usize = self.shape.iter().product();
        ((result + 2 * block(&self.from).max(block(&self.to))) * size) as u64
    }

    fn check<T: Element + Debug + PartialEq>(&self, elements: Vec<T>) {
        let array = self.array(&elements);
        let free = prepared(&array, &session(None, 2)).plan.memories[0].peak.0;
        for budget in [self.working_set(size_of::<T>()), free * 9 / 10] {
            if budget < self.working_set(size_of::<T>()) || budget >= free {
                continue;
            }
            for threads in [1, 2] {
                let session = session(Some(budget), threads);
                let prepared = prepared(&array, &session);
                let Completed { results, report, .. } = session.run(&prepared, &Control::new()).unwrap();
                assert_eq!(results[0].array().unwrap().to_vec::<T>().unwrap(), elements, "{self:?}");
                assert!(report.peak_bytes["host"] <= budget, "{self:?}: {report}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn pieces_give_equal_elements(turn in turns(), dtype in 0..4) {
        let numbers = 0..turn.shape.iter().product::<usize>();
        match dtype {
            0 => turn.check::<u8>(numbers.map(|i| i as u8).collect()),
            1 => turn.check::<i16>(numbers.map(|i| i as i16).collect()),
            2 => turn.check::<f32>(numbers.map(|i| i as f32).collect()),
            _ => turn.check::<i64>(numbers.map(|i| i as i64).collect()),
        }
    }
}

#[test]
fn rows_are_cut_only_where_they_are_not_read_whole() {
    let pieces = |from: [usize; 2], to: [usize; 2]| {
        let turn = Turn { shape: vec![64, 64], from: from.into(), to: to.into() };
        let elements: Vec<f32> = (0..64 * 64).map(|i| i as f32).collect();
        let session = session(Some(turn.working_set(4)), 2);
        let plan = prepared(&turn.array(&elements), &session).plan;
        plan.steps.iter().filter(|step| step.kind == StepKind::Piece).count()
    };
    assert_eq!(pieces([8, 64], [64, 8]), 64, "every row and column");
    assert_eq!(pieces([16, 64], [4, 64]), 0, "blocks are cut smaller");
    assert_eq!(pieces([4, 64], [16, 64]), 0, "blocks are joined");
}
