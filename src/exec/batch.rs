//! The steps that a worker has at hand: what they read, and what became of them.

use crate::exec::active::Active;
use crate::exec::error::StepError;
use crate::exec::values::Values;
use crate::exec::work::Work;
use crate::ids::StepId;
use crate::panics;
use crate::reactor::GrantId;
use crate::steps::Plan;
use crate::value::Value;

/// Steps of one run, to be done one after the other.
#[derive(Default)]
pub(super) struct Batch {
    pub(super) steps: Vec<(StepId, GrantId)>,
    /// What they read, step by step; `None` where there was no value when the batch was put together: an earlier step
    /// makes it, or nobody does.
    gathered: Vec<Option<Value>>,
    /// What the step under way reads.
    operands: Vec<Value>,
    /// Those that are over, in the order of the steps.
    pub(super) attempts: Vec<Attempt>,
}

/// One attempt at a step. Times are in nanoseconds.
pub(super) struct Attempt {
    pub(super) step: StepId,
    pub(super) grant: GrantId,
    pub(super) end: End,
    /// Since the run began.
    pub(super) start: u64,
    pub(super) busy: u64,
}

/// How an attempt ended.
pub(super) enum End {
    Made(Option<Value>),
    Failed(Box<StepError>),
    /// The run was cancelled before, or it waited for a step of the batch that failed.
    Untried,
}

impl Attempt {
    pub(super) fn error(&self) -> Option<&StepError> {
        match &self.end {
            End::Failed(error) => Some(error),
            End::Made(_) | End::Untried => None,
        }
    }
}

impl Batch {
    /// Adds a step, with handles to the values that it reads.
    pub(super) fn push(&mut self, plan: &Plan, values: &Values, step: StepId, grant: GrantId) {
        self.steps.push((step, grant));
        self.gathered.extend(plan.operands(step).iter().map(|operand| values.get(operand.step).cloned()));
    }

    /// Does all steps, up to the point where their device has the work. A device that is `lost` is asked nothing.
    pub(super) fn run<'a>(&mut self, active: &Active, lost: impl Fn() -> Option<&'a str>) {
        let mut time = active.nanoseconds();
        let mut at = 0;
        while at < self.steps.len() {
            // A worker that a panic ended would leave its steps running for ever.
            let run = panics::caught(|| self.run_from(&mut at, &mut time, active, &lost));
            if let Err(message) = run {
                self.end(at, &mut time, active, End::Failed(Box::new(StepError::Panic { message })));
                at += 1;
            }
        }
        self.steps.clear();
        // Also after a panic: a worker that sleeps holds no values. They have other handles, in the run's values.
        let dropped = panics::drop_all(&mut self.operands);
        let dropped = dropped.and(panics::drop_all(&mut self.gathered));
        if let (Err(message), Some(last)) = (dropped, self.attempts.last_mut()) {
            last.end = End::Failed(Box::new(StepError::Panic { message }));
        }
    }

    fn run_from<'a>(
        &mut self,
        at: &mut usize,
        time: &mut u64,
        active: &Active,
        lost: &impl Fn() -> Option<&'a str>,
    ) {
        let reads = |&(step, _): &(StepId, GrantId)| active.plan.operands(step).len();
        let mut from: usize = self.steps[..*at].iter().map(reads).sum();
        while *at < self.steps.len() {
            let step = self.steps[*at].0;
            self.operands.clear();
            let is_ready = self.gather(&active.plan, step, from) && !active.control.is_cancelled();
            from += reads(&self.steps[*at]);
            let end = match (active.work.get(), lost()) {
                _ if !is_ready => End::Untried,
                (Some(work), None) => End::of(work, step, &self.operands),
                (_, Some(message)) => End::Failed(Box::new(active.device_lost(step, message))),
                (None, None) => {
                    let problem = "the run has nothing to work with".to_owned();
                    End::Failed(Box::new(StepError::Bug { problem }))
                }
            };
            self.end(*at, time, active, end);
            *at += 1;
        }
    }

    /// Puts together what a step reads; whether it may be tried.
    fn gather(&mut self, plan: &Plan, step: StepId, from: usize) -> bool {
        for (operand, value) in plan.operands(step).iter().zip(&mut self.gathered[from..]) {
            if let Some(value) = value.take() {
                self.operands.push(value);
                continue;
            }
            let maker = self.attempts.iter().rev().find(|attempt| attempt.step == operand.step);
            match maker.map(|maker| &maker.end) {
                Some(End::Made(value)) => self.operands.extend(value.clone()),
                Some(End::Failed(_) | End::Untried) => return false,
                // One that makes no value was done before.
                None => {}
            }
        }
        plan.orderings.is_empty() || self.attempts.iter().all(|attempt| matches!(attempt.end, End::Made(_)))
    }

    fn end(&mut self, at: usize, time: &mut u64, active: &Active, end: End) {
        let (step, grant) = self.steps[at];
        let start = std::mem::replace(time, active.nanoseconds());
        self.attempts.push(Attempt { step, grant, end, start, busy: *time - start });
    }
}

impl End {
    fn of(work: &Work, step: StepId, operands: &[Value]) -> End {
        work.run(step, operands).map_or_else(|error| End::Failed(Box::new(error)), End::Made)
    }
}
