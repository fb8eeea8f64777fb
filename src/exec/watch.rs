//! Attempts that should have ended, and devices whose drivers say nothing.

use std::sync::Arc;
use std::time::Duration;

use crate::device::contract::DeviceError;
use crate::exec::due::Due;
use crate::exec::error::StepError;
use crate::exec::pool::{Core, Pool};
use crate::exec::posts::Post;
use crate::reactor::Event;
use crate::steps::{Lane, Step};
use crate::sync::now;
use crate::units::format_seconds;

impl Pool {
    /// Attempts begin that are given up when they are long overdue. A device's steps come in many short bundles, so its
    /// lane is looked at now and then, instead of setting the timer for each.
    pub(super) fn watch_over(&self, core: &mut Core, post: Post) -> u64 {
        let (due, lane, first) = (post.due, post.lane, post.started + post.limit);
        let is_stepwise = !post.is_device || post.active.plan.terms_of(post.steps[0].0).timeout.is_some();
        let ticket = core.posts.open(post);
        if is_stepwise {
            self.timer.set(due, Due::Overdue(ticket));
        } else if core.posts.look_after(lane, ticket) {
            self.timer.set(first, Due::Look(lane));
        }
        ticket
    }

    /// Looks at a lane that is looked after, and comes back later.
    pub(super) fn look(self: &Arc<Self>, lane: Lane) {
        let Some((ticket, due)) = self.lock().posts.look(lane) else { return };
        let now = now();
        if due <= now {
            self.give_up(ticket);
        }
        // The next bundle may be due sooner than this one.
        let period = self.limits().device_timeout.unwrap_or(Duration::MAX);
        self.timer.set(due.max(now).min(now + period), Due::Look(lane));
    }

    /// Attempts that are long overdue: the run goes on without their thread and without what they hold. A device whose
    /// driver doesn't answer counts as lost.
    pub(super) fn give_up(self: &Arc<Self>, ticket: u64) {
        let mut guard = self.lock();
        let core = &mut *guard;
        let Some(post) = core.posts.give_up(ticket) else { return };
        let Post { run, ref active, limit, lane, is_device, .. } = post;
        let (plan, took) = (&active.plan, now().saturating_duration_since(post.started));
        let silence = format!("its driver hasn't answered for {}", format_seconds(took.as_secs_f64()));
        let silent = self.lanes().of(lane).device().filter(|_| is_device);
        if let Some(device) = silent {
            self.lose(device, silence.clone());
        }
        for (&(step, grant), ticket) in post.steps.iter().zip(ticket..) {
            let held = core.reactor.holds(run, step);
            // The thread may still write to a result, which nobody else may be given then.
            let retryable = !is_device && plan.step(step).output == Step::NO_OUTPUT;
            let attempts = core.reactor.failures(run, step) + 1;
            let event = Event::Abandoned { run, step, grant, ticket, retryable };
            core.reactor.on_events(&[event], &mut core.commands);
            let error = match silent {
                Some(device) => {
                    let device = plan.device_names[usize::from(device.0)].clone();
                    DeviceError::Lost { device, message: silence.clone() }.into()
                }
                None => StepError::Abandoned { took, limit, held },
            };
            if let Some(slot) = core.run(run) {
                slot.books.count(plan.step(step).layer, took.as_nanos() as u64, false);
            }
            core.failed(run, step, attempts, error);
        }
        self.obey(core, &mut Vec::new());
        self.wake_others(core);
        drop(guard);
        self.threads.replace(self, post.worker);
    }
}
