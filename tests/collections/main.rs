//! Collections, against plain vectors, iterators and maps, and held to their contract.

mod bag;
mod contract;
mod dataset;
