//! Calls: arguments of any kind become what a task reads, and what it read becomes arguments again.

use std::any::{Any, type_name};
use std::borrow::Borrow;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::block::Block;
use crate::collections::array::Array;
use crate::collections::computed::Computed;
use crate::collections::contract::Collection;
use crate::collections::delayed::Delayed;
use crate::collections::nested::{asked_for, output_layers};
use crate::graph::block_set::BlockSet;
use crate::graph::custom::TaskError;
use crate::graph::error::GraphError;
use crate::graph::layer::{Layer, LayerBody, Naming};
use crate::graph::op::Op;
use crate::graph::rule::Read;
use crate::graph::tasks::{Function, Run, Slot, TaskTable};
use crate::graph::value_spec::ValueSpec;
use crate::token::{Token, Tokenize, Tokenizer};
use crate::value::{Object, Value};

/// Takes an argument's values from those that a task read, in order.
pub type Reader<H> = Box<dyn Fn(&mut std::slice::Iter<'_, Value>) -> Result<H, TaskError> + Send + Sync>;

/// What may be handed to a call; the [table](crate::collections::delayed#what-a-function-gets) says what the function
/// gets for it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be handed to a call",
    label = "not an argument",
    note = "hand over a reference to a collection, `&x`; a plain value as `Literal::new(value)`; a collection of your \
            own as `Whole(&mine)`; or a vector of these"
)]
pub trait Argument {
    /// What the function gets a reference to.
    type Value: ?Sized;

    /// What a task holds of it while the function runs.
    type Held: Borrow<Self::Value>;

    /// Says what the task reads, and how the argument comes out of that.
    ///
    /// # Errors
    /// A collection was built wrongly.
    fn bind(&self, call: &mut Calling) -> Result<Reader<Self::Held>, GraphError>;
}

/// A value handed to a call as it is.
pub struct Literal<T> {
    value: Arc<T>,
    token: Option<Token>,
}

impl<T: Any + Send + Sync> Literal<T> {
    /// By its content.
    pub fn new(value: T) -> Self
    where
        T: Tokenize,
    {
        Literal { token: Some(Token::of(&value)), value: Arc::new(value) }
    }

    /// A value that nobody can tell from another: a call with it is equal to no other.
    pub fn opaque(value: T) -> Self {
        Literal { token: None, value: Arc::new(value) }
    }
}

/// A third party's collection, which must be `Send` and `Sync`, as what computing it gives.
pub struct Whole<'a, C>(pub &'a C);

impl<T: Any + Send + Sync> Argument for &Delayed<T> {
    type Value = T;
    type Held = Arc<T>;

    fn bind(&self, call: &mut Calling) -> Result<Reader<Arc<T>>, GraphError> {
        call.read_all(self.layer()?)?;
        Ok(Box::new(next_object::<T>))
    }
}

impl<T: Any + Send + Sync> Argument for Literal<T> {
    type Value = T;
    type Held = Arc<T>;

    fn bind(&self, call: &mut Calling) -> Result<Reader<Arc<T>>, GraphError> {
        call.literal(Object::shared(self.value.clone()).into(), self.token);
        Ok(Box::new(next_object::<T>))
    }
}

impl Argument for &Array {
    type Value = Block;
    type Held = Block;

    fn bind(&self, call: &mut Calling) -> Result<Reader<Block>, GraphError> {
        call.read_all(self.whole()?.layer()?)?;
        Ok(Box::new(|values| match values.next() {
            Some(Value::Block(block)) => Ok(Block::clone(block)),
            other => Err(wrong::<Block>(other)),
        }))
    }
}

impl<C> Argument for Whole<'_, C>
where
    C: Collection + Send + Sync + 'static,
{
    type Value = C::Value;
    type Held = C::Value;

    fn bind(&self, call: &mut Calling) -> Result<Reader<C::Value>, GraphError> {
        let collection = self.0.clone();
        let keys = collection.keys()?;
        let layers = output_layers(&collection.graph()?, &collection.layer_names()?)?;
        let asked = |layer: Arc<Layer>| Ok((asked_for(&keys, &layer)?, layer));
        let layers: Vec<(BlockSet, Arc<Layer>)> =
            layers.into_iter().map(asked).collect::<Result<_, GraphError>>()?;
        layers.iter().try_for_each(|(blocks, layer)| call.read(layer, blocks))?;
        Ok(Box::new(move |values| {
            let mut computed = Computed::default();
            for (blocks, layer) in &layers {
                let own = values.by_ref().take(blocks.len(layer.spec().count())).cloned().collect();
                computed.add_values(layer, blocks.clone(), own);
            }
            collection.finalize(&computed).map_err(TaskError::new)
        }))
    }
}

impl<A: Argument> Argument for Vec<A>
where
    A::Held: 'static,
{
    type Value = [A::Held];
    type Held = Vec<A::Held>;

    fn bind(&self, call: &mut Calling) -> Result<Reader<Vec<A::Held>>, GraphError> {
        let each: Vec<Reader<A::Held>> =
            self.iter().map(|argument| argument.bind(call)).collect::<Result<_, _>>()?;
        Ok(Box::new(move |values| each.iter().map(|reader| reader(values)).collect()))
    }
}

fn next_object<T: Any + Send + Sync>(values: &mut std::slice::Iter<'_, Value>) -> Result<Arc<T>, TaskError> {
    let value = values.next();
    match value {
        Some(Value::Object(object)) => object.to_shared().ok_or_else(|| wrong::<T>(value)),
        _ => Err(wrong::<T>(value)),
    }
}

fn wrong<T>(found: Option<&Value>) -> TaskError {
    let found = found.map_or_else(|| "missing".to_owned(), Value::describe);
    TaskError::new(format!("an argument is {found}, not {}", type_name::<T>()))
}

/// A call while it is put together.
pub struct Calling {
    name: Arc<str>,
    /// Name and version of a registered function, and the literals so far; `None` when one can't be told from another.
    content: Option<Tokenizer>,
    inputs: Vec<Arc<Layer>>,
    slots: SmallVec<[Slot; 2]>,
}

impl fmt::Debug for Calling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} values", self.name, self.slots.len())
    }
}

/// Inputs that are looked through for one that is there already: a vector of thousands isn't.
const RECENT_INPUTS: usize = 8;

impl Calling {
    pub(super) fn unregistered(name: &str) -> Self {
        Calling { name: name.into(), content: None, inputs: Vec::new(), slots: SmallVec::new() }
    }

    fn registered(name: &Arc<str>, version: u32) -> Self {
        let content = Tokenizer::new("call").text(name).int(version.into());
        Calling { name: name.clone(), content: Some(content), inputs: Vec::new(), slots: SmallVec::new() }
    }

    /// The next values that the task reads: all of a layer.
    ///
    /// # Errors
    /// More inputs than a task can name.
    pub fn read_all(&mut self, layer: &Arc<Layer>) -> Result<(), GraphError> {
        self.read(layer, &BlockSet::All)
    }

    /// The next values that the task reads: some of a layer, in ascending order.
    ///
    /// # Errors
    /// More inputs than a task can name.
    pub fn read(&mut self, layer: &Arc<Layer>, blocks: &BlockSet) -> Result<(), GraphError> {
        let recent = self.inputs.len().saturating_sub(RECENT_INPUTS);
        let known = self.inputs[recent..].iter().position(|input| Arc::ptr_eq(input, layer));
        let input = known.map_or(self.inputs.len(), |at| at + recent);
        if input >= usize::from(Read::OWN) {
            let (value, problem) =
                (input.to_string(), "a call reads at most 65534 collections: gather them in steps");
            return Err(GraphError::Argument { op: "call", argument: "arguments", value, problem });
        }
        if known.is_none() {
            self.inputs.push(layer.clone());
        }
        let input = input as u16;
        for block in blocks.iter(layer.spec().count()) {
            self.content = self.content.take().map(|content| content.int(input.into()).int(block as i64));
            self.slots.push(Slot::Read(Read { input, block }));
        }
        Ok(())
    }

    /// The next value that the task finds: a literal.
    pub fn literal(&mut self, value: Value, token: Option<Token>) {
        self.content = self.content.take().zip(token).map(|(content, token)| content.token(token));
        self.slots.push(Slot::Literal(Box::new(value)));
    }

    pub(super) fn call<F, R: Any + Send + Sync, M>(
        mut self,
        arguments: impl Arguments<F, R, M>,
        run: F,
    ) -> Result<Arc<Layer>, GraphError> {
        let run = arguments.bind_all(&mut self, run)?;
        if self.name.is_empty() {
            let (value, problem) = ("''".to_owned(), "must not be empty");
            return Err(GraphError::Argument { op: "call", argument: "name", value, problem });
        }
        let token = self.content.map_or_else(Token::unique, Tokenizer::finish);
        let function = Function::shared(self.name, run);
        let table = TaskTable::call(function, self.slots, token);
        let spec = ValueSpec::object(size_of::<R>() as u64);
        let body = LayerBody { op: Op::Tasks(Arc::new(table)), spec };
        Ok(Layer::of(body, self.inputs, Naming::Content))
    }
}

/// The function's result is the value.
#[derive(Debug)]
pub struct Plain;

/// The function's result is the value or an error.
#[derive(Debug)]
pub struct Fallible;

/// What a function may return: `R` itself ([`Plain`]), or a `Result` of it ([`Fallible`]).
#[diagnostic::on_unimplemented(
    message = "a function that may fail returns a `Result`, and this one returns `{Self}`",
    label = "returns no `Result`",
    note = "`Delayed::call` and `function` take functions that can't fail; an error has to implement `Display`"
)]
pub trait Returns<R, M> {
    /// The value, or what went wrong.
    ///
    /// # Errors
    /// The function's own.
    fn into_result(self) -> Result<R, TaskError>;
}

impl<R> Returns<R, Plain> for R {
    fn into_result(self) -> Result<R, TaskError> {
        Ok(self)
    }
}

impl<R, E: fmt::Display> Returns<R, Fallible> for Result<R, E> {
    fn into_result(self) -> Result<R, TaskError> {
        self.map_err(TaskError::new)
    }
}

/// A tuple of arguments that the function `F` takes, by reference, to make an `R`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` are no arguments of this function",
    label = "a tuple of up to six is needed here",
    note = "one argument is a tuple too, `(&x,)`; none are `()`"
)]
pub trait Arguments<F, R, M> {
    /// Binds all arguments, in order.
    ///
    /// # Errors
    /// A collection was built wrongly.
    fn bind_all(&self, call: &mut Calling, run: F) -> Result<Arc<Run>, GraphError>;
}

macro_rules! arguments {
    ($(($($name:ident $at:tt),*))*) => {$(
        impl<Func, Out, Res, Mode, $($name),*> Arguments<Func, Res, Mode> for ($($name,)*)
        where
            $($name: Argument, $name::Held: 'static,)*
            Func: Fn($(&$name::Value),*) -> Out + Send + Sync + 'static,
            Out: Returns<Res, Mode>,
            Res: Any + Send + Sync,
        {
            fn bind_all(
                &self,
                call: &mut Calling,
                run: Func,
            ) -> Result<Arc<Run>, GraphError> {
                let _ = &call;
                let readers = ($(self.$at.bind(call)?,)*);
                Ok(Arc::new(move |values| {
                    let (_values, _readers) = (&mut values.iter(), &readers);
                    let result = run($((_readers.$at)(_values)?.borrow()),*);
                    Ok(Object::new(result.into_result()?))
                }))
            }
        }
    )*};
}
arguments!(()(A 0)(A 0, B 1)(A 0, B 1, C 2)(A 0, B 1, C 2, D 3)(A 0, B 1, C 2, D 3, E 4)(A 0, B 1, C 2, D 3, E 4, G 5));

/// A function under a name and a version: pure, and known to other runs and processes. Calls with equal arguments are one
/// task. Whoever changes what it computes changes the version.
pub struct Pure<F, R, M> {
    name: Arc<str>,
    version: u32,
    run: F,
    returns: PhantomData<fn() -> (R, M)>,
}

/// Registers a function; see [`Pure`].
pub fn function<F, R>(name: &str, version: u32, run: F) -> Pure<F, R, Plain> {
    Pure { name: name.into(), version, run, returns: PhantomData }
}

/// As [`function`], of one that may fail.
pub fn try_function<F, R>(name: &str, version: u32, run: F) -> Pure<F, R, Fallible> {
    Pure { name: name.into(), version, run, returns: PhantomData }
}

impl<F: Clone, R: Any + Send + Sync, M> Pure<F, R, M> {
    /// A call of it; see [`Delayed::call`] for what may be handed over.
    #[track_caller]
    pub fn call(&self, arguments: impl Arguments<F, R, M>) -> Delayed<R> {
        let calling = Calling::registered(&self.name, self.version);
        Delayed::keep(calling.call(arguments, self.run.clone()))
    }
}

/// A literal as a value of its own.
pub(super) fn held<T: Any + Send + Sync>(literal: Literal<T>) -> Delayed<T> {
    let mut calling = Calling::registered(&"value".into(), 0);
    calling.literal(Object::shared(literal.value).into(), literal.token);
    let token = calling.content.map_or_else(Token::unique, Tokenizer::finish);
    let run = |values: &[Value]| match values {
        [Value::Object(object)] => Ok(object.clone()),
        _ => Err(TaskError::new("a literal is one object")),
    };
    let table = TaskTable::call(Function::shared(calling.name, Arc::new(run)), calling.slots, token);
    let body = LayerBody { op: Op::Tasks(Arc::new(table)), spec: ValueSpec::object(size_of::<T>() as u64) };
    Delayed::keep(Ok(Layer::of(body, Vec::new(), Naming::Content)))
}
