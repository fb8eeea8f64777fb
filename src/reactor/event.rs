//! What the reactor hears, and what it says.

use crate::ids::StepId;
use crate::steps::Lane;

/// A run of a plan, by its place in the reactor; the place is given to another run once this one is released.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RunId(pub u32);

/// A grant of resources, held by the steps of one bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GrantId(pub u32);

impl GrantId {
    /// The step takes no resources.
    pub const NONE: GrantId = GrantId(u32::MAX);
}

/// How an attempt failed, as far as it decides what comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Trying again can help, and is one of the step's retries.
    Retryable,
    /// Its memory gave out, whatever the book says. It is tried once more when nothing else of its run is under way,
    /// which is none of its retries; if it fails alone, the memory is too small in truth.
    OutOfMemory,
    /// Trying again can't help.
    Final,
}

/// Something that happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A run that was [begun](Command::Begin) is ready to start.
    Start(RunId),
    /// A worker of a lane wants steps: one, or a bundle of short ones, no more than `room`, that it will run one after
    /// the other.
    Poll {
        /// The worker's lane.
        lane: Lane,
        /// Steps that it takes at most.
        room: u16,
        /// The only run whose steps it takes, if so.
        only: Option<RunId>,
    },
    /// A step is done.
    Finished {
        /// Its run.
        run: RunId,
        /// The step.
        step: StepId,
        /// What came with it when it was [told to run](Command::Run).
        grant: GrantId,
        /// Time that it took: how many steps of its class make a bundle.
        nanoseconds: u32,
    },
    /// A step was not tried: one before it in its bundle failed, whose value it reads or that it comes after, or its run
    /// was cancelled.
    Untried {
        /// Its run.
        run: RunId,
        /// The step.
        step: StepId,
        /// What came with it when it was told to run.
        grant: GrantId,
    },
    /// An attempt at a step failed, and gave back what it held.
    Failed {
        /// Its run.
        run: RunId,
        /// The step.
        step: StepId,
        /// What came with it when it was told to run.
        grant: GrantId,
        /// What kind of failure it is.
        why: Failure,
    },
    /// An attempt at a step is given up though it still runs: it failed, and what it holds is lost.
    Abandoned {
        /// Its run.
        run: RunId,
        /// The step.
        step: StepId,
        /// What came with it when it was told to run.
        grant: GrantId,
        /// By which the attempt is named when it ends after all.
        ticket: u64,
        /// Whether trying again can help; it isn't tried where what is lost leaves too little.
        retryable: bool,
    },
    /// An abandoned attempt has ended after all: what it held can be had again.
    Found {
        /// The ticket of its abandonment.
        ticket: u64,
    },
    /// The back-off of a failed step is over.
    RetryDue {
        /// Its run.
        run: RunId,
        /// The step.
        step: StepId,
    },
    /// Nothing new of this run is to start.
    Cancel(RunId),
}

/// Something to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// There is room for this run: make what it needs, and send [`Event::Start`].
    Begin(RunId),
    /// The polling worker runs this step, after those that it was told of before. It is for the worker to see that all
    /// that the step waits for has been done: of a bundle, a step may wait for one before it.
    Run {
        /// Its run.
        run: RunId,
        /// The step.
        step: StepId,
        /// To be given back with the report.
        grant: GrantId,
    },
    /// Nobody reads this value any more.
    Free {
        /// Its run.
        run: RunId,
        /// The step that made it.
        value: StepId,
    },
    /// Send [`Event::RetryDue`] after the back-off of this attempt (the first retry is 1).
    Retry {
        /// Its run.
        run: RunId,
        /// The step.
        step: StepId,
        /// Which retry it will be.
        attempt: u32,
    },
    /// This step failed for good; nothing new of its run starts.
    Abort {
        /// Its run.
        run: RunId,
        /// The step.
        step: StepId,
    },
    /// What abandoned attempts hold on to leaves too little for this run: it fails.
    Starve(RunId),
    /// Nothing of the run is running and nothing will: it is done, or it was aborted or cancelled. Once its values are
    /// dropped it is to be [released](super::Reactor::release).
    Complete(RunId),
}
