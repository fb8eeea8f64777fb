//! Kernels to programs of the host.

use std::ops::Range;

use super::copy;
use super::copy::copy_pieces;
use super::isa::Isa;
use super::launch::{Failure, byte_strides, pointer};
use super::matmul::MatMul;
use super::reduce::{Fold, combine, finish};
use super::split::BYTE;
use super::vm::tiles::TILE;
use super::vm::{Code, Frame, lower};
use crate::device::contract::{Compiler, DeviceError, Program};
use crate::graph::op::Reduction;
use crate::kernel::{Arguments, Kernel, MapKernel, StateClass, StateSpec};

/// The host's compiler: an expression becomes linear code over tiles, for one instruction set.
pub struct HostCompiler {
    isa: Isa,
}

impl HostCompiler {
    /// A compiler for an instruction set that this machine has.
    pub(super) fn new(isa: Isa) -> Self {
        HostCompiler { isa }
    }
}

impl Compiler for HostCompiler {
    fn compile(&self, kernel: &Kernel) -> Result<Program, DeviceError> {
        HostProgram::new(kernel, self.isa).map(Program::new).map_err(|message| DeviceError::Compile {
            device: "host".to_owned(),
            kernel: kernel.name(),
            message,
        })
    }
}

/// A compiled map.
pub(super) struct Map {
    code: Code,
    kernel: MapKernel,
}

/// A compiled kernel. Threads share it: a launch keeps what it needs on its own thread.
pub(super) enum HostProgram {
    Map(Box<Map>),
    Fold(Box<Fold>),
    Combine { reduction: Reduction, state: StateSpec },
    Finish { reduction: Reduction, state: StateSpec, isa: Isa },
    MatMul(MatMul),
    Copy,
}

impl HostProgram {
    fn new(kernel: &Kernel, isa: Isa) -> Result<Self, String> {
        Ok(match kernel {
            Kernel::Map(map) => {
                let code = lower(map, isa)?;
                if code.outputs.len() != 1 {
                    return Err(format!("a map has one output, not {}", code.outputs.len()));
                }
                HostProgram::Map(Box::new(Map { code, kernel: map.clone() }))
            }
            Kernel::Fold { map, reduction, axes, state } => {
                HostProgram::Fold(Box::new(Fold::new(map, *reduction, axes, *state, isa)?))
            }
            Kernel::Combine { reduction, state } => {
                HostProgram::Combine { reduction: *reduction, state: doubles(*state)? }
            }
            Kernel::Finish { reduction, state, .. } => {
                HostProgram::Finish { reduction: *reduction, state: doubles(*state)?, isa }
            }
            Kernel::MatMul { dtype } => HostProgram::MatMul(MatMul::new(*dtype, isa)?),
            Kernel::Source(source) => return Err(format!("'{}' is a kernel for other devices", source.name)),
            Kernel::Copy { .. } => HostProgram::Copy,
        })
    }

    pub fn launch(&self, arguments: &Arguments) -> Result<(), Failure> {
        match self {
            HostProgram::Fold(fold) => fold.run(arguments),
            _ => self.span(arguments, 0..self.work(arguments).0),
        }
    }

    /// Does a span of the elements that [`HostProgram::work`] counts, in C order. A fold has no spans.
    pub fn span(&self, arguments: &Arguments, span: Range<usize>) -> Result<(), Failure> {
        match self {
            HostProgram::Map(map) => run_map(&map.code, &map.kernel, arguments, span),
            HostProgram::Fold(_) => Err(Failure("a fold isn't done span by span".to_owned())),
            HostProgram::Combine { reduction, state } => combine(*reduction, *state, arguments, span),
            HostProgram::Finish { reduction, state, isa } => {
                finish(*reduction, *state, arguments, *isa, span)
            }
            HostProgram::MatMul(matmul) => matmul.span(arguments, span),
            HostProgram::Copy => copy_pieces(arguments, span),
        }
    }

    /// How many elements a launch has: of the domain, cells, elements to copy; and about how many picoseconds each takes.
    pub fn work(&self, arguments: &Arguments) -> (usize, usize) {
        let (domain, output) = (arguments.region.shape.elements(), &arguments.output);
        match self {
            HostProgram::Map(map) => (domain, map.code.picoseconds() + BYTE * output.dtype().size()),
            HostProgram::Fold(fold) => (domain, fold.picoseconds()),
            HostProgram::Combine { state, .. } => {
                let planes = state.planes * (arguments.operands.len() + 1);
                (output.shape().elements() / state.planes, BYTE * state.dtype.size() * planes)
            }
            HostProgram::Finish { state, .. } => {
                let bytes = state.dtype.size() * state.planes + output.dtype().size();
                (output.shape().elements(), BYTE * bytes)
            }
            HostProgram::MatMul(_) => (output.shape().elements(), MatMul::picoseconds(arguments)),
            HostProgram::Copy => {
                let elements = arguments.pieces.iter().map(|piece| piece.shape.elements()).sum();
                (elements, 2 * BYTE * output.dtype().size())
            }
        }
    }
}

fn doubles(state: StateSpec) -> Result<StateSpec, String> {
    match state.class {
        StateClass::Double => Ok(state),
        StateClass::Pair => Err("the host keeps states as doubles, not as sums of two".to_owned()),
    }
}

fn run_map(code: &Code, map: &MapKernel, arguments: &Arguments, span: Range<usize>) -> Result<(), Failure> {
    let output = &arguments.output;
    let size = output.dtype().size();
    if output.dtype() != code.outputs[0] || *output.shape() != arguments.region.shape {
        let (got, dtype) = (output.shape(), output.dtype());
        let (want, own) = (&arguments.region.shape, code.outputs[0]);
        return Err(Failure(format!("the output is {dtype} {got}, not {own} {want}")));
    }
    let start = pointer(output)?;
    let mut frame = Frame::bind(code, map, arguments, &[byte_strides(output)])?;
    frame.keep_to(span);
    let stride = frame.extra_stride(0);
    let is_dense = stride == size as isize;
    let run = if is_dense { frame.run_length() } else { TILE };
    while frame.walk().has_row() {
        let row = start.wrapping_offset(frame.extra_offset(0));
        frame.begin_row();
        let part = frame.walk().row();
        for at in part.clone().step_by(run) {
            let n = run.min(part.end - at);
            let to = row.wrapping_offset(at as isize * stride);
            if is_dense {
                frame.tile(at, n, &[to]);
            } else {
                let tile = frame.output_tile(0);
                frame.tile(at, n, &[tile]);
                // SAFETY: the tile holds `n` elements, and the output has as many at its own step.
                unsafe { copy::strided_run(to, stride, tile, size as isize, n, size) };
            }
        }
        frame.next_row();
    }
    Ok(())
}
