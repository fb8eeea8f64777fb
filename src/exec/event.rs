//! What the reactor hears, and what it says.

use crate::ids::StepId;

/// A queue of steps that one kind of worker takes from: lane 0 is the host pool's, every other lane one
/// device's.
pub type Lane = u16;

/// Something that happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The plan begins.
    Start,
    /// A worker of a lane wants up to `room` steps.
    Poll {
        /// The worker's lane.
        lane: Lane,
        /// Steps that it takes at most.
        room: u16,
    },
    /// A step is done.
    Finished(StepId),
    /// An attempt at a step failed, and gave back what it held.
    Failed {
        /// The step.
        step: StepId,
        /// Whether trying again can help.
        retryable: bool,
    },
    /// The back-off of a failed step is over.
    RetryDue(StepId),
    /// Nothing new is to start.
    Cancel,
}

/// Something to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// The polling worker runs this step.
    Run(StepId),
    /// Nobody reads this value any more.
    Free(StepId),
    /// Send [`Event::RetryDue`] after the back-off of this attempt (the first retry is 1).
    Retry {
        /// The step.
        step: StepId,
        /// Which retry it will be.
        attempt: u32,
    },
    /// This step failed for good; nothing new starts.
    Abort(StepId),
    /// Nothing runs and nothing will: the plan is done, or it was aborted or cancelled.
    Complete,
}
