//! A layer: one operation over whole chunked arrays, with the annotations in force when it was made.

use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;

use crate::annotate::{self, Annotations};
use crate::dtype::DType;
use crate::graph::chunking::Chunking;
use crate::graph::op::Op;
use crate::shape::Shape;
use crate::token::{Token, Tokenizer};

/// One node of the layer graph. Immutable; a rewrite makes a new one from it.
pub struct Layer {
    name: String,
    label: Option<Arc<str>>,
    token: Token,
    op: Op,
    inputs: Vec<Arc<Layer>>,
    chunks: Chunking,
    dtype: DType,
    annotations: Annotations,
}

thread_local! {
    static LABEL: RefCell<Option<Arc<str>>> = const { RefCell::new(None) };
}

/// Runs `body`, in which every new layer is said to belong to what the user calls `label`: one expression of
/// a pipeline file makes several layers. Like [`annotate::annotate`], it ends with the call and holds on this
/// thread only; the innermost label counts.
pub fn labelled<T>(label: &str, body: impl FnOnce() -> T) -> T {
    struct Outer(Option<Arc<str>>);
    impl Drop for Outer {
        fn drop(&mut self) {
            LABEL.set(self.0.take());
        }
    }
    let _outer = Outer(LABEL.replace(Some(label.into())));
    body()
}

impl Layer {
    /// Makes a layer under the scope's annotations. This is the one place where a scope is captured.
    pub fn new(op: Op, inputs: Vec<Arc<Layer>>, chunks: Chunking, dtype: DType) -> Arc<Self> {
        let label = LABEL.with_borrow(Option::clone);
        Layer::make(op, inputs, chunks, dtype, annotate::current(), label)
    }

    /// Makes a layer that a rewrite puts behind `from`: it asks for what `from` asked for, whatever the
    /// scope says.
    pub fn behind(from: &Arc<Layer>, op: Op, chunks: Chunking) -> Arc<Self> {
        let (annotations, label) = (from.annotations.clone(), from.label.clone());
        Layer::make(op, vec![from.clone()], chunks, from.dtype, annotations, label)
    }

    fn make(
        op: Op,
        inputs: Vec<Arc<Layer>>,
        chunks: Chunking,
        dtype: DType,
        annotations: Annotations,
        label: Option<Arc<str>>,
    ) -> Arc<Self> {
        let token = inputs
            .iter()
            .fold(Tokenizer::new("layer").token(op.token()), |fields, input| fields.token(input.token))
            .text(dtype.name())
            .text(&chunks_text(&chunks))
            .finish();
        // Content leaves annotations out, names don't: equal layers over inputs of unequal annotations are two.
        let identity = inputs
            .iter()
            .fold(Tokenizer::new("name").token(token), |fields, input| fields.text(&input.name))
            .finish();
        let mut name = format!("{}-{}", op.name(), identity.short());
        if let Some(suffix) = annotations.token() {
            name = format!("{name}-{suffix}");
        }
        Arc::new(Layer { name, label, token, op, inputs, chunks, dtype, annotations })
    }

    /// The same layer under a name that the user chose, kept to the letter.
    pub fn named(&self, name: &str) -> Arc<Self> {
        let mut layer = self.copy();
        layer.name = name.to_owned();
        layer.label = Some(name.into());
        Arc::new(layer)
    }

    /// Unique in a graph.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the user calls it, or what it is a part of, where that is known.
    pub fn label(&self) -> Option<&str> {
        self.label.as_deref()
    }

    /// Content token: operation, inputs, chunks and type, without annotations and names.
    pub fn token(&self) -> Token {
        self.token
    }

    /// What it does.
    pub fn op(&self) -> &Op {
        &self.op
    }

    /// The layers it reads, in the operation's order.
    pub fn inputs(&self) -> &[Arc<Layer>] {
        &self.inputs
    }

    /// How its result is cut into blocks.
    pub fn chunks(&self) -> &Chunking {
        &self.chunks
    }

    /// Shape of its result.
    pub fn shape(&self) -> Shape {
        self.chunks.shape()
    }

    /// Element type of its result.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// What was asked for it.
    pub fn annotations(&self) -> &Annotations {
        &self.annotations
    }

    fn copy(&self) -> Layer {
        Layer {
            name: self.name.clone(),
            label: self.label.clone(),
            token: self.token,
            op: self.op.clone(),
            inputs: self.inputs.clone(),
            chunks: self.chunks.clone(),
            dtype: self.dtype,
            annotations: self.annotations.clone(),
        }
    }
}

impl Drop for Layer {
    /// Chains of 10^5 layers are ordinary; dropping them must not recurse.
    fn drop(&mut self) {
        let mut dying = std::mem::take(&mut self.inputs);
        while let Some(layer) = dying.pop() {
            if let Some(mut layer) = Arc::into_inner(layer) {
                dying.append(&mut layer.inputs);
            }
        }
    }
}

impl fmt::Debug for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {} {}", self.name, self.op.name(), self.dtype, self.chunks)
    }
}

fn chunks_text(chunks: &Chunking) -> String {
    use crate::graph::chunking::AxisChunks;
    let axis = |axis: &AxisChunks| match axis {
        AxisChunks::Regular { extent, size } => format!("{extent}/{size}"),
        AxisChunks::Irregular { bounds } => format!("{bounds:?}"),
    };
    chunks.axes().iter().map(axis).collect::<Vec<_>>().join(";")
}
