//! One run to its end, through as many plans as it takes.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::error::Error;
use crate::exec::finished::{Failures, ValueName};
use crate::exec::{
    Control, ExecError, Finished, Outcome, RunInputs, RunOptions, RunRecord, Running, Trouble,
};
use crate::graph::op::{Op, Sink};
use crate::machine::{DeviceId, MemoryId};
use crate::plan::known::{Known, KnownAt};
use crate::plan::split;
use crate::report::Report;
use crate::report::recovery::Recovery;
use crate::session::{Completed, Prepared, Session, spill_limit};
use crate::steps::Plan;
use crate::value::Value;

/// Plans that are run one after the other because kept blocks were lost. What was damaged before the run is found at
/// the first; a disk that loses what was just written is no place to resume from.
const LOST_CHUNKS_MAX: usize = 3;

/// The attempts at one run. Each that fails and can be mended is followed by another with a plan of what is left. They
/// are bounded: a device is lost once, and there are [few remedies](split::relieve) for one that is too small for a layer.
pub(super) struct Attempts<'a> {
    session: &'a Session,
    control: &'a Control,
    first: &'a Prepared,
    again: Option<Prepared>,
    lost_chunks_left: usize,
    /// Devices that this run has lost.
    lost: HashSet<DeviceId>,
    /// What the next plan is made around.
    known: Known,
    values: HashMap<ValueName, Value>,
    failures: Failures,
    /// What came of plans that were broken off.
    recoveries: Vec<Recovery>,
    records: Vec<RunRecord>,
}

impl<'a> Attempts<'a> {
    /// None yet. A plan that wants a device that is gone by now is made again.
    ///
    /// # Errors
    /// There is no plan without the device.
    pub(super) fn new(
        session: &'a Session,
        first: &'a Prepared,
        control: &'a Control,
    ) -> Result<Self, Error> {
        let mut attempts = Attempts {
            session,
            control,
            first,
            again: None,
            lost_chunks_left: LOST_CHUNKS_MAX,
            lost: HashSet::new(),
            known: Known::none(),
            values: HashMap::new(),
            failures: HashMap::new(),
            recoveries: Vec::new(),
            records: Vec::new(),
        };
        if session.is_outdated(&first.plan) {
            attempts.again = Some(attempts.planned()?);
        }
        Ok(attempts)
    }

    /// # Errors
    /// A device can't be opened; there are no threads.
    pub(super) fn start(&self) -> Result<Running, Error> {
        let (session, prepared) = (self.session, self.prepared());
        let devices = session.open_for(&prepared.plan)?;
        let inputs = RunInputs {
            store: session.resume.store()?,
            values: Arc::new(self.values.clone()),
            failures: Arc::new(self.failures.clone()),
            spill_folder: session.settings.spill_dir.clone(),
            spill_limit: spill_limit(&session.settings),
        };
        let options = RunOptions { inputs, priority: self.control.priority() };
        Ok(session.engine.submit(&prepared.plan, &devices, options, self.control)?)
    }

    /// Makes the plan to run after one that failed.
    ///
    /// # Errors
    /// The error itself, where there is nothing to mend; why there is no other plan.
    pub(super) fn mend(&mut self, error: ExecError) -> Result<(), Error> {
        // Whatever went wrong, the next run goes on from what this one kept.
        let flushed = self.session.resume.flush();
        let next = match error {
            ExecError::Unable { device, trouble, finished, source } => {
                self.without(device, trouble, &finished, *source)?
            }
            error => {
                let error = Error::from(error);
                if !error.is_lost_chunk() || flushed.is_err() {
                    return Err(error);
                }
                self.without_damaged_chunks(error)?
            }
        };
        self.again = Some(next);
        Ok(())
    }

    /// # Errors
    /// An output can't be put in place; the resume directory fails.
    pub(super) fn complete(mut self, mut outcome: Outcome) -> Result<Completed, Error> {
        let (session, prepared) = (self.session, self.prepared());
        for sink in prepared.sinks() {
            sink.finish()?;
        }
        let (plan, plan_s) = (prepared.plan.clone(), prepared.plan_s);
        self.records.iter().for_each(|record| outcome.record.add(record));
        let mut report = Report::of_run(&plan, &session.machine, &outcome.record, plan_s);
        report.recoveries = std::mem::take(&mut self.recoveries);
        report.resume = session.resume.report()?;
        let results = plan.requested.iter().map(|&at| outcome.results[at as usize].clone()).collect();
        Ok(Completed { results, report, plan, trace: outcome.record.trace })
    }

    fn prepared(&self) -> &Prepared {
        self.again.as_ref().unwrap_or(self.first)
    }

    fn planned(&self) -> Result<Prepared, Error> {
        self.session.planned(self.first.graph.clone(), &self.known, self.first.settings.clone())
    }

    /// A plan that does without the device, or asks less of it.
    fn without(
        &mut self,
        device: DeviceId,
        trouble: Trouble,
        finished: &Finished,
        source: ExecError,
    ) -> Result<Prepared, Error> {
        let is_news = match &trouble {
            Trouble::Lost { message } => {
                self.session.lose(device, message);
                self.lost.insert(device)
            }
            Trouble::TooSmall { layers, message } => {
                split::relieve(&mut self.known, &self.first.graph, layers, device, message)
            }
        };
        if !is_news {
            return Err(source.into());
        }
        let handed = self.take_over(finished);
        let next = self.fitting(handed).or_else(|error| self.elsewhere(device, &trouble, handed, error));
        let next = next.map_err(|error| match error {
            Error::Plan(plan) => Error::Stranded { source: Box::new(source.clone()), plan: Box::new(plan) },
            error => error,
        })?;
        for sink in next.sinks().filter(|sink| sink.ordered()) {
            sink.restart()?;
        }
        let before = self.prepared().plan.clone();
        let machine = &self.session.machine;
        let recovery = Recovery::new(&before, &next.plan, machine, device, &trouble, finished, &source);
        self.recoveries.push(recovery);
        self.records.push(finished.record.clone());
        Ok(next)
    }

    /// Where there is no plan with the parts that a device's memory would hold, its layers leave it after all.
    fn elsewhere(
        &mut self,
        device: DeviceId,
        trouble: &Trouble,
        handed: u64,
        error: Error,
    ) -> Result<Prepared, Error> {
        let Trouble::TooSmall { layers, message } = trouble else { return Err(error) };
        if !split::give_up(&mut self.known, &self.first.graph, layers, device, message) {
            return Err(error);
        }
        self.fitting(handed)
    }

    /// What is finished is known to the next plan; bytes that its values keep alive.
    fn take_over(&mut self, finished: &Finished) -> u64 {
        let values = finished.values.iter();
        self.values.extend(values.map(|(name, value)| (name.clone(), value.clone())));
        self.failures.extend(finished.failures.iter().map(|(name, failures)| (name.clone(), *failures)));
        for (layer, block) in self.values.keys() {
            self.known.add(layer, *block, KnownAt::Memory);
        }
        let ordered: HashSet<&str> = ordered_sinks(self.prepared()).collect();
        let stored = finished.stored.iter().filter(|(layer, _)| !ordered.contains(&**layer));
        let stored: Vec<ValueName> = stored.cloned().collect();
        stored.iter().for_each(|(layer, block)| self.known.add_stored(layer, *block));
        finished.bytes
    }

    /// A plan around the values that were handed over. Where they don't fit beside it they are let go of, and computed
    /// again when they are wanted.
    fn fitting(&mut self, handed: u64) -> Result<Prepared, Error> {
        let planned = self.planned();
        let is_tight = |plan: &Plan| {
            let host = &plan.memories[usize::from(MemoryId::HOST.0)];
            host.budget.is_some_and(|budget| host.peak.0.saturating_add(handed) > budget.0)
        };
        match planned {
            Ok(prepared) if !is_tight(&prepared.plan) => return Ok(prepared),
            Err(error) if self.values.is_empty() => return Err(error),
            Ok(_) | Err(_) => {}
        }
        self.values.clear();
        self.known.forget_values();
        self.planned()
    }

    /// A plan that computes again what was kept and is damaged.
    fn without_damaged_chunks(&mut self, error: Error) -> Result<Prepared, Error> {
        let devices = self.session.open_for(&self.prepared().plan)?;
        let Some(host) = devices.device(DeviceId::HOST).filter(|_| self.lost_chunks_left > 0) else {
            return Err(error);
        };
        self.lost_chunks_left -= 1;
        self.session.resume.forget_damaged(&self.prepared().plan, &**host)?;
        self.prepared().sinks().try_for_each(|sink: &Arc<dyn Sink>| sink.restart())?;
        self.known.forget_stored();
        self.planned()
    }
}

/// The names of the layers whose sinks take blocks in order: all of them again, after a restart.
fn ordered_sinks(prepared: &Prepared) -> impl Iterator<Item = &str> {
    prepared.plan.layers.iter().filter_map(|layer| match &layer.op {
        Op::Store(sink) if sink.ordered() => Some(&*layer.root),
        _ => None,
    })
}
