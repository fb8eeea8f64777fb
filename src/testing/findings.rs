//! Breaches while they are gathered.

use std::fmt::Display;

use super::{Breach, Breaches};
use crate::panics;

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
        let breach = |message| self.breach(clause, format!("{what} panicked: {message}"));
        panics::caught(body).map_err(breach).ok()
    }

    pub(super) fn into_result(self) -> Result<(), Breaches> {
        if self.0.is_empty() { Ok(()) } else { Err(Breaches(self.0)) }
    }
}
