//! Explicit tasks: a table from keys to functions and their arguments, for graphs that no rule describes.
//!
//! What Dask writes as `{"a": 1, "b": (inc, "a")}`:
//!
//! ```
//! use outcrop::collections::Delayed;
//! use outcrop::graph::tasks::{Argument, Function, Task};
//! use outcrop::graph::{LayerGraph, NewLayer};
//! use outcrop::key::Key;
//! use outcrop::session::Session;
//! use outcrop::value::Object;
//!
//! let one = Function::registered("one", 1, |_| Ok(Object::new(1i64)));
//! let add = Function::registered("add", 1, |values| match values {
//!     [a, b] => match (a.object::<i64>(), b.object::<i64>()) {
//!         (Some(a), Some(b)) => Ok(Object::new(a + b)),
//!         _ => Err(format!("add takes integers, not {} and {}", a.describe(), b.describe()).into()),
//!     },
//!     _ => Err("add takes two values".into()),
//! });
//!
//! // All keys of a layer have its name; one task may have the plain name as its key, as "sum" here.
//! let start = Key::new("sum", ["start"])?;
//! let tasks = vec![
//!     (start.clone(), Task { function: one, arguments: vec![] }),
//!     (Key::named("sum")?, Task { function: add, arguments: vec![Argument::Key(start), Argument::literal(41i64)] }),
//! ];
//! let graph = LayerGraph::from_collections("sum", NewLayer::Tasks { tasks, bytes: 8 }, &())?;
//! assert!(graph.contains(&Key::named("sum")?) && graph.len() == 2);
//! # let run = Session::new(Default::default()).prepare_graph(&graph, &Default::default())?;
//! # assert_eq!(run.plan.steps.len(), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! - Tasks may read each other, in any order, and the values of the layer's inputs; what isn't there, a key given twice,
//!   one of another layer's name and a circle are errors where the layer is made, and name the keys.
//! - A literal that looks like a key stays a literal: the types differ.
//! - A table costs O(tasks), to build and to hold. Where a rule tells what each value is made of, a
//!   [custom operation](crate::graph::custom) costs O(1); for single calls there is
//!   [`Delayed`](crate::collections::delayed).

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::graph::custom::TaskError;
use crate::graph::error::GraphError;
use crate::graph::layer::Layer;
use crate::graph::rule::Read;
use crate::graph::topological::topological;
use crate::graph::value_spec::KeyTable;
use crate::key::{Key, KeyPart};
use crate::token::{Token, Tokenizer};
use crate::value::{Object, Value};

/// What a task calls, on the values of its arguments.
pub type Run = dyn Fn(&[Value]) -> Result<Object, TaskError> + Send + Sync;

/// A function that tasks call.
#[derive(Clone)]
pub struct Function {
    name: Arc<str>,
    token: Option<Token>,
    run: Arc<Run>,
}

impl Function {
    /// A function under a name and a version: calls of equal arguments are one task, which other runs and
    /// processes know too. Whoever changes what it computes changes the version.
    pub fn registered(
        name: &str,
        version: u32,
        run: impl Fn(&[Value]) -> Result<Object, TaskError> + Send + Sync + 'static,
    ) -> Self {
        let token = Tokenizer::new("function").text(name).int(version.into()).finish();
        Function { name: name.into(), token: Some(token), run: Arc::new(run) }
    }

    /// A function that nobody can tell from another: every call is a task of its own.
    pub fn unregistered(
        name: &str,
        run: impl Fn(&[Value]) -> Result<Object, TaskError> + Send + Sync + 'static,
    ) -> Self {
        Function { name: name.into(), token: None, run: Arc::new(run) }
    }

    /// As [`Function::unregistered`], shared already.
    pub(crate) fn shared(name: Arc<str>, run: Arc<Run>) -> Self {
        Function { name, token: None, run }
    }

    /// Its name.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// Name and version, when it is registered.
    pub fn token(&self) -> Option<Token> {
        self.token
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// An argument of a task. A literal that looks like a key is still a literal.
#[derive(Clone, Debug)]
pub enum Argument {
    /// The value of another task, of this table or of one of the layer's inputs.
    Key(Key),
    /// A value, with its content token where it has one.
    Literal(Value, Option<Token>),
}

impl Argument {
    /// A literal without a token: the task that takes it is equal to no other.
    pub fn literal<T: std::any::Any + Send + Sync>(value: T) -> Self {
        Argument::Literal(Object::new(value).into(), None)
    }
}

/// A task as it is given to [`TaskTable::new`].
#[derive(Clone, Debug)]
pub struct Task {
    /// What it calls.
    pub function: Function,
    /// What it calls it with.
    pub arguments: Vec<Argument>,
}

/// Tasks in topological order, their arguments resolved.
pub struct TaskTable {
    tasks: Vec<Resolved>,
    /// `None` for one task whose key is the layer's name.
    keys: Option<Arc<KeyTable>>,
    token: Token,
}

struct Resolved {
    function: Function,
    slots: SmallVec<[Slot; 2]>,
}

/// Where an argument's value comes from. A literal is boxed, since a table of millions has few of them.
#[derive(Clone, Debug)]
pub(crate) enum Slot {
    Literal(Box<Value>),
    Read(Read),
}

impl TaskTable {
    /// The tasks of the layer `name`, which may read each other and the layer's inputs. O(tasks + arguments).
    ///
    /// # Errors
    /// No task; more than 65535 inputs; a key under another name, two tasks under one key, an argument that names no
    /// task, tasks that wait for each other in a circle: all name the keys.
    pub fn new(
        name: &str,
        tasks: impl IntoIterator<Item = (Key, Task)>,
        inputs: &[Arc<Layer>],
    ) -> Result<Self, GraphError> {
        let tasks: Vec<(Key, Task)> = tasks.into_iter().collect();
        if tasks.is_empty() {
            let (value, problem) = ("[]".to_owned(), "a layer makes at least one value");
            return Err(GraphError::Argument { op: "tasks", argument: "tasks", value, problem });
        }
        let mut given: HashMap<&Key, usize> = HashMap::new();
        for (at, (key, _)) in tasks.iter().enumerate() {
            if key.name() != name {
                return Err(GraphError::ForeignKey { key: key.clone(), layer: name.to_owned() });
            }
            if given.insert(key, at).is_some() {
                return Err(GraphError::DuplicateKey { key: key.clone() });
            }
        }
        let own = |argument: &Argument| match argument {
            Argument::Key(key) => given.get(key).copied(),
            Argument::Literal(..) => None,
        };
        let reads: Vec<Vec<usize>> =
            tasks.iter().map(|(_, task)| task.arguments.iter().filter_map(own).collect()).collect();
        let order = topological(&reads).map_err(|circle| GraphError::Cycle {
            keys: circle.into_iter().map(|at| tasks[at].0.to_string()).collect(),
        })?;
        let by_name = numbered(name, inputs)?;
        let mut rank = vec![0; tasks.len()];
        order.iter().enumerate().for_each(|(at, &task)| rank[task] = at);
        let resolve = |user: &Key, argument: &Argument| match argument {
            Argument::Literal(value, _) => Ok(Slot::Literal(Box::new(value.clone()))),
            Argument::Key(key) => match given.get(key) {
                Some(&own) => Ok(Slot::Read(Read { input: Read::OWN, block: rank[own] })),
                None => input_read(key, inputs, &by_name)
                    .map(Slot::Read)
                    .ok_or_else(|| GraphError::MissingKey { key: key.clone(), user: user.to_string() }),
            },
        };
        let resolved = |&at: &usize| {
            let (key, task) = &tasks[at];
            let slots = task.arguments.iter().map(|argument| resolve(key, argument));
            Ok(Resolved { function: task.function.clone(), slots: slots.collect::<Result<_, GraphError>>()? })
        };
        let resolved = order.iter().map(resolved).collect::<Result<Vec<_>, GraphError>>()?;
        let given = order.iter().map(|&at| &tasks[at].1);
        let parts: Vec<Box<[KeyPart]>> = order.iter().map(|&at| tasks[at].0.parts().into()).collect();
        let token = content(&parts, &resolved, given).unwrap_or_else(Token::unique);
        let is_plain = matches!(&*parts, [only] if only.is_empty());
        let keys = (!is_plain).then(|| Arc::new(KeyTable::new(parts)));
        Ok(TaskTable { tasks: resolved, keys, token })
    }

    /// One call, whose key is the layer's name.
    pub(crate) fn call(function: Function, slots: SmallVec<[Slot; 2]>, token: Token) -> Self {
        TaskTable { tasks: vec![Resolved { function, slots }], keys: None, token }
    }

    /// Number of tasks.
    pub fn len(&self) -> usize {
        self.tasks.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// What a task calls.
    pub fn function(&self, task: usize) -> &Function {
        &self.tasks[task].function
    }

    /// The keys of the tasks; `None` for one task whose key is the layer's name.
    pub fn keys(&self) -> Option<&Arc<KeyTable>> {
        self.keys.as_ref()
    }

    /// The content of functions and literals; unique when one of them has no token.
    pub fn token(&self) -> Token {
        self.token
    }

    /// The values that a task reads, each as often as it is an argument.
    pub fn reads(&self, task: usize) -> impl Iterator<Item = Read> {
        let read = |slot: &Slot| match slot {
            Slot::Read(read) => Some(*read),
            Slot::Literal(_) => None,
        };
        self.tasks[task].slots.iter().filter_map(read)
    }

    /// Calls a task's function with `values`, what [`TaskTable::reads`] asked for.
    ///
    /// # Errors
    /// The function's own.
    pub fn run(&self, task: usize, values: &[Value]) -> Result<Object, TaskError> {
        let Resolved { function, slots, .. } = &self.tasks[task];
        if slots.iter().all(|slot| matches!(slot, Slot::Read(_))) {
            return (function.run)(values);
        }
        let mut read = values.iter().cloned();
        let arguments: Vec<Value> = slots
            .iter()
            .filter_map(|slot| match slot {
                Slot::Literal(value) => Some(Value::clone(value)),
                Slot::Read(_) => read.next(),
            })
            .collect();
        (function.run)(&arguments)
    }
}

impl fmt::Debug for TaskTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.tasks {
            [only] => write!(f, "{:?}", only.function),
            tasks => write!(f, "{} tasks", tasks.len()),
        }
    }
}

/// The first input of each name.
fn numbered<'a>(layer: &str, inputs: &'a [Arc<Layer>]) -> Result<HashMap<&'a str, u16>, GraphError> {
    if inputs.len() > usize::from(Read::OWN) {
        return Err(GraphError::TooManyInputs { layer: layer.to_owned(), inputs: inputs.len() });
    }
    // Of equal names the first is the last to come in.
    Ok(inputs.iter().enumerate().rev().map(|(at, input)| (input.name(), at as u16)).collect())
}

fn input_read(key: &Key, inputs: &[Arc<Layer>], by_name: &HashMap<&str, u16>) -> Option<Read> {
    let input = *by_name.get(key.name())?;
    Some(Read { input, block: inputs[usize::from(input)].block_of(key)? })
}

/// The token of a whole table, or `None` when a function or a literal has none. What is read counts by its place,
/// not by its name: the layer's own token has the content of its inputs.
fn content<'a>(
    parts: &[Box<[KeyPart]>],
    resolved: &[Resolved],
    given: impl Iterator<Item = &'a Task>,
) -> Option<Token> {
    let mut fields = Tokenizer::new("tasks");
    for ((parts, task), given) in parts.iter().zip(resolved).zip(given) {
        fields = fields.token(task.function.token()?).int(parts.len() as i64);
        fields = parts.iter().fold(fields, Tokenizer::nested);
        fields = fields.int(task.slots.len() as i64);
        for (slot, argument) in task.slots.iter().zip(&given.arguments) {
            fields = match (slot, argument) {
                (Slot::Read(read), _) => fields.int(read.input.into()).int(read.block as i64),
                (Slot::Literal(_), Argument::Literal(_, token)) => fields.token((*token)?),
                (Slot::Literal(_), Argument::Key(_)) => return None,
            };
        }
    }
    Some(fields.finish())
}
