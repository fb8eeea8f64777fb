//! Kernels of one's own, as text.
//!
//! An operation that has one ([`CustomOp::device_source`](crate::graph::CustomOp::device_source)) runs on devices whose
//! language it is written in, under the same annotations as any other layer. It is compiled before anything of the run
//! begins; what the compiler says, with its lines, names the layer.
//!
//! **Both languages.** One launch makes one block. The operands are the blocks that the rule reads, in its order, each
//! contiguous in C order; the output block is contiguous, and all of it has to be written. Whoever reads beyond an
//! operand's end, or writes beyond the output's, loses the device on CUDA, and gets nothing or somewhere else's bytes of
//! its own buffers through wgpu.
//!
//! **WGSL.** The entry point is `main`, with `@workgroup_size(256)`. Group 0 binds the operands at `0`, `1`, … as
//! `var<storage, read>`, then the output as `var<storage, read_write>`, then `params: array<u32>`: 0, the elements of the
//! output, its rank, its extents. There is an invocation for each element, and some more:
//! `id.x + id.y * groups.x * 256u` is its number. Elements lie as [`wgpu`](crate::device) stores them: `u8` and `bool`
//! four, `i16` and `f16` two to a word.
//!
//! **CUDA C++.** `extern "C" __global__ void outcrop_kernel(const A *a, const B *b, …, T *output, unsigned long long
//! elements)`, with blocks of 256 threads, one thread for each element and some more.

/// The texts of a kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceSource {
    /// What messages call it.
    pub name: String,
    /// How many blocks each launch reads.
    pub operands: usize,
    /// In WGSL, for wgpu.
    pub wgsl: Option<String>,
    /// In CUDA C++.
    pub cuda: Option<String>,
}
