//! One emulated device as tests use it: a safe handle over the exported functions.

// Each test binary uses its own part of this.
#![allow(dead_code)]

use std::ffi::{CString, c_void};
use std::sync::Once;

use cuda_driver::api::{answers, context, copies, launches, memory, streams, testing};
use cuda_driver::result;

/// Numbers of [`cuda_driver::driver::faults::Kind`].
pub const OUT_OF_MEMORY: u32 = 1;
pub const LAUNCH: u32 = 2;
pub const LOST: u32 = 3;
pub const REFUSAL: u32 = 4;
pub const COPY: u32 = 5;

/// Calls an exported function.
macro_rules! call {
    ($function:path $(, $a:expr)* $(,)?) => {
        // SAFETY: the pointers are of values that live across the call.
        unsafe { $function($($a),*) }
    };
}
#[allow(unused_imports)]
pub(crate) use call;

/// Starts the driver with variables in place of the environment's; once for a test binary.
pub fn start(variables: &[(&str, &str)]) {
    static START: Once = Once::new();
    START.call_once(|| {
        for (name, value) in variables {
            let [name, value] = [name, value].map(|text| CString::new(*text).expect("no zero"));
            assert_eq!(call!(testing::outcrop_cuda_configure, name.as_ptr(), value.as_ptr()), 0);
        }
        assert_eq!(call!(answers::cuInit, 0), 0);
    });
}

/// A device's context, current on this thread, and a stream of its own.
pub struct Card {
    pub ordinal: i32,
    pub context: usize,
    pub stream: usize,
}

impl Card {
    pub fn open(ordinal: i32) -> Card {
        let mut card = Card { ordinal, context: 0, stream: 0 };
        assert_eq!(call!(context::cuDevicePrimaryCtxRetain, &mut card.context, ordinal), 0);
        assert_eq!(call!(context::cuCtxSetCurrent, card.context), 0);
        card.stream = card.stream();
        card
    }

    /// A stream that doesn't wait for the null stream.
    pub fn stream(&self) -> usize {
        let mut stream = 0;
        assert_eq!(call!(streams::cuStreamCreate, &mut stream, 1), 0);
        stream
    }

    pub fn event(&self) -> usize {
        let mut event = 0;
        assert_eq!(call!(streams::cuEventCreate, &mut event, 0), 0);
        event
    }

    pub fn take(&self, bytes: usize) -> Result<u64, i32> {
        let mut address = 0;
        match call!(memory::cuMemAlloc_v2, &mut address, bytes) {
            0 => Ok(address),
            code => Err(code),
        }
    }

    pub fn free(&self, address: u64) {
        assert_eq!(call!(memory::cuMemFree_v2, address), 0);
    }

    /// Memory of the device with these values.
    pub fn upload<T: Copy>(&self, values: &[T]) -> u64 {
        let bytes = size_of_val(values);
        let address = self.take(bytes.max(1)).expect("memory");
        assert_eq!(call!(copies::cuMemcpyHtoD_v2, address, values.as_ptr() as usize, bytes), 0);
        address
    }

    /// Memory that nobody has written.
    pub fn fresh<T>(&self, count: usize) -> u64 {
        self.take((count * size_of::<T>()).max(1)).expect("memory")
    }

    pub fn download<T: Copy + Default>(&self, address: u64, count: usize) -> Vec<T> {
        assert_eq!(self.synchronize(), 0);
        let mut values = vec![T::default(); count];
        let bytes = count * size_of::<T>();
        assert_eq!(call!(copies::cuMemcpyDtoH_v2, values.as_mut_ptr() as usize, address, bytes), 0);
        values
    }

    pub fn synchronize(&self) -> i32 {
        call!(context::cuCtxSynchronize)
    }

    pub fn load(&self, text: &str) -> Result<usize, i32> {
        let (mut module, text) = (0, CString::new(text).expect("no zero"));
        match call!(launches::cuModuleLoadData, &mut module, text.as_ptr()) {
            0 => Ok(module),
            code => Err(code),
        }
    }

    pub fn kernel(&self, module: usize, name: &str) -> usize {
        let (mut function, text) = (0, CString::new(name).expect("no zero"));
        let code = call!(launches::cuModuleGetFunction, &mut function, module, text.as_ptr());
        assert_eq!(code, 0, "{name}");
        function
    }

    /// Launches on the card's stream and gives the answer.
    pub fn launch(
        &self,
        kernel: usize,
        grid: [u32; 3],
        block: [u32; 3],
        shared: u32,
        arguments: &[Argument],
    ) -> i32 {
        self.launch_on(self.stream, kernel, (grid, block, shared), arguments)
    }

    pub fn launch_on(
        &self,
        stream: usize,
        kernel: usize,
        ([x, y, z], [u, v, w], shared): ([u32; 3], [u32; 3], u32),
        arguments: &[Argument],
    ) -> i32 {
        let pointers: Vec<*const u8> = arguments.iter().map(|argument| argument.0.as_ptr()).collect();
        let none: *mut *mut c_void = std::ptr::null_mut();
        call!(launches::cuLaunchKernel, kernel, x, y, z, u, v, w, shared, stream, pointers.as_ptr(), none)
    }

    /// Launches enough blocks of 128 threads for `n` and waits; all must go well.
    pub fn map(&self, kernel: usize, n: usize, arguments: &[Argument]) {
        let blocks = (n as u32).div_ceil(128).max(1);
        assert_eq!(self.launch(kernel, [blocks, 1, 1], [128, 1, 1], 0, arguments), 0);
        assert_eq!(self.synchronize(), 0);
    }

    pub fn fault(&self, kind: u32, count: u64) {
        assert_eq!(call!(testing::outcrop_cuda_fault, self.ordinal, kind, count), 0);
    }

    pub fn live_bytes(&self) -> u64 {
        testing::outcrop_cuda_live_bytes_of(self.ordinal)
    }
}

impl Drop for Card {
    fn drop(&mut self) {
        let code = call!(context::cuDevicePrimaryCtxRelease_v2, self.ordinal);
        assert!(code == result::SUCCESS || std::thread::panicking());
    }
}

/// A kernel's argument, as bytes.
pub struct Argument(Vec<u8>);

macro_rules! arguments {
    ($($t:ty),*) => {$(
        impl From<$t> for Argument {
            fn from(value: $t) -> Argument {
                Argument(value.to_le_bytes().to_vec())
            }
        }
    )*};
}
arguments!(u64, i64, u32, i32, f32, f64);

impl From<Vec<u8>> for Argument {
    fn from(bytes: Vec<u8>) -> Argument {
        Argument(bytes)
    }
}

/// `args![x, y, 3u32]`
#[allow(unused_macros)]
macro_rules! args {
    ($($a:expr),* $(,)?) => { &[$(crate::card::Argument::from($a)),*] };
}
#[allow(unused_imports)]
pub(crate) use args;

/// Numbers from a seed (xorshift64*, Vigna 2016).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(2) + 1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Any number; one in eight is of those that go wrong.
    pub fn f64(&mut self) -> f64 {
        const AWKWARD: [f64; 10] =
            [0.0, -0.0, 1.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1e-310, 2147483647.5, -9.3e18, 0.5];
        let bits = self.next();
        match bits % 8 {
            0 => AWKWARD[(bits >> 8) as usize % AWKWARD.len()],
            1 => f64::from_bits(self.next()),
            _ => ((bits >> 11) as f64 / (1u64 << 52) as f64 - 1.0) * 2f64.powi((bits >> 3 & 15) as i32 - 3),
        }
    }

    pub fn f32(&mut self) -> f32 {
        let value = self.f64();
        if self.next().is_multiple_of(16) { f32::from_bits(self.next() as u32) } else { value as f32 }
    }

    /// From -1 to 1.
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
}
