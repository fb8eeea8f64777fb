//! Grants of resources: one for each bundle of steps that takes any.

use smallvec::SmallVec;

use crate::reactor::event::GrantId;

/// Grants that are out.
#[derive(Clone, Debug, Default)]
pub(super) struct Grants {
    all: Vec<Grant>,
    free: Vec<u32>,
}

#[derive(Clone, Debug, Default)]
struct Grant {
    /// Steps of the bundle that aren't reported.
    steps: u16,
    /// Steps of the bundle that were given up and aren't found.
    lost: u16,
    /// What it took, in millionths.
    resources: Resources,
    is_lent: bool,
}

pub(super) type Resources = SmallVec<[(u16, u64); 1]>;

impl Grants {
    pub(super) fn open(&mut self, resources: &[(u16, u64)]) -> GrantId {
        let id = self.free.pop().unwrap_or(self.all.len() as u32);
        if id as usize == self.all.len() {
            self.all.push(Grant::default());
        }
        self.all[id as usize] = Grant { resources: resources.into(), ..Grant::default() };
        GrantId(id)
    }

    pub(super) fn add(&mut self, grant: GrantId) {
        if grant != GrantId::NONE {
            self.all[grant.0 as usize].steps += 1;
        }
    }

    /// One step of the bundle is reported: what goes back if it was the last.
    pub(super) fn close(&mut self, grant: GrantId) -> Resources {
        if grant == GrantId::NONE {
            return Resources::new();
        }
        let open = &mut self.all[grant.0 as usize];
        open.steps -= 1;
        if open.steps > 0 {
            return Resources::new();
        }
        let resources = std::mem::take(&mut open.resources);
        let resources = if open.is_lent { Resources::new() } else { resources };
        self.forget(grant);
        resources
    }

    /// One step of the bundle is given up: what is lost if it was the last. Its attempt might still lend, so nobody else
    /// is given the grant's number until it is [found](Grants::found).
    pub(super) fn give_up(&mut self, grant: GrantId) -> Resources {
        if let Some(open) = self.all.get_mut(grant.0 as usize) {
            open.lost += 1;
        }
        self.close(grant)
    }

    /// A step that was given up has ended.
    pub(super) fn found(&mut self, grant: GrantId) {
        if let Some(open) = self.all.get_mut(grant.0 as usize) {
            open.lost -= 1;
            self.forget(grant);
        }
    }

    /// The number can be given to another once no attempt knows it.
    fn forget(&mut self, grant: GrantId) {
        let open = &self.all[grant.0 as usize];
        if open.steps == 0 && open.lost == 0 {
            self.free.push(grant.0);
        }
    }

    /// What a grant holds, to be lent; nothing if it is lent already.
    pub(super) fn lend(&mut self, grant: GrantId) -> Resources {
        match self.all.get_mut(grant.0 as usize) {
            Some(open) if !open.is_lent => {
                open.is_lent = true;
                open.resources.clone()
            }
            _ => Resources::new(),
        }
    }

    /// What a lent grant wants back.
    pub(super) fn lent(&self, grant: GrantId) -> &[(u16, u64)] {
        self.all.get(grant.0 as usize).filter(|open| open.is_lent).map_or(&[], |open| &open.resources)
    }

    pub(super) fn reclaimed(&mut self, grant: GrantId) {
        if let Some(open) = self.all.get_mut(grant.0 as usize) {
            open.is_lent = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attempt_that_was_given_up_lends_nothing_of_others() {
        let mut grants = Grants::default();
        let first = grants.open(&[(0, 1)]);
        grants.add(first);
        assert_eq!(grants.give_up(first)[..], [(0, 1)]);
        let second = grants.open(&[(0, 1)]);
        grants.add(second);
        assert!(grants.lend(first).is_empty(), "it has nothing left to lend");
        assert!(grants.lent(first).is_empty(), "it takes nothing back");
        grants.reclaimed(first);
        grants.found(first);
        assert_eq!(grants.open(&[(0, 2)]), first, "its number is free again");
        assert_eq!(grants.close(second)[..], [(0, 1)]);
    }
}
