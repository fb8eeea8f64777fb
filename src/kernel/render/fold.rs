//! Folding a block of the domain into a state.
//!
//! The elements that go into one result are cut into segments of at most [`SEGMENT`]; an invocation folds
//! one, and further dispatches join up to [`FAN`] partial states until one is left. How many there are
//! follows from the block's extents, so the result doesn't depend on the device.

use super::arguments::{LaunchError, ParamLayout, map_params, operands_by_input};
use super::body::Body;
use super::library::Library;
use super::state::{add, family, gets};
use super::{Launch, Pass, Shader, Slot, WORKGROUP, bindings, fill, items_shader, lanes, unravel};
use crate::dtype::DType;
use crate::graph::op::Reduction;
use crate::kernel::{Arguments, MapKernel, StateClass, StateSpec};
use crate::shape::Region;

/// Elements that one invocation folds at most.
pub const SEGMENT: usize = 256;

/// Partial states that one invocation joins at most.
pub const FAN: usize = 64;

/// Elements that one invocation counts.
const COUNTED: usize = 32;

/// The first dispatch, and the one that joins partial states.
pub(super) fn fold_shaders(map: &MapKernel, reduction: Reduction, axes: &[usize]) -> Vec<Shader> {
    if let Reduction::Count { bins } = reduction {
        return vec![count_shader(map, bins)];
    }
    let value = map.expr.output_dtype(0);
    let state = StateSpec::new(StateClass::Pair, reduction, value);
    let mut library = Library::default();
    let family = family(reduction, state, &mut library);
    let planes = vec![state.dtype; state.planes];
    let level = fill(
        include_str!("../../../kernels/wgsl/fold_level.wgsl"),
        &[("fan", &FAN.to_string()), ("gets", &gets(1, state, "params[4]"))],
    );
    let level = items_shader(&[state.dtype], &planes, Some(&family), &library, &level);

    let layout = ParamLayout::new(map);
    let body = Body::render(map, &layout, &mut library);
    let (kept, index) = places(map, &layout, axes, &body);
    let item = fill(
        include_str!("../../../kernels/wgsl/fold.wgsl"),
        &[
            ("kept", &kept),
            ("index", &index),
            ("body", &body.code),
            ("add", &guarded(&body, &add(reduction, state, value, &body.outputs[0]))),
        ],
    );
    let reads: Vec<DType> = map.inputs.iter().map(|spec| spec.dtype).collect();
    vec![items_shader(&reads, &planes, Some(&family), &library, &item), level]
}

/// The statements before and in the loop that provide `i0`, `i1`, … and `e`, where the body reads them.
fn places(map: &MapKernel, layout: &ParamLayout, axes: &[usize], body: &Body) -> (String, String) {
    let rank = map.shape.len();
    let everything = axes.len() == rank;
    if everything && !body.needs_index {
        return (String::new(), "        let e = r;\n".to_owned());
    }
    if !body.needs_index && !body.needs_position {
        return (String::new(), String::new());
    }
    let kept = unravel("kept", layout, (0..rank).filter(|axis| !axes.contains(axis)));
    let mut index = unravel("r", layout, axes.iter().copied());
    if body.needs_position {
        let position = (0..rank).fold("0u".to_owned(), |sum, axis| {
            format!("({sum} * params[{}] + i{axis})", layout.extents + axis)
        });
        index += &format!("        let e = {position};\n");
    }
    (kept, index)
}

fn guarded(body: &Body, statement: &str) -> String {
    match body.outputs.get(1) {
        Some(mask) => format!("        if ({mask}) {{ {statement} }}\n"),
        None => format!("        {statement}\n"),
    }
}

fn count_shader(map: &MapKernel, bins: u32) -> Shader {
    let mut library = Library::default();
    let layout = ParamLayout::new(map);
    let body = Body::render(map, &layout, &mut library);
    let index = if body.needs_index { unravel("e", &layout, 0..map.shape.len()) } else { String::new() };
    let reads: Vec<DType> = map.inputs.iter().map(|spec| spec.dtype).collect();
    let source = fill(
        include_str!("../../../kernels/wgsl/count.wgsl"),
        &[
            ("bindings", &bindings(&reads, "array<atomic<u32>>")),
            ("library", &library.source()),
            ("workgroup", &WORKGROUP.to_string()),
            ("index", &index),
            ("body", &body.code),
            ("mask", body.outputs.get(1).map_or("true", String::as_str)),
            ("value", &body.outputs[0]),
            ("bins", &bins.min(i32::MAX as u32).to_string()),
        ],
    );
    Shader { source, reads: reads.len() }
}

/// Results, elements folded into each, and segments of these.
fn extents(axes: &[usize], region: &Region) -> (usize, usize, usize) {
    let folded: usize = axes.iter().map(|&axis| region.shape[axis]).product();
    let kept =
        (0..region.shape.len()).filter(|axis| !axes.contains(axis)).map(|axis| region.shape[axis]).product();
    (kept, folded, folded.div_ceil(SEGMENT).max(1))
}

/// The sizes of the scratch buffers, in bytes.
pub(super) fn scratch_sizes(
    reduction: Reduction,
    axes: &[usize],
    state: StateSpec,
    region: &Region,
) -> Vec<usize> {
    let (kept, _, segments) = extents(axes, region);
    if segments == 1 || matches!(reduction, Reduction::Count { .. }) {
        return Vec::new();
    }
    let bytes = |segments: usize| (kept * segments * state.planes * state.dtype.size()).next_multiple_of(4);
    let joined = segments.div_ceil(FAN);
    if joined == 1 { vec![bytes(segments)] } else { vec![bytes(segments), bytes(joined)] }
}

pub(super) fn fold_launch(
    map: &MapKernel,
    reduction: Reduction,
    axes: &[usize],
    state: StateSpec,
    arguments: &Arguments,
) -> Result<Launch, LaunchError> {
    let reads = operands_by_input(map, arguments)?;
    let operands = reads.iter().map(|&at| Slot::Operand(at)).collect();
    let (kept, folded, mut segments) = extents(axes, &arguments.region);
    let total = arguments.region.shape.elements();
    if let Reduction::Count { .. } = reduction {
        let invocations = total.div_ceil(COUNTED);
        let mut params = vec![0, invocations as u32, 0, total as u32];
        map_params(map, arguments, &reads, &mut params)?;
        let pass = Pass { shader: 0, reads: operands, write: Slot::Output, params, invocations };
        return Ok(Launch { clears: true, passes: vec![pass], ..Launch::default() });
    }
    let scratch_bytes = scratch_sizes(reduction, axes, state, &arguments.region);
    let mut params = vec![0, (kept * segments) as u32, segments as u32, folded as u32];
    map_params(map, arguments, &reads, &mut params)?;
    let per_word = lanes(state.dtype);
    let mut write = if segments == 1 { Slot::Output } else { Slot::Scratch(0) };
    let invocations = (kept * segments).div_ceil(per_word);
    let mut passes = vec![Pass { shader: 0, reads: operands, write, params, invocations }];
    let mut to = 1;
    while segments > 1 {
        let joined = segments.div_ceil(FAN);
        let read = write;
        write = if joined == 1 { Slot::Output } else { Slot::Scratch(to) };
        let items = kept * joined;
        let params = vec![0, items as u32, joined as u32, segments as u32, (kept * segments) as u32];
        let invocations = items.div_ceil(per_word);
        passes.push(Pass { shader: 1, reads: vec![read], write, params, invocations });
        (segments, to) = (joined, 1 - to);
    }
    Ok(Launch { scratch_bytes, clears: false, passes })
}
