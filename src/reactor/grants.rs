//! Grants of resources: one for each bundle that takes any.

use crate::reactor::event::GrantId;

/// Grants that are out: how many steps of a bundle aren't reported.
#[derive(Debug, Default)]
pub(super) struct Grants {
    steps: Vec<u16>,
    free: Vec<u32>,
}

impl Grants {
    pub(super) fn open(&mut self) -> GrantId {
        let id = self.free.pop().unwrap_or(self.steps.len() as u32);
        if id as usize == self.steps.len() {
            self.steps.push(0);
        }
        GrantId(id)
    }

    pub(super) fn add(&mut self, grant: GrantId) {
        if grant != GrantId::NONE {
            self.steps[grant.0 as usize] += 1;
        }
    }

    /// One step of the bundle is reported: whether it was the last.
    pub(super) fn close(&mut self, grant: GrantId) -> bool {
        if grant == GrantId::NONE {
            return false;
        }
        let steps = &mut self.steps[grant.0 as usize];
        *steps -= 1;
        let is_last = *steps == 0;
        if is_last {
            self.free.push(grant.0);
        }
        is_last
    }
}
