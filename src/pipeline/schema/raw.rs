//! Annotation values: TOML of any form, each part with its place.

use toml::Spanned;
use toml::de::DeValue;

use super::value::{float, in_order, integer};
use crate::annotate::Value;
use crate::pipeline::diagnostic::Problem;

/// A TOML value whose meaning is decided elsewhere.
#[derive(Clone, Debug, PartialEq)]
pub enum RawValue {
    /// A string, or a date as its text.
    Text(String),
    /// An integer.
    Integer(i64),
    /// A float, also one that is not finite.
    Float(f64),
    /// A boolean.
    Bool(bool),
    /// A list.
    List(Vec<Spanned<RawValue>>),
    /// A table, in the order written.
    Table(Vec<(Spanned<String>, Spanned<RawValue>)>),
}

impl RawValue {
    /// As the value of an annotation, not yet checked.
    pub fn to_value(&self) -> Value {
        match self {
            RawValue::Text(text) => Value::Text(text.clone()),
            RawValue::Integer(number) => Value::Int((*number).into()),
            RawValue::Float(number) => Value::Float(*number),
            RawValue::Bool(flag) => Value::Bool(*flag),
            RawValue::List(items) => {
                Value::List(items.iter().map(|item| item.get_ref().to_value()).collect())
            }
            RawValue::Table(entries) => {
                let pairs =
                    entries.iter().map(|(key, value)| (key.get_ref().clone(), value.get_ref().to_value()));
                Value::Table(pairs.collect())
            }
        }
    }

    /// As JSON; numbers that are not finite have none and become `null`.
    pub fn to_json(&self) -> serde_json::Value {
        match self {
            RawValue::Text(text) => text.as_str().into(),
            RawValue::Integer(number) => (*number).into(),
            RawValue::Float(number) => (*number).into(),
            RawValue::Bool(flag) => (*flag).into(),
            RawValue::List(items) => items.iter().map(|item| item.get_ref().to_json()).collect(),
            RawValue::Table(entries) => {
                let pairs =
                    entries.iter().map(|(key, value)| (key.get_ref().clone(), value.get_ref().to_json()));
                serde_json::Value::Object(pairs.collect())
            }
        }
    }
}

/// # Errors
/// A number beyond its 64-bit type.
pub(super) fn raw(value: &Spanned<DeValue<'_>>) -> Result<Spanned<RawValue>, Problem> {
    let too_large = || Problem::new("this number doesn't fit 64 bits", value.span());
    let raw = match value.get_ref() {
        DeValue::String(text) => RawValue::Text(text.to_string()),
        DeValue::Boolean(flag) => RawValue::Bool(*flag),
        DeValue::Datetime(date) => RawValue::Text(date.to_string()),
        DeValue::Integer(number) => RawValue::Integer(integer(number).ok_or_else(too_large)?),
        DeValue::Float(number) => RawValue::Float(float(number).ok_or_else(too_large)?),
        DeValue::Array(items) => RawValue::List(items.iter().map(raw).collect::<Result<_, _>>()?),
        DeValue::Table(table) => {
            let entries = in_order(table)
                .into_iter()
                .map(|(key, value)| Ok((Spanned::new(key.span(), key.get_ref().to_string()), raw(value)?)));
            RawValue::Table(entries.collect::<Result<_, Problem>>()?)
        }
    };
    Ok(Spanned::new(value.span(), raw))
}
