//! The exported functions, as `cuda.h` and NVIDIA's driver API reference describe them, and the test's own.
//!
//! # Safety
//! Their contract is the header's: a pointer is null or points to what its type says, for as long as the header
//! says. Handles may be anything: one that isn't known is answered with an error.

pub mod answers;
pub mod context;
pub mod copies;
pub mod device;
pub mod launches;
pub mod memory;
pub mod streams;
pub mod testing;

use crate::driver::Answer;
use crate::result;

/// Declares exported functions by bodies that answer with a result.
macro_rules! functions {
    ($($(#[$meta:meta])* fn $name:ident($($a:ident: $t:ty),* $(,)?) $body:block)*) => {$(
        $(#[$meta])*
        #[unsafe(no_mangle)]
        #[allow(clippy::too_many_arguments)]
        pub unsafe extern "C" fn $name($($a: $t),*) -> i32 {
            #[allow(unused_unsafe)]
            // SAFETY: the callers keep the header's contract, as the module says.
            let body = || -> $crate::driver::Answer<()> { unsafe { $body } };
            $crate::api::code(body())
        }
    )*};
}
use functions;

/// An answer as the number that the caller gets.
fn code(answer: Answer<()>) -> i32 {
    answer.err().unwrap_or(result::SUCCESS)
}

/// Gives a value to the caller.
///
/// # Safety
/// `to` is null or may be written.
unsafe fn put<T>(to: *mut T, value: T) -> Answer<()> {
    if to.is_null() {
        return Err(result::INVALID_VALUE);
    }
    // SAFETY: the caller vouches for it.
    unsafe { to.write_unaligned(value) };
    Ok(())
}
