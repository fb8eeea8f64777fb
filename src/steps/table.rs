//! Steps in planned order, kept small: what many steps have in common is stored once.

use std::collections::HashMap;

use crate::steps::Step;

/// A list of steps. A step is a *class*, which it shares with the other blocks of its layer, and a block: 12 bytes,
/// whatever a [`Step`] says.
#[derive(Clone, Debug, Default)]
pub struct Steps {
    /// What steps say, but for the block, which is 0.
    classes: Vec<Step>,
    class_of: Vec<u32>,
    blocks: Vec<u64>,
    numbers: HashMap<Step, u32>,
    /// The classes used last, by a hash of layer and kind: a look in the map costs more than all else here.
    recent: Vec<u32>,
}

const RECENT: usize = 256;

impl Steps {
    /// An empty list with room for `count` steps.
    pub fn with_capacity(count: usize) -> Self {
        let (class_of, blocks) = (Vec::with_capacity(count), Vec::with_capacity(count));
        Steps { class_of, blocks, ..Steps::default() }
    }

    /// Appends a step. O(1).
    pub fn push(&mut self, step: Step) {
        let class = self.number(Step { block: 0, ..step });
        self.class_of.push(class);
        self.blocks.push(step.block);
    }

    /// Steps in the list.
    pub fn len(&self) -> usize {
        self.class_of.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.class_of.is_empty()
    }

    /// The step at a place. O(1).
    pub fn at(&self, index: usize) -> Step {
        Step { block: self.blocks[index], ..self.classes[self.class_of[index] as usize] }
    }

    /// What the step at a place says, but for its block, which is 0. O(1).
    pub fn class(&self, index: usize) -> &Step {
        &self.classes[self.class_of[index] as usize]
    }

    /// All steps, in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Step> + ExactSizeIterator + '_ {
        (0..self.len()).map(|index| self.at(index))
    }

    /// What steps say, each once, with 0 for the block: what depends on it alone needs finding out only so often.
    pub fn classes(&self) -> &[Step] {
        &self.classes
    }

    /// The class of each step, in [`classes`](Steps::classes).
    pub fn class_of(&self) -> &[u32] {
        &self.class_of
    }

    fn number(&mut self, class: Step) -> u32 {
        if self.recent.is_empty() {
            self.recent = vec![u32::MAX; RECENT];
        }
        let at = (class.layer as usize * 31 + class.kernel as usize * 7 + class.terms as usize) % RECENT;
        if let Some(number) = self.recent.get(at)
            && self.classes.get(*number as usize) == Some(&class)
        {
            return *number;
        }
        let next = self.classes.len() as u32;
        let number = *self.numbers.entry(class).or_insert(next);
        if number == next {
            self.classes.push(class);
        }
        self.recent[at] = number;
        number
    }
}

impl FromIterator<Step> for Steps {
    fn from_iter<I: IntoIterator<Item = Step>>(steps: I) -> Self {
        let steps = steps.into_iter();
        let mut list = Steps::with_capacity(steps.size_hint().0);
        steps.for_each(|step| list.push(step));
        list
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::{DeviceId, MemoryId};
    use crate::steps::StepKind;

    #[test]
    fn steps_come_back_as_they_were() {
        let step = |at: u64| Step {
            kind: if at.is_multiple_of(3) {
                StepKind::Load
            } else {
                StepKind::Pad { input: (at % 2) as u16 }
            },
            layer: (at % 1000) as u32,
            kernel: (at % 5) as u32,
            block: at * 0x1_0000_0001,
            device: DeviceId((at % 2) as u16),
            memory: MemoryId((at % 3) as u16),
            bytes: at % 7,
            output: Step::NO_OUTPUT,
            terms: 0,
        };
        let all: Vec<Step> = (0..5_000).map(step).collect();
        let list: Steps = all.iter().copied().collect();
        assert_eq!(list.len(), all.len());
        assert!(list.iter().eq(all.iter().copied()));
        assert!(list.classes().iter().all(|class| class.block == 0));
        let distinct: std::collections::HashSet<Step> =
            all.iter().map(|step| Step { block: 0, ..*step }).collect();
        assert_eq!(list.classes().len(), distinct.len());
    }
}
