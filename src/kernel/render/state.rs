//! States of reductions: their arithmetic, how they combine, and how they become results.

use std::fmt::Write;

use super::arguments::LaunchError;
use super::cast::cast;
use super::element::{literal, load, value_type};
use super::functions::binary;
use super::library::Library;
use super::{Launch, Pass, Shader, Slot, WORKGROUP, bindings, elements, fill, items_shader, lanes};
use crate::dtype::{DType, Scalar};
use crate::graph::expr_ops::BinaryOp;
use crate::graph::op::{Reduction, SPLIT_EVERY};
use crate::kernel::{Arguments, StateSpec};

/// The declarations of `State` and `Fold` and their functions.
pub(super) fn family(reduction: Reduction, state: StateSpec, library: &mut Library) -> String {
    let ty = value_type(state.dtype);
    let fields: String = (0..state.planes).map(|p| format!("p{p}: {ty}, ")).collect();
    let text = match reduction {
        Reduction::Sum if state.dtype.is_float() => include_str!("../../../kernels/wgsl/state_sum.wgsl"),
        Reduction::Mean => include_str!("../../../kernels/wgsl/state_mean.wgsl"),
        Reduction::Var { .. } | Reduction::Std { .. } => {
            include_str!("../../../kernels/wgsl/state_moments.wgsl")
        }
        _ => include_str!("../../../kernels/wgsl/state_single.wgsl"),
    };
    let op = match reduction {
        Reduction::Min => BinaryOp::Minimum,
        Reduction::Max => BinaryOp::Maximum,
        _ => BinaryOp::Add,
    };
    if is_paired(reduction, state) {
        library.add_pair(state.dtype);
    }
    let join = binary(op, state.dtype, "a", "b", library);
    let identity = identity(reduction, state.dtype);
    format!("struct State {{ {fields}}}\n")
        + &fill(text, &[("T", ty), ("identity", &identity), ("join", &join)])
}

/// Whether the state is made of sums of two floats.
pub(super) fn is_paired(reduction: Reduction, state: StateSpec) -> bool {
    match reduction {
        Reduction::Sum => state.dtype.is_float(),
        Reduction::Mean | Reduction::Var { .. } | Reduction::Std { .. } => true,
        Reduction::Min | Reduction::Max | Reduction::Count { .. } => false,
    }
}

/// The value that changes nothing.
fn identity(reduction: Reduction, dtype: DType) -> String {
    let (least, greatest) = match dtype {
        DType::Bool => (Scalar::Bool(false), Scalar::Bool(true)),
        DType::U8 => (Scalar::Int(0), Scalar::Int(u8::MAX.into())),
        DType::U32 => (Scalar::Int(0), Scalar::Int(u32::MAX.into())),
        DType::I16 => (Scalar::Int(i16::MIN.into()), Scalar::Int(i16::MAX.into())),
        DType::I32 => (Scalar::Int(i32::MIN.into()), Scalar::Int(i32::MAX.into())),
        DType::I64 => (Scalar::Int(i64::MIN), Scalar::Int(i64::MAX)),
        DType::F16 | DType::F32 | DType::F64 => {
            (Scalar::Float(f64::NEG_INFINITY), Scalar::Float(f64::INFINITY))
        }
    };
    match reduction {
        Reduction::Min => literal(dtype, greatest),
        Reduction::Max => literal(dtype, least),
        _ => literal(dtype, Scalar::Int(0)),
    }
}

/// Statements that add `value`, a name of type `dtype`, to `fold`.
pub(super) fn add(reduction: Reduction, state: StateSpec, dtype: DType, value: &str) -> String {
    if !is_paired(reduction, state) {
        return format!("fold_add(&fold, {});", cast(dtype, state.dtype, value));
    }
    let pair = match dtype {
        DType::F32 => format!("vec2f({value}, 0.0f)"),
        DType::F64 => format!("vec2<f64>({value}, 0.0lf)"),
        DType::Bool | DType::U8 | DType::I16 => format!("vec2f(f32({value}), 0.0f)"),
        // Both parts are exact.
        DType::I32 => format!("oc_pair_sum_f32(f32({value} >> 12u) * 4096.0f, f32({value} & 4095i))"),
        DType::U32 => format!("oc_pair_sum_f32(f32({value} >> 12u) * 4096.0f, f32({value} & 4095u))"),
        // The high part rounds to 24 bits; what it misses, at most 39 bits, follows.
        _ => format!(
            "oc_pair_sum_f32(f32({value} >> 24u) * 16777216.0f, \
             f32(({value} >> 24u) - i64(f32({value} >> 24u))) * 16777216.0f + f32({value} & 16777215li))"
        ),
    };
    format!("fold_add(&fold, {pair});")
}

/// `get0(at)`, `get1(at)`, …: the state at item `at` of each buffer read; `stride` is the distance of planes.
pub(super) fn gets(reads: usize, state: StateSpec, stride: &str) -> String {
    let mut text = String::new();
    for i in 0..reads {
        let mut planes = String::new();
        let mut values = String::new();
        for p in 0..state.planes {
            let _ = writeln!(planes, "    let a{p} = {p}u * {stride} + at;");
            let _ = write!(values, "{}, ", load(state.dtype, &format!("x{i}"), &format!("a{p}")));
        }
        let _ = write!(text, "fn get{i}(at: u32) -> State {{\n{planes}    return State({values});\n}}\n");
    }
    text
}

pub(super) fn combine_shader(reduction: Reduction, state: StateSpec) -> Shader {
    let mut library = Library::default();
    let family = family(reduction, state, &mut library);
    let mut item = gets(SPLIT_EVERY, state, "params[1]");
    item += "fn item_at(item: u32) -> State {\n    var state = get0(item);\n";
    for i in 1..SPLIT_EVERY {
        let _ = writeln!(item, "    if (params[2] > {i}u) {{ state = combine(state, get{i}(item)); }}");
    }
    item += "    return state;\n}";
    let planes = vec![state.dtype; state.planes];
    items_shader(&[state.dtype; SPLIT_EVERY], &planes, Some(&family), &library, &item)
}

pub(super) fn combine_launch(state: StateSpec, arguments: &Arguments) -> Result<Launch, LaunchError> {
    let found = arguments.operands.len();
    if !(1..=SPLIT_EVERY).contains(&found) {
        return Err(LaunchError::States { found, most: SPLIT_EVERY });
    }
    let items = elements(&arguments.output) / state.planes;
    // Every binding needs a buffer; those past the last operand aren't read.
    let reads = (0..SPLIT_EVERY).map(|i| Slot::Operand(i.min(found - 1))).collect();
    let params = vec![0, items as u32, found as u32];
    let invocations = items.div_ceil(lanes(state.dtype));
    let pass = Pass { shader: 0, reads, write: Slot::Output, params, invocations };
    Ok(Launch { passes: vec![pass], ..Launch::default() })
}

pub(super) fn finish_shader(reduction: Reduction, state: StateSpec, output: DType) -> Shader {
    if let Reduction::Count { .. } = reduction {
        return finish_count();
    }
    let mut library = Library::default();
    let family = family(reduction, state, &mut library);
    // `f16` is rounded from `f32`.
    let is_half = output == DType::F16;
    let wide = if is_half { DType::F32 } else { output };
    let (ty, name) = (value_type(wide), if is_half { "result_at" } else { "item_at" });
    let result = result(reduction, state.dtype, wide);
    let gets = gets(1, state, "params[1]");
    let mut item =
        format!("{gets}fn {name}(item: u32) -> {ty} {{\n    let s = get0(item);\n    {result}\n}}");
    if is_half {
        library.add_cast(wide, output);
        let rounded = cast(wide, output, "result_at(item)");
        let _ = write!(item, "\nfn item_at(item: u32) -> {} {{ return {rounded}; }}", value_type(output));
    }
    // The value is no struct, so the state's declarations go with the item's.
    items_shader(&[state.dtype], &[output], None, &library, &(family + &item))
}

/// Counts become `i64` as two words, so that no 64-bit integers are needed.
fn finish_count() -> Shader {
    let source = fill(
        include_str!("../../../kernels/wgsl/items.wgsl"),
        &[
            ("bindings", &bindings(&[DType::U32], "array<vec2u>")),
            ("library", ""),
            ("state", ""),
            ("item_at", ""),
            ("workgroup", &WORKGROUP.to_string()),
            ("store", "        output[item] = vec2u(x0[item], 0u);"),
            ("lanes", "1"),
        ],
    );
    Shader { source, reads: 1 }
}

/// The statements that return the result of state `s`.
fn result(reduction: Reduction, state: DType, output: DType) -> String {
    // Where the result is wider than the parts, one value of it holds both.
    let is_wider = state != output;
    let pair = |high: usize| {
        let low = high + 1;
        match is_wider {
            true => format!("(f64(s.p{high}) + f64(s.p{low}))"),
            false => format!("vec2<{state}>(s.p{high}, s.p{low})"),
        }
    };
    let divided = |a: &str, b: &str| match is_wider {
        true => format!("let quotient = {a} / {b};"),
        false => {
            format!("let pair = oc_pair_divide_{state}({a}, {b});\n    let quotient = pair.x + pair.y;")
        }
    };
    let nan = literal(output, Scalar::Float(f64::NAN));
    let infinity = literal(output, Scalar::Float(f64::INFINITY));
    match reduction {
        Reduction::Sum if output.is_float() => "return s.p0 + s.p1;".to_owned(),
        Reduction::Sum | Reduction::Min | Reduction::Max | Reduction::Count { .. } => {
            "return s.p0;".to_owned()
        }
        Reduction::Mean => {
            let empty = format!("if (s.p2 == {state}(0)) {{ return {nan}; }}\n    ");
            format!("{empty}{}\n    return quotient;", divided(&pair(0), &pair(2)))
        }
        Reduction::Var { ddof } | Reduction::Std { ddof } => {
            let (rest, high) = match is_wider {
                true => (format!("{} - f64({ddof}u)", pair(0)), "rest"),
                false => {
                    let less = format!("vec2<{state}>(-{state}({ddof}u), {state}(0))");
                    (format!("oc_pair_add_{state}({}, {less})", pair(0)), "rest.x")
                }
            };
            let spread = format!("s.p4 > {state}(0)");
            let none = format!("if ({high} <= 0) {{ return select({infinity}, {nan}, !({spread})); }}");
            let quotient = divided(&pair(4), "rest");
            let value =
                if matches!(reduction, Reduction::Std { .. }) { "sqrt(quotient)" } else { "quotient" };
            format!("let rest = {rest};\n    {none}\n    {quotient}\n    return {value};")
        }
    }
}

pub(super) fn finish_launch(output: DType, arguments: &Arguments) -> Result<Launch, LaunchError> {
    let found = arguments.operands.len();
    if found != 1 {
        return Err(LaunchError::States { found, most: 1 });
    }
    let items = elements(&arguments.output);
    let pass = Pass {
        shader: 0,
        reads: vec![Slot::Operand(0)],
        write: Slot::Output,
        params: vec![0, items as u32],
        invocations: items.div_ceil(lanes(output)),
    };
    Ok(Launch { passes: vec![pass], ..Launch::default() })
}
