//! The beginning and the end of a run, outside the lock as far as can be: done by whichever worker is there first.

use std::sync::Arc;

use crate::exec::active::Active;
use crate::exec::due::{Due, GLANCE};
use crate::exec::engine::Outcome;
use crate::exec::error::ExecError;
use crate::exec::finished::{self, Finished, Trouble};
use crate::exec::pool::{Core, Pool, Slot, Todo};
use crate::exec::record::Books;
use crate::exec::usage::Meter;
use crate::exec::values::Values;
use crate::exec::work::Work;
use crate::panics;
use crate::reactor::{Event, Refusal, RunId, Standing, Tasks};
use crate::sync::now;

impl Pool {
    pub(super) fn carry_out(self: &Arc<Self>, todo: Todo) {
        let active = match &todo {
            Todo::Submit(active) | Todo::Prepare(_, active) => active.clone(),
            Todo::End(_, slot) => slot.active.clone(),
        };
        let carried_out = panics::caught(|| match todo {
            Todo::Submit(active) => self.take_in(active),
            Todo::Prepare(run, active) => self.prepare(run, &active),
            Todo::End(run, slot) => self.end(run, *slot),
        });
        if let Err(message) = carried_out {
            let error = ExecError::Broken { message };
            self.close(&error);
            // Nobody else knows of a run that was about to be taken in or to end.
            active.done.tell(Err(error));
        }
    }

    fn take_in(self: &Arc<Self>, active: Arc<Active>) {
        let tasks = Arc::new(Tasks::new(active.plan.clone()));
        let is_tight = tasks
            .demands()
            .iter()
            .zip(&self.limits().memories)
            .any(|(demand, limit)| limit.is_some_and(|limit| demand.total > limit / 2));
        self.listen(&active);
        let mut guard = self.lock();
        let core = &mut *guard;
        if core.is_over {
            drop(guard);
            return self.told(&active, Err(ExecError::Cancelled));
        }
        let standing = Standing { priority: active.options.priority, depth: active.depth };
        match core.reactor.submit(tasks, standing, &mut core.commands) {
            Ok(run) => {
                for (step, failures) in finished::charges(&active) {
                    core.reactor.charge(run, step, failures);
                }
                if core.runs.len() <= run.0 as usize {
                    core.runs.resize_with(run.0 as usize + 1, || None);
                }
                let books = Books::new(&active);
                core.runs[run.0 as usize] = Some(Slot {
                    active: active.clone(),
                    help: Vec::new(),
                    books,
                    values: Values::default(),
                    failure: None,
                    trouble: None,
                    is_tight,
                });
                if active.control.is_cancelled() {
                    core.reactor.on_events(&[Event::Cancel(run)], &mut core.commands);
                }
                self.time(core, run, &active);
                self.obey(core, &mut Vec::new());
                self.wake_others(core);
            }
            Err(refusal) => {
                drop(guard);
                let name = |memory: usize| active.plan.memory_names.get(memory).cloned().unwrap_or_default();
                let error = match refusal {
                    Refusal::Memory { memory, need, left } => {
                        ExecError::NoRoom { memory: name(memory), need, left }
                    }
                    Refusal::Resources => ExecError::Starved,
                };
                self.told(&active, Err(error));
            }
        }
    }

    /// Hears of cancellation, from before the run can begin: what comes before that, [`Pool::take_in`] looks for.
    fn listen(self: &Arc<Self>, active: &Arc<Active>) {
        let (pool, handle) = (Arc::downgrade(self), Arc::downgrade(active));
        active.control.on_cancel(move || {
            if let (Some(pool), Some(active)) = (pool.upgrade(), handle.upgrade()) {
                let run = pool.lock().run_of(&active);
                run.into_iter().for_each(|run| pool.tell(run, &active, Event::Cancel(run)));
            }
        });
    }

    /// Remembers when to look after a run.
    fn time(&self, core: &mut Core, run: RunId, active: &Arc<Active>) {
        if let Some(limit) = active.control.deadline() {
            let due = Due::Deadline(Arc::downgrade(active), run, limit);
            self.timer.set(active.started + limit, due);
        }
        if !std::mem::replace(&mut core.is_looked_at, true) {
            self.timer.set(now() + GLANCE, Due::Glance);
        }
    }

    /// The end of a run is told to whoever waits for it, inside a step or not.
    fn told(&self, active: &Active, result: Result<Outcome, ExecError>) {
        active.done.tell(result);
        if active.depth > 0 {
            self.wake_helpers();
        }
    }

    fn prepare(&self, run: RunId, active: &Arc<Active>) {
        // One that was cancelled before it could begin may be gone.
        if !self.lock().is_run(run, active) {
            return;
        }
        active.meter.get_or_init(|| Meter::new(&active.plan, &active.devices));
        let prepared =
            panics::caught(|| Work::prepare(&active.plan, &active.devices, &active.options.inputs));
        let prepared = prepared.unwrap_or_else(|message| Err(ExecError::Value { message }));
        let event = match prepared {
            Ok(work) => {
                let _ = active.work.set(work);
                let values = Values::new(&active.plan);
                if let Some(slot) = self.lock().slot(run, active) {
                    slot.values = values;
                }
                Event::Start(run)
            }
            Err(error) => {
                self.lock().fail(run, error);
                Event::Cancel(run)
            }
        };
        self.tell(run, active, event);
    }

    /// Gives back what is left of a run, and tells whoever waits for it.
    fn end(&self, run: RunId, slot: Slot) {
        let Slot { active, mut books, mut values, mut failure, trouble, .. } = slot;
        let (unfinished, peaks, done, failures) = {
            let (core, failed) = (self.lock(), failure.is_some());
            let done = if failed { core.reactor.done(run) } else { Vec::new() };
            (core.reactor.unfinished(run), core.reactor.peaks(run), done, core.reactor.all_failures(run))
        };
        if let Some(meter) = active.meter.get() {
            meter.look(&active.devices, |memory| self.lock().reactor.ledger().held(memory));
            books.record.usage = meter.usage(&peaks);
        }
        let mut results = Vec::new();
        let compiling = |failure| Trouble::of_failure(&active.plan, failure);
        let trouble = trouble.or_else(|| failure.as_ref().and_then(compiling));
        let mut finished = Finished::default();
        if let Some(work) = active.work.get() {
            books.record.spill = work.spill_figures();
            if trouble.is_some() {
                finished = Finished::of(work, &mut values, &active.plan, &done);
                finished.failures = finished::failures_of(&active.plan, &failures);
            }
            if failure.is_none() && unfinished == 0 {
                results = work.take_results(&mut values);
            }
            work.clear();
        }
        if let Err(message) = values.clear() {
            failure.get_or_insert(ExecError::Value { message });
        }
        let mut guard = self.lock();
        let core = &mut *guard;
        core.reactor.release(run, &mut core.commands);
        self.obey(core, &mut Vec::new());
        self.wake_others(core);
        drop(guard);
        active.control.watch(&books.finished);
        books.record.peak_bytes = peaks;
        if failure.is_some() || unfinished > 0 {
            let trace = books.record.trace.take();
            trace.into_iter().for_each(|trace| active.control.leave_trace(&active.plan, trace));
        }
        let result = match failure {
            Some(failure) => Err(match trouble {
                Some((device, trouble)) if !active.control.is_cancelled() => {
                    finished.record = books.closed(active.elapsed());
                    let (finished, source) = (Arc::new(finished), Box::new(failure));
                    ExecError::Unable { device, trouble, finished, source }
                }
                _ => failure,
            }),
            None if unfinished > 0 && active.control.is_cancelled() => Err(ExecError::Cancelled),
            None if unfinished > 0 => Err(ExecError::Stuck { unfinished }),
            None => Ok(Outcome { results, record: books.closed(active.elapsed()) }),
        };
        self.told(&active, result);
    }
}
