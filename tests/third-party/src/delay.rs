//! A delay before every block of any collection.
//!
//! ```
//! # use std::time::Duration;
//! # use outcrop::collections::Array;
//! # use outcrop::session::Session;
//! use third_party::{Delay, delayed};
//!
//! let x = Array::arange(0.0, 1.0, 10).rechunk(&[4]);
//! let slow = delayed(&x, &Delay::of(Duration::from_millis(10)))?;
//! // The original is still there; both are computed at once.
//! let (fast, slow) = Session::new(Default::default()).compute(&(x, slow))?;
//! assert_eq!(fast, slow);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use outcrop::collections::{Collections, Rename};
use outcrop::graph::layer::{LayerBody, Naming};
use outcrop::graph::op::Op;
use outcrop::graph::{
    Call, CustomOp, GraphError, Layer, LayerGraph, Made, Outputs, Read, TaskError, ValueSpec,
};
use outcrop::token::{Token, Tokenizer};

/// The same collections with a delay before every block. They coexist with the originals, ask for what those ask for,
/// and are as symbolic.
///
/// # Errors
/// A collection was built wrongly.
pub fn delayed<C: Collections>(collections: &C, delay: &Delay) -> Result<C, GraphError> {
    let mut slow: BTreeMap<Arc<str>, Arc<Layer>> = BTreeMap::new();
    for layer in collections.output_layers()? {
        let body = LayerBody { op: Op::Custom(Arc::new(delay.clone())), spec: layer.spec().clone() };
        let source = std::slice::from_ref(&layer);
        let made = Layer::from_layers(source, body, source.to_vec(), Vec::new(), Naming::Content)?;
        slow.insert(layer.shared_name().clone(), made);
    }
    let rename: Rename = slow.iter().map(|(old, new)| (old.clone(), new.shared_name().clone())).collect();
    collections.rebuild_each(&LayerGraph::of(slow.into_values()), &rename)
}

/// Waits, then passes a value on: a block or an object.
#[derive(Clone, Debug)]
pub struct Delay {
    duration: Duration,
    passed: Arc<AtomicUsize>,
}

impl Delay {
    /// So long before every block.
    pub fn of(duration: Duration) -> Self {
        Delay { duration, passed: Arc::default() }
    }

    /// How many values went through so far.
    pub fn passed(&self) -> usize {
        self.passed.load(Ordering::Relaxed)
    }
}

impl CustomOp for Delay {
    fn name(&self) -> &str {
        "delay"
    }

    fn token(&self) -> Token {
        Tokenizer::new("delay").int(self.duration.as_nanos() as i64).finish()
    }

    fn output(&self, inputs: &[&ValueSpec]) -> Result<ValueSpec, String> {
        match inputs {
            [input] => Ok(ValueSpec::clone(input)),
            _ => Err(format!("a delay passes one collection on, and {} were given", inputs.len())),
        }
    }

    fn reads(&self, block: usize, _output: &ValueSpec, _inputs: &[&ValueSpec]) -> Vec<Read> {
        vec![Read { input: 0, block }]
    }

    fn reads_everything(&self) -> bool {
        true
    }

    fn compute(&self, _call: &mut Call<'_>) -> Result<Made, TaskError> {
        std::thread::sleep(self.duration);
        self.passed.fetch_add(1, Ordering::Relaxed);
        Ok(Made::Same(0))
    }
}
