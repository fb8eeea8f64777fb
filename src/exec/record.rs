//! What happened in a run, in numbers.

use crate::steps::TransferEdge;

/// Figures of one run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunRecord {
    /// For each layer of the plan: attempts at its steps, failed ones included.
    pub attempts: Vec<u64>,
    /// For each layer of the plan: seconds of workers' time.
    pub busy_s: Vec<f64>,
    /// Copies made between memories.
    pub transfers: Vec<TransferEdge>,
    /// The most bytes that were held at once in each memory.
    pub peak_bytes: Vec<u64>,
    /// Seconds from start to end.
    pub wall_s: f64,
}

impl RunRecord {
    pub(crate) fn count_transfer(&mut self, edge: TransferEdge) {
        match self.transfers.iter_mut().find(|other| (other.from, other.to) == (edge.from, edge.to)) {
            Some(other) => {
                other.count += edge.count;
                other.bytes += edge.bytes;
            }
            None => self.transfers.push(edge),
        }
    }
}
