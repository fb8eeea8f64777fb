//! What the reactor knows of a plan: who waits for whom, and what starting each step takes. Made once, outside the
//! lock that workers share, and never changed.

use std::collections::HashMap;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::csr::Csr;
use crate::ids::StepId;
use crate::reactor::profile::Profile;
use crate::steps::{Lane, Plan, Step};

/// More queues than this in a lane and steps of unequal needs share one: what can't start at its head then holds up
/// others that could.
const QUEUES_MAX: usize = 64;

/// What steps of one queue share: lane, memory, size in powers of two, resources.
type Likeness<'a> = (Lane, u16, u32, &'a [(u16, u64)]);

/// The tables of one plan.
#[derive(Debug)]
pub struct Tasks {
    plan: Arc<Plan>,
    /// For each step, the steps that wait for it: those that read its value, ascending, then those ordered after it.
    followers: Csr,
    /// Where the readers end among the followers of each step; empty where all followers are readers.
    readers: Vec<u32>,
    /// By class of step.
    classes: Vec<Class>,
    queues: Queues,
    /// By memory.
    demands: Vec<Demand>,
}

/// What starting a step of a class takes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Class {
    pub(super) need: Need,
    pub(super) lane: Lane,
    pub(super) queue: u16,
    /// In [`Plan::terms`].
    pub(super) terms: u32,
    /// Whether it takes any resources.
    pub(super) takes: bool,
    /// Whether it takes any but a share of a GPU, whose worker runs one kernel after the other anyway.
    pub(super) takes_custom: bool,
    /// Whether it is no part of a bundle: an attempt that may be given up must be its worker's only one.
    pub(super) alone: bool,
}

/// What one step takes of a memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Need {
    /// The memory that it allocates in.
    pub memory: u16,
    /// Bytes of its value; they stay until the last reader is done.
    pub value: u64,
    /// Bytes that it holds only while it runs.
    pub scratch: u64,
}

impl Need {
    /// Bytes that it takes when it starts.
    pub fn bytes(self) -> u64 {
        self.value + self.scratch
    }
}

/// What a plan asks of one memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Demand {
    /// Bytes of results, which are held from beginning to end.
    pub results: u64,
    /// Bytes held at once when steps run one after the other in planned order; results included.
    pub peak: u64,
    /// What the plan says that its own order holds at once, beside results.
    pub planned: u64,
    /// Bytes of all values, all scratch and all results: more is never held.
    pub total: u64,
    /// What nine of ten steps that allocate stay within.
    pub usual: u64,
}

/// Steps by what they need: those of one queue start or wait together.
#[derive(Debug)]
pub(super) struct Queues {
    /// For each lane its queues.
    pub(super) of_lane: Vec<SmallVec<[u16; 4]>>,
    /// For each queue its steps, ascending; empty where there is one queue, whose steps are all.
    members: Vec<Vec<u32>>,
    /// For each step its place in its queue; empty where there is one queue.
    places: Vec<u32>,
    counts: Vec<usize>,
}

impl Queues {
    pub(super) fn count(&self) -> usize {
        self.counts.len()
    }

    pub(super) fn len(&self, queue: usize) -> usize {
        self.counts[queue]
    }

    pub(super) fn place(&self, step: u32) -> u32 {
        self.places.get(step as usize).copied().unwrap_or(step)
    }

    pub(super) fn step(&self, queue: usize, place: u32) -> u32 {
        self.members.get(queue).map_or(place, |members| members[place as usize])
    }
}

impl Tasks {
    /// The tables of a plan. O(steps + operands).
    pub fn new(plan: Arc<Plan>) -> Self {
        let count = plan.steps.len();
        let (followers, readers) = followers(&plan);
        let mut numbers: HashMap<Likeness<'_>, u16> = HashMap::new();
        let mut of_lane = vec![SmallVec::new(); plan.lanes().count()];
        let mut queue_count = 0u16;
        let custom = plan.resources.len() - plan.gpu_shares.min(plan.resources.len());
        let classes: Vec<Class> = plan
            .steps
            .classes()
            .iter()
            .map(|step| {
                let (lane, need, terms) =
                    (plan.lanes().of_step(step), need(&plan, step), &plan.terms[step.terms as usize]);
                let size = u64::BITS - need.bytes().leading_zeros();
                let queues: &mut SmallVec<[u16; 4]> = &mut of_lane[usize::from(lane)];
                let queue =
                    *numbers.entry((lane, need.memory, size, &terms.resources)).or_insert_with(|| {
                        if queues.len() == QUEUES_MAX {
                            return queues[QUEUES_MAX - 1];
                        }
                        queues.push(queue_count);
                        queue_count += 1;
                        queue_count - 1
                    });
                Class {
                    need,
                    lane,
                    queue,
                    terms: step.terms,
                    takes: !terms.resources.is_empty(),
                    takes_custom: terms.resources.iter().any(|(at, _)| usize::from(*at) < custom),
                    alone: terms.timeout.is_some(),
                }
            })
            .collect();
        let mut queues = Queues {
            of_lane,
            members: Vec::new(),
            places: Vec::new(),
            counts: vec![0; usize::from(queue_count)],
        };
        let queue_of = |class: &u32| usize::from(classes[*class as usize].queue);
        if queue_count <= 1 {
            queues.counts.iter_mut().for_each(|steps| *steps = count);
        } else {
            plan.steps.class_of().iter().for_each(|class| queues.counts[queue_of(class)] += 1);
            queues.members = queues.counts.iter().map(|&steps| Vec::with_capacity(steps)).collect();
            queues.places.reserve_exact(count);
            for (step, class) in plan.steps.class_of().iter().enumerate() {
                let members = &mut queues.members[queue_of(class)];
                queues.places.push(members.len() as u32);
                members.push(step as u32);
            }
        }
        let mut tasks = Tasks { plan, followers, readers, classes, queues, demands: Vec::new() };
        tasks.demands = (0..tasks.plan.memories.len()).map(|memory| tasks.demand_on(memory as u16)).collect();
        tasks
    }

    /// The plan.
    pub fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    /// What the plan asks of each memory.
    pub fn demands(&self) -> &[Demand] {
        &self.demands
    }

    /// Steps.
    pub fn len(&self) -> usize {
        self.plan.steps.len()
    }

    /// Whether there are no steps.
    pub fn is_empty(&self) -> bool {
        self.plan.steps.is_empty()
    }

    /// What a step takes of its memory.
    pub fn need(&self, step: u32) -> Need {
        self.class(step).need
    }

    pub(super) fn class(&self, step: u32) -> &Class {
        &self.classes[self.plan.steps.class_of()[step as usize] as usize]
    }

    /// The most that any step takes of some resource.
    pub(super) fn most_of(&self, resource: u16) -> u64 {
        let amounts = self.plan.terms.iter().flat_map(|terms| &terms.resources);
        amounts.filter(|(other, _)| *other == resource).map(|(_, amount)| *amount).max().unwrap_or(0)
    }

    pub(super) fn resources(&self, step: u32) -> &[(u16, u64)] {
        &self.plan.terms[self.class(step).terms as usize].resources
    }

    pub(super) fn queues(&self) -> &Queues {
        &self.queues
    }

    pub(super) fn followers(&self) -> &Csr {
        &self.followers
    }

    /// The steps that read a value, ascending.
    pub(super) fn readers(&self, value: u32) -> &[u32] {
        let followers = self.followers.of(value);
        self.readers.get(value as usize).map_or(followers, |&readers| &followers[..readers as usize])
    }

    /// For each step, how many it waits for.
    pub(super) fn waiting(&self) -> Vec<u32> {
        let offsets = &self.plan.operand_offsets;
        let mut waiting: Vec<u32> = offsets.windows(2).map(|pair| pair[1] - pair[0]).collect();
        self.plan.orderings.iter().for_each(|(_, later)| waiting[later.index()] += 1);
        waiting
    }

    /// Bytes held while each step runs, in planned order.
    pub(super) fn profile(&self, memory: u16) -> Profile {
        Profile::new(&self.held(memory))
    }

    fn held(&self, memory: u16) -> Vec<i64> {
        let count = self.len();
        let mut change = vec![0i64; count + 1];
        for step in 0..count as u32 {
            let need = self.need(step);
            if need.memory == memory {
                let (at, last) = (step as usize, self.readers(step).last().copied().unwrap_or(step));
                change[at] += need.bytes() as i64;
                change[at + 1] -= need.scratch as i64;
                change[last as usize + 1] -= need.value as i64;
            }
        }
        let mut held = self.plan.memories[usize::from(memory)].results.0 as i64;
        let running = |change: &i64| {
            held += change;
            held
        };
        change[..count].iter().map(running).collect()
    }

    fn demand_on(&self, memory: u16) -> Demand {
        let planned = &self.plan.memories[usize::from(memory)];
        let results = planned.results.0;
        let beside = planned.peak.0.saturating_sub(results);
        let mut demand = Demand { results, planned: beside, ..Demand::default() };
        let mut steps_of = vec![0u64; self.classes.len()];
        self.plan.steps.class_of().iter().for_each(|&class| steps_of[class as usize] += 1);
        let mut sizes: Vec<(u64, u64)> = Vec::new();
        for (class, &steps) in self.classes.iter().zip(&steps_of) {
            if class.need.memory == memory && class.need.bytes() > 0 {
                sizes.push((class.need.bytes(), steps));
            }
        }
        sizes.sort_unstable();
        let all: u64 = sizes.iter().map(|(_, steps)| steps).sum();
        let mut seen = 0;
        for &(bytes, steps) in &sizes {
            seen += steps;
            demand.usual = bytes;
            if seen * 10 >= all * 9 {
                break;
            }
        }
        let total = sizes
            .iter()
            .fold(0u64, |total, (bytes, steps)| total.saturating_add(bytes.saturating_mul(*steps)));
        demand.total = total.saturating_add(demand.results);
        // Nobody asks for the peak of a plan that fits whole.
        let fits = planned.budget.is_none_or(|budget| demand.total <= budget.0 / 8);
        demand.peak =
            if fits { demand.total } else { self.held(memory).into_iter().max().unwrap_or(0).max(0) as u64 };
        demand.peak = demand.peak.max(demand.results);
        demand
    }
}

fn need(plan: &Plan, step: &Step) -> Need {
    let scratch = plan.terms[step.terms as usize].reserve;
    Need { memory: step.memory.0, value: step.allocated(), scratch }
}

/// The followers of each step, and how many of them are readers where some aren't.
fn followers(plan: &Plan) -> (Csr, Vec<u32>) {
    let count = plan.steps.len();
    let steps = (0..count as u32).map(StepId);
    let reads = steps.flat_map(|id| plan.operands(id).iter().map(move |operand| (operand.step.0, id.0)));
    if plan.orderings.is_empty() {
        return (Csr::new(count, reads), Vec::new());
    }
    let mut readers = vec![0; count];
    plan.operands.iter().for_each(|operand| readers[operand.step.index()] += 1);
    let orderings = plan.orderings.iter().map(|&(earlier, later)| (earlier.0, later.0));
    (Csr::new(count, reads.chain(orderings)), readers)
}
