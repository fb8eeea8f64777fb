//! The values of a run, under the workers' lock.
//!
//! The lock is held anyway when a worker takes steps and when it reports them: then it gets handles to what the steps
//! read, and leaves what they made. Nobody else takes any lock for a value.

use crate::ids::StepId;
use crate::panics;
use crate::steps::{OutputForm, Plan};
use crate::value::Value;

/// Values that are alive, and those that were asked for one by one.
#[derive(Default)]
pub(super) struct Values {
    /// By the step that made them.
    alive: Vec<Option<Value>>,
    /// By output; whole arrays are elsewhere.
    asked: Vec<Vec<Option<Value>>>,
}

impl Values {
    /// Room for the values of a plan. O(steps).
    pub(super) fn new(plan: &Plan) -> Self {
        let asked = plan.outputs.iter().map(|output| match output.form {
            OutputForm::Whole => Vec::new(),
            OutputForm::Values(_) => vec![None; output.slots(&plan.layers[output.layer as usize])],
        });
        Values { asked: asked.collect(), alive: vec![None; plan.steps.len()] }
    }

    pub(super) fn get(&self, id: StepId) -> Option<&Value> {
        self.alive.get(id.index())?.as_ref()
    }

    /// Keeps what a step has made, until it is [taken](Values::take).
    pub(super) fn keep(&mut self, plan: &Plan, id: StepId, value: Value) {
        if let Some(slot) = self.slot(plan, id) {
            *slot = Some(value.clone());
        }
        if let Some(room) = self.alive.get_mut(id.index()) {
            *room = Some(value);
        }
    }

    /// Takes a value that nobody reads any more; it is gone when the last handle is.
    pub(super) fn take(&mut self, id: StepId) -> Option<Value> {
        self.alive.get_mut(id.index())?.take()
    }

    /// What is there of a step's value, alive or asked for.
    pub(super) fn found(&mut self, plan: &Plan, id: StepId) -> Option<Value> {
        let asked = self.slot(plan, id).and_then(|slot| slot.clone());
        asked.or_else(|| self.get(id).cloned())
    }

    /// The values of an output, in the order of the blocks asked for.
    pub(super) fn take_asked(&mut self, output: usize) -> Vec<Value> {
        self.asked.get_mut(output).map(std::mem::take).into_iter().flatten().flatten().collect()
    }

    /// Lets go of everything.
    ///
    /// # Errors
    /// The message of a destructor that panicked; the others were run all the same.
    pub(super) fn clear(&mut self) -> Result<(), String> {
        let alive = panics::drop_all(&mut self.alive);
        self.asked.iter_mut().map(panics::drop_all).fold(alive, Result::and)
    }

    fn slot(&mut self, plan: &Plan, id: StepId) -> Option<&mut Option<Value>> {
        let step = plan.step(id);
        let OutputForm::Values(blocks) = &plan.outputs.get(step.output as usize)?.form else { return None };
        self.asked[step.output as usize].get_mut(blocks.position(step.block as usize)?)
    }
}
