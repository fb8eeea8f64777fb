//! The loops over tiles, generic over what is computed at each element.

use std::marker::PhantomData;

use crate::device::host::isa::{Body, Isa};

/// Elements of a tile. Measured: 128 to 256 are best; fewer show the cost of dispatch, more leave the L1
/// cache and keep arithmetic and memory from overlapping.
pub(in crate::device::host) const TILE: usize = 256;

/// What a step works on. Scalar operands point to one element, vector operands to `n`; `to` overlaps none of
/// them, or LLVM's run-time check would pick the scalar loop.
#[derive(Clone, Copy)]
pub(in crate::device::host) struct TileArgs {
    pub to: *mut u8,
    pub operands: [*const u8; 3],
    pub n: usize,
}

/// One step's loop.
pub(in crate::device::host) type TileFn = unsafe fn(TileArgs);

/// A function of one element.
pub(super) trait Unary<T, R> {
    fn apply(x: T) -> R;
}

/// A function of two elements.
pub(super) trait Binary<T, R> {
    fn apply(x: T, y: T) -> R;
}

/// Which of two operands are scalars. At most one is: a step of scalars alone runs as vectors of one element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sides {
    Vectors,
    LeftScalar,
    RightScalar,
}

pub(super) fn unary<T: Copy, R: Copy, O: Unary<T, R>>(isa: Isa) -> TileFn {
    isa.pick::<UnaryTile<T, R, O>>()
}

pub(super) fn binary<T: Copy, R: Copy, O: Binary<T, R>>(isa: Isa, sides: Sides) -> TileFn {
    match sides {
        Sides::Vectors => isa.pick::<BinaryTile<T, R, O, false, false>>(),
        Sides::LeftScalar => isa.pick::<BinaryTile<T, R, O, true, false>>(),
        Sides::RightScalar => isa.pick::<BinaryTile<T, R, O, false, true>>(),
    }
}

/// `second(first(a, b), c)` in one pass. Each operation rounds as if alone.
pub(super) fn pair<T: Copy, P: Binary<T, T>, Q: Binary<T, T>>(isa: Isa, scalars: [bool; 2]) -> TileFn {
    match scalars {
        [false, false] => isa.pick::<PairTile<T, P, Q, false, false>>(),
        [false, true] => isa.pick::<PairTile<T, P, Q, false, true>>(),
        [true, false] => isa.pick::<PairTile<T, P, Q, true, false>>(),
        [true, true] => isa.pick::<PairTile<T, P, Q, true, true>>(),
    }
}

/// `c ? a : b`, by the condition's bytes.
pub(super) fn select<T: Copy>(isa: Isa, scalars: [bool; 3]) -> TileFn {
    match scalars {
        [false, false, false] => isa.pick::<SelectTile<T, false, false, false>>(),
        [false, false, true] => isa.pick::<SelectTile<T, false, false, true>>(),
        [false, true, false] => isa.pick::<SelectTile<T, false, true, false>>(),
        [false, true, true] => isa.pick::<SelectTile<T, false, true, true>>(),
        [true, false, false] => isa.pick::<SelectTile<T, true, false, false>>(),
        [true, false, true] => isa.pick::<SelectTile<T, true, false, true>>(),
        [true, true, false] => isa.pick::<SelectTile<T, true, true, false>>(),
        [true, true, true] => isa.pick::<SelectTile<T, true, true, true>>(),
    }
}

struct UnaryTile<T, R, O>(PhantomData<(T, R, O)>);

impl<T: Copy, R: Copy, O: Unary<T, R>> Body for UnaryTile<T, R, O> {
    type Args = TileArgs;

    #[inline(always)]
    unsafe fn run(args: TileArgs) {
        let (to, a) = (args.to.cast::<R>(), args.operands[0].cast::<T>());
        for i in 0..args.n {
            // SAFETY: see `TileArgs`.
            unsafe { to.add(i).write(O::apply(a.add(i).read())) };
        }
    }
}

struct BinaryTile<T, R, O, const A: bool, const B: bool>(PhantomData<(T, R, O)>);

impl<T: Copy, R: Copy, O: Binary<T, R>, const A: bool, const B: bool> Body for BinaryTile<T, R, O, A, B> {
    type Args = TileArgs;

    #[inline(always)]
    unsafe fn run(args: TileArgs) {
        let to = args.to.cast::<R>();
        let [a, b, _] = args.operands.map(<*const u8>::cast::<T>);
        // SAFETY: see `TileArgs`; `n` is at least 1.
        unsafe {
            let (a0, b0) = (a.read(), b.read());
            for i in 0..args.n {
                let x = if A { a0 } else { a.add(i).read() };
                let y = if B { b0 } else { b.add(i).read() };
                to.add(i).write(O::apply(x, y));
            }
        }
    }
}

struct PairTile<T, P, Q, const B: bool, const C: bool>(PhantomData<(T, P, Q)>);

impl<T: Copy, P: Binary<T, T>, Q: Binary<T, T>, const B: bool, const C: bool> Body
    for PairTile<T, P, Q, B, C>
{
    type Args = TileArgs;

    #[inline(always)]
    unsafe fn run(args: TileArgs) {
        let to = args.to.cast::<T>();
        let [a, b, c] = args.operands.map(<*const u8>::cast::<T>);
        // SAFETY: see `TileArgs`; `n` is at least 1.
        unsafe {
            let (b0, c0) = (b.read(), c.read());
            for i in 0..args.n {
                let y = if B { b0 } else { b.add(i).read() };
                let z = if C { c0 } else { c.add(i).read() };
                to.add(i).write(Q::apply(P::apply(a.add(i).read(), y), z));
            }
        }
    }
}

struct SelectTile<T, const A: bool, const B: bool, const C: bool>(PhantomData<T>);

impl<T: Copy, const A: bool, const B: bool, const C: bool> Body for SelectTile<T, A, B, C> {
    type Args = TileArgs;

    #[inline(always)]
    unsafe fn run(args: TileArgs) {
        let to = args.to.cast::<T>();
        let [condition, a, b] = args.operands;
        let (a, b) = (a.cast::<T>(), b.cast::<T>());
        // SAFETY: see `TileArgs`; `n` is at least 1.
        unsafe {
            let (c0, a0, b0) = (condition.read(), a.read(), b.read());
            for i in 0..args.n {
                let c = if A { c0 } else { condition.add(i).read() };
                let x = if B { a0 } else { a.add(i).read() };
                let y = if C { b0 } else { b.add(i).read() };
                to.add(i).write(if c != 0 { x } else { y });
            }
        }
    }
}
