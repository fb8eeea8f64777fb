//! Panics of functions that aren't Outcrop's own, as messages.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What `run` gives, or the message of its panic. What it was working on must not be used after a panic.
pub(crate) fn caught<T>(run: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|panic| message(&*panic))
}

/// Drops a list's items one by one. The first panic of a destructor is told; what comes after it is dropped too.
pub(crate) fn drop_all<T>(items: &mut Vec<T>) -> Result<(), String> {
    let mut told = Ok(());
    while !items.is_empty() {
        let dropped = caught(|| {
            while let Some(item) = items.pop() {
                drop(item);
            }
        });
        told = told.and(dropped);
    }
    told
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Panics;

    impl Drop for Panics {
        fn drop(&mut self) {
            panic!("not now");
        }
    }

    #[test]
    fn every_item_is_dropped_whichever_panic() {
        let mut items = vec![Some(Panics), None, Some(Panics)];
        assert_eq!(drop_all(&mut items), Err("not now".to_owned()));
        assert!(items.is_empty());
        assert_eq!(drop_all(&mut items), Ok(()));
    }
}
