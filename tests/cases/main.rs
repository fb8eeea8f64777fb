//! The classes of failure that users of other systems reported, each held off by a test of its own name.

mod allocated;
mod annotations;
