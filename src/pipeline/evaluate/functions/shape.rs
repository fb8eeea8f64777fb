//! Conversions, other blocks, and arrays like others.

use super::super::call::Call;
use super::super::value::Value;
use super::{Build, Function, Outcome, Parameter, needed, optional};
use crate::collections::Array;
use crate::collections::array::ChunkSize;
use crate::dtype::{DType, Kind, Scalar, half};

const X: &[Parameter] = &[needed("x")];
const X_DTYPE: &[Parameter] = &[needed("x"), optional("dtype", "None")];

const fn conversion(
    name: &'static str,
    aliases: &'static [&'static str],
    build: fn(&Call) -> Outcome<Value>,
) -> Function {
    Function { name, aliases, parameters: X, summary: "x in this element type", build: Build::With(build) }
}

const fn filled(name: &'static str, build: fn(&Call) -> Outcome<Value>, summary: &'static str) -> Function {
    Function { name, aliases: &[], parameters: X_DTYPE, summary, build: Build::With(build) }
}

pub(super) const TABLE: &[Function] = &[
    Function {
        name: "astype",
        aliases: &[],
        parameters: &[needed("x"), needed("dtype")],
        summary: "x in another element type; floats out of an integer's range saturate, NaN becomes 0",
        build: Build::With(astype),
    },
    conversion("bool", &[], |call| cast(call, DType::Bool)),
    conversion("u8", &["uint8"], |call| cast(call, DType::U8)),
    conversion("i16", &["int16"], |call| cast(call, DType::I16)),
    conversion("i32", &["int32"], |call| cast(call, DType::I32)),
    conversion("u32", &["uint32"], |call| cast(call, DType::U32)),
    conversion("i64", &["int64", "int"], |call| cast(call, DType::I64)),
    conversion("f16", &["float16"], |call| cast(call, DType::F16)),
    conversion("f32", &["float32"], |call| cast(call, DType::F32)),
    conversion("f64", &["float64", "float"], |call| cast(call, DType::F64)),
    Function {
        name: "rechunk",
        aliases: &[],
        parameters: &[needed("x"), optional("chunks", "\"auto\"")],
        summary: "x in other blocks: one extent for all axes, or one an axis; -1 keeps an axis whole",
        build: Build::With(rechunk),
    },
    filled("zeros_like", |call| like(call, Scalar::Int(0)), "zeros of the shape of x"),
    filled("ones_like", |call| like(call, Scalar::Int(1)), "ones of the shape of x"),
];

fn astype(call: &Call) -> Outcome<Value> {
    match call.dtype(1)? {
        Some(dtype) => cast(call, dtype),
        None => Err(call.problem(1, "'dtype' of astype must be an element type, such as f32")),
    }
}

/// A number stays a number, which is weak beside arrays, but takes the type's values.
fn cast(call: &Call, dtype: DType) -> Outcome<Value> {
    let Some(Value::Scalar(scalar)) = call.given(0) else {
        return call.built(call.array(0)?.astype(dtype));
    };
    let value = match (dtype, dtype.kind()) {
        (DType::F16, _) => Scalar::Float(half::to_single(half::from_double(scalar.as_f64())).into()),
        (DType::F32, _) => Scalar::Float(f64::from(scalar.as_f64() as f32)),
        (_, Kind::Float) => Scalar::Float(scalar.as_f64()),
        (_, Kind::Bool) => Scalar::Bool(scalar.as_bool()),
        (_, Kind::Integer) => {
            let (low, high) = match dtype {
                DType::U8 => (0, i64::from(u8::MAX)),
                DType::I16 => (i16::MIN.into(), i16::MAX.into()),
                DType::I32 => (i32::MIN.into(), i32::MAX.into()),
                DType::U32 => (0, u32::MAX.into()),
                _ => (i64::MIN, i64::MAX),
            };
            let whole = scalar.as_i64();
            if !(low..=high).contains(&whole) {
                return Err(call.problem(0, format!("{scalar} doesn't fit {dtype}")));
            }
            Scalar::Int(whole)
        }
    };
    Ok(Value::Scalar(value))
}

fn rechunk(call: &Call) -> Outcome<Value> {
    let x = call.array(0)?;
    let sizes = match call.given(1) {
        None => Vec::new(),
        Some(Value::Text(text)) if text == "auto" => Vec::new(),
        Some(_) => call.integers(1)?.unwrap_or_default(),
    };
    let size = |size: &i64| match *size {
        -1 => Some(ChunkSize::Whole),
        size => usize::try_from(size).ok().filter(|size| *size > 0).map(ChunkSize::Elements),
    };
    match sizes.iter().map(size).collect::<Option<Vec<_>>>() {
        Some(sizes) => call.built(x.rechunk_as(&sizes)),
        None => Err(call.problem(1, "chunk extents are at least 1, or -1 for a whole axis")),
    }
}

fn like(call: &Call, value: Scalar) -> Outcome<Value> {
    let x = call.array(0)?;
    let problem = |error| super::super::graph_problem(&error, &call.span);
    let (shape, chunks) = (x.shape().map_err(problem)?, x.chunks().map_err(problem)?);
    let dtype = call.dtype(1)?.unwrap_or(x.dtype().map_err(problem)?);
    let sizes: Vec<ChunkSize> =
        chunks.axes().iter().map(|axis| ChunkSize::Elements(axis.longest().max(1))).collect();
    call.built(Array::full(shape, value, dtype).rechunk_as(&sizes))
}
