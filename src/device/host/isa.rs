//! Instruction sets: every inner loop is written once and compiled for each of them.
//!
//! A `Body` is generic, `#[inline(always)]` Rust that LLVM vectorises. `Isa::pick` gives the address of
//! the copy that was compiled for the wanted instruction set, so that choosing costs nothing at run time. All
//! copies give the same bits: fused multiply-adds are written as such, and Rust never contracts others.

/// An instruction set that loops are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isa {
    /// What the target always has.
    Portable,
    /// 256-bit vectors and fused multiply-add.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// 512-bit vectors.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

/// A loop that is compiled for every instruction set.
pub(super) trait Body {
    /// What it works on.
    type Args: Copy;

    /// Runs the loop. Implementations must be `#[inline(always)]`.
    ///
    /// # Safety
    /// The pointers in `args` are valid for what the implementation says.
    unsafe fn run(args: Self::Args);
}

impl Isa {
    /// The best that this machine has.
    pub fn detect() -> Isa {
        *Self::available().last().unwrap_or(&Isa::Portable)
    }

    /// All that this machine has, the best last.
    pub fn available() -> Vec<Isa> {
        #[allow(unused_mut)]
        let mut list = vec![Isa::Portable];
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                list.push(Isa::Avx2);
            }
            let has_512 = is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512vl");
            if has_512 && list.len() > 1 {
                list.push(Isa::Avx512);
            }
        }
        list
    }

    /// The copy of a loop for this instruction set. Callers got `self` from [`Isa::available`].
    pub(super) fn pick<B: Body>(self) -> unsafe fn(B::Args) {
        match self {
            Isa::Portable => portable::<B>,
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => avx2::<B>,
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => avx512::<B>,
        }
    }
}

unsafe fn portable<B: Body>(args: B::Args) {
    // SAFETY: the caller keeps the body's contract.
    unsafe { B::run(args) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn avx2<B: Body>(args: B::Args) {
    // SAFETY: the caller keeps the body's contract.
    unsafe { B::run(args) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,avx512f,avx512dq,avx512bw,avx512vl")]
unsafe fn avx512<B: Body>(args: B::Args) {
    // SAFETY: the caller keeps the body's contract.
    unsafe { B::run(args) }
}
