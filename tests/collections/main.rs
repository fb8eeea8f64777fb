//! Collections, against plain vectors, iterators and maps, and held to their contract.

mod array;
mod bag;
mod contract;
mod dataset;
mod half;
