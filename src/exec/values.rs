//! The values of a run, under the workers' lock.
//!
//! The lock is held anyway when a worker takes steps and when it reports them: then it gets handles to what the steps
//! read, and leaves what they made. Nobody else takes any lock for a value. Of many steps few values are alive at once: a
//! step has four bytes here, and a value's place is given to another once it is gone.

use crate::ids::StepId;
use crate::panics;
use crate::steps::{OutputForm, Plan};
use crate::value::Value;

/// Values that are alive, and those that were asked for one by one.
#[derive(Default)]
pub(super) struct Values {
    /// By step, the place of its value below; [`NOWHERE`] where there is none.
    places: Vec<u32>,
    alive: Vec<Option<Value>>,
    unused: Vec<u32>,
    /// By output; whole arrays are elsewhere.
    asked: Vec<Vec<Option<Value>>>,
}

const NOWHERE: u32 = u32::MAX;

impl Values {
    /// Room for the values of a plan. O(steps).
    pub(super) fn new(plan: &Plan) -> Self {
        let asked = plan.outputs.iter().map(|output| match output.form {
            OutputForm::Whole => Vec::new(),
            OutputForm::Values(_) => vec![None; output.slots(&plan.layers[output.layer as usize])],
        });
        Values { places: vec![NOWHERE; plan.steps.len()], asked: asked.collect(), ..Values::default() }
    }

    pub(super) fn get(&self, id: StepId) -> Option<&Value> {
        self.alive.get(*self.places.get(id.index())? as usize)?.as_ref()
    }

    /// Keeps what a step has made, until it is [taken](Values::take).
    pub(super) fn keep(&mut self, plan: &Plan, id: StepId, value: Value) {
        if let Some(slot) = self.slot(plan, id) {
            *slot = Some(value.clone());
        }
        let Some(place) = self.places.get_mut(id.index()) else { return };
        debug_assert_eq!(*place, NOWHERE, "a step is done once");
        match self.unused.pop() {
            Some(unused) => {
                *place = unused;
                self.alive[unused as usize] = Some(value);
            }
            None => {
                *place = self.alive.len() as u32;
                self.alive.push(Some(value));
            }
        }
    }

    /// Takes a value that nobody reads any more; it is gone when the last handle is.
    pub(super) fn take(&mut self, id: StepId) -> Option<Value> {
        let place = std::mem::replace(self.places.get_mut(id.index())?, NOWHERE);
        let value = self.alive.get_mut(place as usize)?.take()?;
        self.unused.push(place);
        Some(value)
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
        self.places.fill(NOWHERE);
        self.unused.clear();
        let alive = panics::drop_all(&mut self.alive);
        self.asked.iter_mut().map(panics::drop_all).fold(alive, Result::and)
    }

    fn slot(&mut self, plan: &Plan, id: StepId) -> Option<&mut Option<Value>> {
        let step = plan.step(id);
        let OutputForm::Values(blocks) = &plan.outputs.get(step.output as usize)?.form else { return None };
        self.asked[step.output as usize].get_mut(blocks.position(step.block as usize)?)
    }
}
