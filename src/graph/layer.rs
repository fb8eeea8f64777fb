//! A layer: one operation over a whole collection, with the annotations in force when it was made.
//!
//! Annotations enter a layer in one place, [`Layer::of`], which asks the scope. Whoever makes a layer out of others
//! goes through [`Layer::from_layers`], which takes theirs along and never asks the scope. [`Layer::named`]
//! copies a layer whole. There is no other way, so that a rewrite can't lose an annotation by forgetting it.

use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;

use crate::annotate::{self, Annotations};
use crate::dtype::DType;
use crate::graph::chunking::Chunking;
use crate::graph::custom::CustomOp;
use crate::graph::error::GraphError;
use crate::graph::op::Op;
use crate::graph::value_spec::ValueSpec;
use crate::key::{Key, KeyError};
use crate::panics;
use crate::shape::Shape;
use crate::token::{Token, Tokenizer};

/// One node of the layer graph. Immutable; a rewrite makes a new one from it.
pub struct Layer {
    name: Arc<str>,
    /// What the name starts with: the operation, or what the user chose.
    stem: Arc<str>,
    label: Option<Arc<str>>,
    token: Token,
    op: Op,
    inputs: Box<[Arc<Layer>]>,
    after: Box<[Arc<Layer>]>,
    spec: ValueSpec,
    annotations: Annotations,
    origins: Option<Arc<[Origin]>>,
    is_held: bool,
}

/// What a layer does and what it makes: all of it but name, inputs and annotations.
#[derive(Clone, Debug)]
pub struct LayerBody {
    /// What it does.
    pub op: Op,
    /// What it makes.
    pub spec: ValueSpec,
}

/// A layer that was made part of another one, with what was asked for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Origin {
    /// Its name.
    pub name: Arc<str>,
    /// What the user called it.
    pub label: Option<Arc<str>>,
    /// Its operation's name.
    pub op: Arc<str>,
    /// What was asked for it.
    pub annotations: Annotations,
}

/// How a layer gets its name.
#[derive(Clone, Debug)]
pub enum Naming {
    /// The operation's name, its content and its annotations: equal work has equal names.
    Content,
    /// To the letter.
    Exact(Arc<str>),
    /// The old name's readable part, and the seed in the place of the content.
    Seeded(Token),
    /// The first source's own name and content: the layer makes the same values, whatever its operation.
    StandIn,
    /// As [`Naming::StandIn`], of values that are there: wherever a graph has both, these are taken.
    Held,
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
    /// Makes an array layer under the scope's annotations.
    pub fn new(op: Op, inputs: Vec<Arc<Layer>>, chunks: Chunking, dtype: DType) -> Arc<Self> {
        Layer::of(LayerBody { op, spec: ValueSpec::array(chunks, dtype) }, inputs, Naming::Content)
    }

    /// Makes a layer under the scope's annotations. This is the one place where a scope is captured.
    pub fn of(body: LayerBody, inputs: Vec<Arc<Layer>>, naming: Naming) -> Arc<Self> {
        let label = LABEL.with_borrow(Option::clone);
        let own = Own { label, annotations: annotate::current(), origins: None };
        Layer::make(body, inputs, Vec::new(), own, naming, None)
    }

    /// Makes the layer of a third party's operation under the scope's annotations, named by its content;
    /// [`Layer::named`] gives it a name of one's own.
    ///
    /// # Errors
    /// [`GraphError::ShapeRule`] when the operation refuses its inputs.
    pub fn custom(op: Arc<dyn CustomOp>, inputs: Vec<Arc<Layer>>) -> Result<Arc<Self>, GraphError> {
        let spec = custom_spec(op.name(), &*op, &inputs)?;
        Ok(Layer::of(LayerBody { op: Op::Custom(op), spec }, inputs, Naming::Content))
    }

    /// Makes a layer out of `sources`: it asks for what they asked for, whatever the scope says. One source passes
    /// its annotations on as they are; several are merged as in a fusion, and each is remembered as an
    /// [`Origin`]. `after` are layers that it waits for though it reads nothing of them.
    ///
    /// # Errors
    /// [`GraphError::Merge`] when the annotations of the sources can't hold for one layer.
    pub fn from_layers(
        sources: &[Arc<Layer>],
        body: LayerBody,
        inputs: Vec<Arc<Layer>>,
        after: Vec<Arc<Layer>>,
        naming: Naming,
    ) -> Result<Arc<Self>, GraphError> {
        let (first, rest) = sources.split_first().ok_or(GraphError::NothingToRewrite)?;
        // What waits for several layers belongs to none of them.
        let label = first.label.clone().filter(|_| rest.is_empty() || !matches!(body.op, Op::Wait(_)));
        let mut own = Own { label, annotations: first.annotations.clone(), origins: None };
        for other in rest {
            own.annotations = match body.op {
                // A wait does nothing that an annotation could govern two ways: it carries what all agree on.
                Op::Wait(_) => own.annotations.agreed(&other.annotations),
                _ => own.annotations.combined(&other.annotations).map_err(|conflict| GraphError::Merge {
                    left: first.name.to_string(),
                    right: other.name.to_string(),
                    conflict: Box::new(conflict),
                })?,
            };
        }
        // A layer that reads its source stands beside it; one that doesn't takes its place.
        let is_beside = sources.iter().any(|source| inputs.iter().any(|input| Arc::ptr_eq(source, input)));
        if !is_beside {
            own.origins = match rest {
                [] => first.origins.clone(),
                _ => Some(sources.iter().flat_map(|layer| layer.origins()).collect()),
            };
        }
        Ok(Layer::make(body, inputs, after, own, naming, Some(first)))
    }

    fn make(
        body: LayerBody,
        inputs: Vec<Arc<Layer>>,
        after: Vec<Arc<Layer>>,
        own: Own,
        naming: Naming,
        first: Option<&Layer>,
    ) -> Arc<Self> {
        let LayerBody { op, spec } = body;
        let content = || {
            let fields = Tokenizer::new("layer").token(op.token());
            let fields = inputs.iter().fold(fields, |fields, input| fields.token(input.token));
            spec.tokenize(fields).finish()
        };
        // A copy of values that are there has them too.
        let is_held = match &naming {
            Naming::Held => true,
            Naming::StandIn | Naming::Seeded(_) => {
                inputs.is_empty() && first.is_some_and(|first| first.is_held)
            }
            _ => false,
        };
        let token = match (&naming, first) {
            (Naming::StandIn | Naming::Held, Some(first)) => first.token,
            // A copy of a stand-in has the content that the stand-in has.
            (_, Some(first)) if first.makes_the_same(&op, &inputs, &spec) => first.token,
            _ => content(),
        };
        let over = |fields| {
            let before = inputs.iter().chain(&after);
            before.fold(fields, |fields: Tokenizer, input| fields.text(&input.name)).finish()
        };
        let (stem, name) = match naming {
            Naming::StandIn | Naming::Held => {
                first.map_or_else(|| (op.stem(), op.stem()), |layer| (layer.stem.clone(), layer.name.clone()))
            }
            Naming::Exact(name) => (name.clone(), name),
            Naming::Content => {
                // Content leaves annotations out, names don't: equal layers over inputs of unequal annotations
                // are two.
                let stem = op.stem();
                let name = format_name(&stem, over(Tokenizer::new("name").token(token)), &own.annotations);
                (stem, name)
            }
            Naming::Seeded(seed) => {
                let old = first.map_or("", |layer| &*layer.name);
                let stem = first.map_or_else(|| op.stem(), |layer| layer.stem.clone());
                // Copies over other inputs are others, though the seed is the same.
                let identity = over(Tokenizer::new("seeded").token(seed).text(old));
                let name = format_name(&stem, identity, &own.annotations);
                (stem, name)
            }
        };
        Arc::new(Layer {
            name,
            stem,
            label: own.label,
            token,
            op,
            inputs: inputs.into(),
            after: after.into(),
            spec,
            annotations: own.annotations,
            origins: own.origins,
            is_held,
        })
    }

    fn makes_the_same(&self, op: &Op, inputs: &[Arc<Layer>], spec: &ValueSpec) -> bool {
        let tokens = |inputs: &[Arc<Layer>]| inputs.iter().map(|input| input.token).collect::<Vec<_>>();
        *spec == self.spec && tokens(inputs) == tokens(&self.inputs) && op.token() == self.op.token()
    }

    /// The same layer under a name that the user chose, kept to the letter.
    pub fn named(&self, name: &str) -> Arc<Self> {
        let name: Arc<str> = name.into();
        Arc::new(Layer {
            name: name.clone(),
            stem: name.clone(),
            label: Some(name),
            token: self.token,
            op: self.op.clone(),
            inputs: self.inputs.clone(),
            after: self.after.clone(),
            spec: self.spec.clone(),
            annotations: self.annotations.clone(),
            origins: self.origins.clone(),
            is_held: self.is_held,
        })
    }

    /// Unique in a graph.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// As [`Layer::name`], shared.
    pub fn shared_name(&self) -> &Arc<str> {
        &self.name
    }

    /// What the user calls it, or what it is a part of, where that is known.
    pub fn label(&self) -> Option<&str> {
        self.label.as_deref()
    }

    /// Content token: operation, inputs and values, without annotations and names.
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

    /// The layers that must be done before it begins, though it reads nothing of them.
    pub fn after(&self) -> &[Arc<Layer>] {
        &self.after
    }

    /// What it makes.
    pub fn spec(&self) -> &ValueSpec {
        &self.spec
    }

    /// Operation and values, for a rewrite that keeps them.
    pub fn body(&self) -> LayerBody {
        LayerBody { op: self.op.clone(), spec: self.spec.clone() }
    }

    /// How its result is cut into blocks.
    pub fn chunks(&self) -> &Chunking {
        &self.spec.chunks
    }

    /// Shape of its result.
    pub fn shape(&self) -> Shape {
        self.spec.chunks.shape()
    }

    /// Element type of its result; objects are bytes.
    pub fn dtype(&self) -> DType {
        self.spec.dtype
    }

    /// Whether its values are there, so that it stands in for a layer of the same name that would make them.
    pub fn is_held(&self) -> bool {
        self.is_held
    }

    /// What was asked for it.
    pub fn annotations(&self) -> &Annotations {
        &self.annotations
    }

    /// The layers that were merged into it, or it alone.
    pub fn origins(&self) -> Vec<Origin> {
        match &self.origins {
            Some(origins) => origins.to_vec(),
            None => vec![Origin {
                name: self.name.clone(),
                label: self.label.clone(),
                op: self.op.stem(),
                annotations: self.annotations.clone(),
            }],
        }
    }

    /// The key of one of its values.
    ///
    /// # Errors
    /// The layer's name is empty.
    pub fn key(&self, block: usize) -> Result<Key, KeyError> {
        self.spec.key(&self.name, block)
    }

    /// The value that a key names, if it is one of this layer's. O(1).
    pub fn block_of(&self, key: &Key) -> Option<usize> {
        (key.name() == &*self.name).then(|| self.spec.find(key)).flatten()
    }
}

/// What a custom operation makes of its inputs, if it takes them.
pub(super) fn custom_spec(
    layer: &str,
    op: &dyn CustomOp,
    inputs: &[Arc<Layer>],
) -> Result<ValueSpec, GraphError> {
    let specs: Vec<&ValueSpec> = inputs.iter().map(|input| input.spec()).collect();
    let panicked = |message| GraphError::RulePanicked { layer: layer.to_owned(), rule: "shape", message };
    panics::caught(|| op.output(&specs))
        .map_err(panicked)?
        .map_err(|problem| GraphError::ShapeRule { layer: layer.to_owned(), problem })
}

/// What a layer has of its own, beside what it does.
struct Own {
    label: Option<Arc<str>>,
    annotations: Annotations,
    origins: Option<Arc<[Origin]>>,
}

fn format_name(stem: &str, identity: Token, annotations: &Annotations) -> Arc<str> {
    let mut name = [stem, "-", &identity.short()].concat();
    if let Some(suffix) = annotations.token() {
        name = [&*name, "-", &suffix].concat();
    }
    name.into()
}

impl Drop for Layer {
    /// Chains of 10^5 layers are ordinary; dropping them must not recurse.
    fn drop(&mut self) {
        let mut dying = std::mem::take(&mut self.inputs).into_vec();
        dying.extend(std::mem::take(&mut self.after));
        while let Some(layer) = dying.pop() {
            if let Some(mut layer) = Arc::into_inner(layer) {
                dying.extend(std::mem::take(&mut layer.inputs));
                dying.extend(std::mem::take(&mut layer.after));
            }
        }
    }
}

impl fmt::Debug for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.name, self.op.stem(), self.spec)
    }
}
