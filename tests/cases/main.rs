//! Where other systems fail in public, and what happens here instead: one test for each case.

mod allocated;
mod annotations;
mod devices;
mod faults;
mod graphs;
mod limits;
mod memory;
mod opaque;
mod rewrites;
