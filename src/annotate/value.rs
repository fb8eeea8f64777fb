//! A value as it was given, before it is checked.

use std::fmt;
use std::time::Duration;

use super::KeyFunction;
use crate::units::Bytes;

/// What a user wrote for an annotation. Unlike JSON it holds NaN and the infinities, so that the error can name
/// them.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// JSON's `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// An integer.
    Int(i128),
    /// A floating-point number.
    Float(f64),
    /// A string.
    Text(String),
    /// A list.
    List(Vec<Value>),
    /// A table, in the order it was given.
    Table(Vec<(String, Value)>),
    /// Bytes, from code.
    Bytes(Bytes),
    /// A duration, from code.
    Duration(Duration),
    /// A function of the block's key, from code; it stands for a whole value, never inside one.
    Function(KeyFunction),
}

impl Value {
    /// As JSON; `None` when some part of it has no form there.
    pub(super) fn to_json(&self) -> Option<serde_json::Value> {
        Some(match self {
            Value::Null => serde_json::Value::Null,
            Value::Bool(value) => (*value).into(),
            Value::Int(value) => match (i64::try_from(*value), u64::try_from(*value)) {
                (Ok(value), _) => value.into(),
                (_, Ok(value)) => value.into(),
                _ => (*value as f64).into(),
            },
            Value::Float(value) => serde_json::Number::from_f64(*value)?.into(),
            Value::Text(text) => text.clone().into(),
            Value::List(items) => items.iter().map(Value::to_json).collect::<Option<Vec<_>>>()?.into(),
            Value::Table(entries) => entries
                .iter()
                .map(|(key, value)| Some((key.clone(), value.to_json()?)))
                .collect::<Option<serde_json::Map<_, _>>>()?
                .into(),
            Value::Bytes(bytes) => bytes.0.into(),
            Value::Duration(duration) => duration.as_secs_f64().into(),
            Value::Function(_) => return None,
        })
    }
}

impl fmt::Display for Value {
    /// As a pipeline file would write it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Null => f.write_str("null"),
            Value::Bool(value) => write!(f, "{value}"),
            Value::Int(value) => write!(f, "{value}"),
            Value::Float(value) => write!(f, "{value}"),
            Value::Text(text) => write!(f, "{text:?}"),
            Value::List(items) => {
                f.write_str("[")?;
                for (at, item) in items.iter().enumerate() {
                    write!(f, "{}{item}", if at > 0 { ", " } else { "" })?;
                }
                f.write_str("]")
            }
            Value::Table(entries) => {
                f.write_str("{")?;
                for (at, (key, value)) in entries.iter().enumerate() {
                    write!(f, "{}{key} = {value}", if at > 0 { ", " } else { "" })?;
                }
                f.write_str("}")
            }
            Value::Bytes(bytes) => write!(f, "{bytes}"),
            Value::Duration(duration) => write!(f, "{duration:?}"),
            Value::Function(function) => write!(f, "{function}"),
        }
    }
}

macro_rules! value_from {
    ($($from:ty => $make:expr),* $(,)?) => {
        $(impl From<$from> for Value {
            fn from(value: $from) -> Value {
                let make: fn($from) -> Value = $make;
                make(value)
            }
        })*
    };
}
value_from!(
    bool => Value::Bool,
    i32 => |value| Value::Int(value.into()),
    i64 => |value| Value::Int(value.into()),
    u32 => |value| Value::Int(value.into()),
    u64 => |value| Value::Int(value.into()),
    f32 => |value| Value::Float(value.into()),
    f64 => Value::Float,
    &str => |value| Value::Text(value.to_owned()),
    String => Value::Text,
    Bytes => Value::Bytes,
    Duration => Value::Duration,
);

impl<V: Into<Value>> From<Vec<V>> for Value {
    fn from(items: Vec<V>) -> Value {
        Value::List(items.into_iter().map(Into::into).collect())
    }
}

impl<V: Into<Value>, const N: usize> From<[V; N]> for Value {
    fn from(items: [V; N]) -> Value {
        Value::List(items.into_iter().map(Into::into).collect())
    }
}

impl From<serde_json::Value> for Value {
    fn from(value: serde_json::Value) -> Value {
        match value {
            serde_json::Value::Null => Value::Null,
            serde_json::Value::Bool(value) => Value::Bool(value),
            serde_json::Value::Number(number) => match number.as_i128() {
                Some(integer) => Value::Int(integer),
                None => Value::Float(number.as_f64().unwrap_or(f64::NAN)),
            },
            serde_json::Value::String(text) => Value::Text(text),
            serde_json::Value::Array(items) => items.into(),
            serde_json::Value::Object(entries) => {
                Value::Table(entries.into_iter().map(|(key, value)| (key, value.into())).collect())
            }
        }
    }
}

impl From<toml::Value> for Value {
    fn from(value: toml::Value) -> Value {
        match value {
            toml::Value::Boolean(value) => Value::Bool(value),
            toml::Value::Integer(value) => value.into(),
            toml::Value::Float(value) => Value::Float(value),
            toml::Value::String(text) => Value::Text(text),
            toml::Value::Datetime(date) => Value::Text(date.to_string()),
            toml::Value::Array(items) => items.into(),
            toml::Value::Table(entries) => {
                Value::Table(entries.into_iter().map(|(key, value)| (key, value.into())).collect())
            }
        }
    }
}
