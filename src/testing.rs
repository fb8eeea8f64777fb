//! For the tests of third parties: where a collection type breaks the contract.
//!
//! ```
//! use outcrop::collections::Array;
//! use outcrop::session::Session;
//! use outcrop::testing::check_collection;
//!
//! let session = Session::new(Default::default());
//! let x = Array::arange(0.0, 1.0, 10).rechunk(&[4]);
//! check_collection(&(&x * 2.0), &session, PartialEq::eq)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A breach names its clause of the [contract](crate::collections::contract), and says what was found:
//!
//! ```text
//! the collection contract is broken:
//! clause 4 (rebuild): …
//! ```
//!
//! # What it can't see
//!
//! - Of tokens (clause 7), whether they differ for content that differs only in what the collection itself holds: it can
//!   make other graphs, but no other collection.
//! - Of laziness (clause 9), work that goes past the graph: it puts layers under the collection that tell when somebody
//!   computes them.
//! - Of optimisers (clause 8), whether one that gives an equal value here does so for every graph.

mod clauses;
mod copies;
mod findings;
mod generic;

use std::fmt;

use crate::collections::{Collection, Runner};

use clauses::Subject;
use findings::Findings;

/// Checks a type by one of its collections: every clause of the [contract](crate::collections::contract), then each
/// generic function over it. `equal` says whether two of its values are; for values that can tell it is
/// `PartialEq::eq`.
///
/// The collection is computed about ten times and its keys are written out, so take a small one: several values, and
/// where the type can have them, several names and annotations. A panic in one of its methods is a breach like any
/// other; the process's panic hook hears of it.
///
/// # Errors
/// Every breach that was found. What can't be tried because of an earlier one is left out.
pub fn check_collection<C, R>(
    collection: &C,
    runner: &R,
    equal: impl Fn(&C::Value, &C::Value) -> bool,
) -> Result<(), Breaches>
where
    C: Collection,
    R: Runner,
    R::Error: fmt::Display,
{
    let mut findings = Findings::default();
    if let Some(subject) = Subject::of(collection, runner, &equal, &mut findings) {
        // Where it can't even be computed, each generic function would only say so again.
        if clauses::check(&subject, &mut findings) {
            generic::check(&subject, &mut findings);
        }
    }
    findings.into_result()
}

/// Where a type breaks the contract.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Breach {
    /// The clause, as numbered in [`contract`](crate::collections::contract).
    pub clause: u8,
    /// What is wrong, in words.
    pub problem: String,
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const NAMES: [&str; 9] =
            ["graph", "keys", "names", "rebuild", "refusal", "finalise", "token", "optimiser", "laziness"];
        let name = NAMES.get(usize::from(self.clause).wrapping_sub(1)).unwrap_or(&"?");
        write!(f, "clause {} ({name}): {}", self.clause, self.problem)
    }
}

/// All breaches of one collection, in the order in which they were found; one a line.
#[derive(Clone, PartialEq, Eq)]
pub struct Breaches(pub Vec<Breach>);

impl fmt::Display for Breaches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the collection contract is broken:")?;
        self.0.iter().try_for_each(|breach| write!(f, "\n{breach}"))
    }
}

/// As it displays, so that an `unwrap` in a test reads well.
impl fmt::Debug for Breaches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Breaches {}
