//! Plays a plan on a described machine, event by event, without running it: how long would it take?
//!
//! Every [engine](Engines) does so many items at once and is else busy; an item starts when its operands are there,
//! its engine is free, and its memory has room. The rule for room is simpler than the executor's, which keeps the
//! profile of the plan (how much is held when each item runs) up to date. Here the profile is that of items that run
//! one after the other, and doesn't change: in each memory items allocate in that order, except that overtakers
//! together may hold what the budget leaves above the profile's largest number between the first item that hasn't
//! started and the farthest overtaker. That is safe, since the first item that hasn't started can always start once
//! all that run are done; it mostly takes O(1), where the executor's rule takes O(log items); and it ranks orders
//! alike. An item doesn't overtake one of the same engine and memory that is ready before it in planned order.
//!
//! A play takes O((items + operands) log items). Equal scenes give equal plays.

mod engines;
mod largest;
mod play;
#[cfg(test)]
mod tests;

pub use engines::Engines;
pub use play::{Item, Played, Scene, play, sequential_peaks};
