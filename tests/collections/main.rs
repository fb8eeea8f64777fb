//! Collections, held to their contract.

mod contract;
mod dataset;
