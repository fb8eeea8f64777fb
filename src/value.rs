//! Values: what a task makes and the next one reads.

use std::any::{Any, type_name};
use std::fmt;
use std::sync::Arc;

use crate::block::Block;

/// A block of an array, or an object. Clones are handles to the same one.
#[derive(Clone, Debug)]
pub enum Value {
    /// A typed, strided piece of some device's memory.
    Block(Arc<Block>),
    /// Any Rust value, on the host.
    Object(Object),
}

/// Any Rust value behind a shared handle. It lives on the host, and stays as it is once it is made.
#[derive(Clone)]
pub struct Object(Arc<dyn Shared>);

/// A value that knows its type's name.
trait Shared: Any + Send + Sync {
    fn type_name(&self) -> &'static str;
}

impl<T: Any + Send + Sync> Shared for T {
    fn type_name(&self) -> &'static str {
        type_name::<T>()
    }
}

impl Object {
    /// Takes a value in.
    pub fn new<T: Any + Send + Sync>(value: T) -> Self {
        Object::shared(Arc::new(value))
    }

    /// Takes in a value that others hold too.
    pub fn shared<T: Any + Send + Sync>(value: Arc<T>) -> Self {
        Object(value)
    }

    /// The value, when it is a `T`.
    pub fn downcast<T: Any + Send + Sync>(&self) -> Option<&T> {
        (&*self.0 as &dyn Any).downcast_ref()
    }

    /// A handle to the value, when it is a `T`.
    pub fn to_shared<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        (self.0.clone() as Arc<dyn Any + Send + Sync>).downcast().ok()
    }

    /// Rust's name of its type, for messages.
    pub fn type_name(&self) -> &'static str {
        // The value's, not the handle's.
        (*self.0).type_name()
    }
}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Object({})", self.type_name())
    }
}

impl Value {
    /// The block, if it is one.
    pub fn block(&self) -> Option<&Block> {
        match self {
            Value::Block(block) => Some(block),
            Value::Object(_) => None,
        }
    }

    /// The object as a `T`, if it is one.
    pub fn object<T: Any + Send + Sync>(&self) -> Option<&T> {
        match self {
            Value::Block(_) => None,
            Value::Object(object) => object.downcast(),
        }
    }

    /// What it is, for messages: `float32 block (3, 4)`, or the object's type.
    pub fn describe(&self) -> String {
        match self {
            Value::Block(block) => format!("{} block {}", block.dtype(), block.shape()),
            Value::Object(object) => object.type_name().to_owned(),
        }
    }
}

impl From<Block> for Value {
    fn from(block: Block) -> Self {
        Value::Block(Arc::new(block))
    }
}

impl From<Object> for Value {
    fn from(object: Object) -> Self {
        Value::Object(object)
    }
}
