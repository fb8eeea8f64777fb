//! Breaches while they are gathered.

use std::any::Any;
use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::{Breach, Breaches};

#[derive(Default)]
pub(super) struct Findings(Vec<Breach>);

impl Findings {
    /// Notes a breach, once.
    pub(super) fn breach(&mut self, clause: u8, problem: impl Into<String>) {
        let breach = Breach { clause, problem: problem.into() };
        if !self.0.contains(&breach) {
            self.0.push(breach);
        }
    }

    /// Notes a breach unless `holds`.
    pub(super) fn require(&mut self, clause: u8, holds: bool, problem: impl FnOnce() -> String) {
        if !holds {
            self.breach(clause, problem());
        }
    }

    /// What `body` gives; an error and a panic are breaches.
    pub(super) fn attempt<T, E: Display>(
        &mut self,
        clause: u8,
        what: &str,
        body: impl FnOnce() -> Result<T, E>,
    ) -> Option<T> {
        match self.caught(clause, what, body)? {
            Ok(value) => Some(value),
            Err(error) => {
                self.breach(clause, format!("{what} failed: {error}"));
                None
            }
        }
    }

    /// What `body` gives, which may be an error; a panic is a breach.
    pub(super) fn caught<T>(&mut self, clause: u8, what: &str, body: impl FnOnce() -> T) -> Option<T> {
        match catch_unwind(AssertUnwindSafe(body)) {
            Ok(value) => Some(value),
            Err(panic) => {
                self.breach(clause, format!("{what} panicked: {}", message(&*panic)));
                None
            }
        }
    }

    pub(super) fn into_result(self) -> Result<(), Breaches> {
        if self.0.is_empty() { Ok(()) } else { Err(Breaches(self.0)) }
    }
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}
