//! What happened in a run, in numbers.

use std::collections::HashMap;
use std::time::Duration;

use crate::exec::active::Active;
use crate::exec::trace::Trace;
use crate::exec::usage::Usage;
use crate::ids::StepId;
use crate::steps::TransferEdge;
use crate::store::Figures;

/// Figures of one run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunRecord {
    /// For each layer of the plan: attempts at its steps, failed ones included.
    pub attempts: Vec<u64>,
    /// For each layer of the plan: seconds of workers' time, that of those who took parts of a step included.
    pub busy_s: Vec<f64>,
    /// Copies made between memories.
    pub transfers: Vec<TransferEdge>,
    /// The most bytes that were held at once in each memory.
    pub peak_bytes: Vec<u64>,
    /// Seconds from start to end.
    pub wall_s: f64,
    /// What was really taken of the memories that the plan uses, as far as it can be measured.
    pub usage: Vec<Usage>,
    /// What was spilled to disk and read back, where the plan spills.
    pub spill: Option<Figures>,
    /// Every attempt, and what others than its worker did of it, when somebody [asked](crate::exec::Control::traced).
    pub trace: Option<Trace>,
}

/// The record of a run under way.
pub(super) struct Books {
    pub(super) record: RunRecord,
    /// Finished steps of each layer of the plan.
    pub(super) finished: Vec<u64>,
    /// Nanoseconds of workers' time, by layer.
    busy: Vec<u64>,
    /// What went wrong with steps that are tried again.
    pub(super) earlier: HashMap<StepId, Vec<String>>,
}

impl Books {
    pub(super) fn new(active: &Active) -> Self {
        let layers = active.plan.layers.len();
        let trace = active.control.is_traced().then(Trace::default);
        let record = RunRecord { attempts: vec![0; layers], trace, ..RunRecord::default() };
        Books { record, finished: vec![0; layers], busy: vec![0; layers], earlier: HashMap::new() }
    }

    pub(super) fn count(&mut self, layer: u32, busy: u64, finished: bool) {
        let layer = layer as usize;
        self.record.attempts[layer] += 1;
        self.busy[layer] += busy;
        self.finished[layer] += u64::from(finished);
    }

    /// Workers' time that went into a step beside that of its own worker.
    pub(super) fn helped(&mut self, layer: u32, busy: u64) {
        self.busy[layer as usize] += busy;
    }

    /// The record of a run that took `wall`.
    pub(super) fn closed(mut self, wall: Duration) -> RunRecord {
        self.record.busy_s = self.busy.iter().map(|&nanoseconds| nanoseconds as f64 * 1e-9).collect();
        self.record.wall_s = wall.as_secs_f64();
        self.record.transfers.sort_unstable_by_key(|edge| (edge.from, edge.to));
        self.record
    }
}

impl RunRecord {
    /// Adds the copies and the time of a run that this one went on from, and its most bytes where they are more. Layers
    /// and the trace are this run's own.
    pub fn add(&mut self, earlier: &RunRecord) {
        earlier.transfers.iter().for_each(|&edge| self.count_transfer(edge));
        self.transfers.sort_unstable_by_key(|edge| (edge.from, edge.to));
        for (peak, &other) in self.peak_bytes.iter_mut().zip(&earlier.peak_bytes) {
            *peak = other.max(*peak);
        }
        self.wall_s += earlier.wall_s;
    }

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
