//! Work that a step submits and waits for.
//!
//! While it waits, its thread does steps of the nested run, and its resources are lent; its memory isn't. Every waiting
//! thread serves the run that it waits for, so nested work gets to its end with a single thread too.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::exec::active::Active;
use crate::exec::pool::Pool;
use crate::exec::worker::Worker;
use crate::reactor::GrantId;
use crate::steps::Lane;
use crate::sync::AtomicU32;
use crate::task;

/// What a thread is in the midst of: what a nested submission finds of its parent.
pub(super) struct Inside {
    pub(super) pool: Arc<Pool>,
    pub(super) active: Arc<Active>,
    pub(super) lane: Lane,
    pub(super) worker: u16,
    /// The grant of the bundle under way.
    pub(super) grant: AtomicU32,
}

impl Inside {
    pub(super) fn depth(&self) -> u16 {
        self.active.depth
    }
}

/// The step that runs on this thread, if it is one of this pool's.
pub(super) fn parent(pool: &Arc<Pool>) -> Option<Arc<Inside>> {
    let inside = task::current()?.owner.downcast::<Inside>().ok()?;
    Arc::ptr_eq(&inside.pool, pool).then_some(inside)
}

impl Pool {
    /// Inside a step of this pool: does steps of `child` until it is over. Elsewhere it does nothing.
    pub(super) fn help(self: &Arc<Self>, child: &Arc<Active>) {
        let Some(inside) = parent(self) else { return };
        let grant = GrantId(inside.grant.load(Ordering::Relaxed));
        if grant != GrantId::NONE {
            let mut core = self.lock();
            core.reactor.lend(grant);
            self.wake_others(&mut core);
        }
        Worker::helping(self.clone(), inside.lane, inside.worker, child.clone()).work();
        if grant != GrantId::NONE {
            let mut core = self.lock();
            while !core.is_over && !core.reactor.reclaim(grant) {
                core = self.sleep_as_helper(core);
            }
        }
    }
}
