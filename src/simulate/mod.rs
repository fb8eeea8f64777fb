//! Plays a plan on a described machine, event by event, without running it: how long would it take?
//!
//! Every [engine](Engines) does so many items at once and is else busy; an item starts when its operands are there,
//! its engine is free, and its memory has room. The rule for room is simpler than the executor's, which is a
//! banker's rule over the whole profile of the plan: in each memory items allocate in planned order, except that
//! overtakers together may take what the budget leaves above the plan's sequential peak. That is safe, since the
//! first item that hasn't started can always start once all that run are done; it takes O(1) where the banker takes
//! O(log items); and it ranks orders alike. An item doesn't overtake one of the same engine and memory that is ready
//! before it in planned order.
//!
//! A play takes O((items + operands) log items). Equal scenes give equal plays.

mod engines;
mod play;
#[cfg(test)]
mod tests;

pub use engines::Engines;
pub use play::{Item, Played, Scene, play, sequential_peaks};
