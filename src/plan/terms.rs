//! Gives every task its terms and its priority: its layer's, or what functions of the key say for its block.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use crate::annotate::{Annotations, GpuShare};
use crate::ids::{GroupId, LayerId};
use crate::plan::effective::Effective;
use crate::plan::error::PlanError;
use crate::plan::fuse::{Group, Groups};
use crate::plan::task_graph::TaskGraph;
use crate::settings::Settings;
use crate::steps::{StepKind, Terms, is_join, millionths};

/// What a group's tasks have in common, whatever annotations say.
#[derive(Clone, Copy, Debug, Default)]
pub struct Room {
    /// Bytes that its kernels take beside operands and values.
    pub scratch: u64,
    /// A `memory` annotation isn't asked of this device: `--cpu-only` waived it.
    pub is_waived: bool,
    /// The resource that stands for the shares of the GPU that it is placed on.
    pub gpu: Option<u16>,
}

/// The terms of a plan, each once, and the priority of each task.
#[derive(Clone, Debug, Default)]
pub struct Assigned {
    /// What [`Step::terms`](crate::steps::Step::terms) refers to.
    pub terms: Vec<Terms>,
    /// By task; empty where all are equal.
    pub priority: Vec<f64>,
}

impl Assigned {
    /// The terms of a copy of a value made under `terms`. O(terms).
    pub fn of_copy(&mut self, terms: u32) -> u32 {
        let copy = self.terms[terms as usize].of_copy();
        let at = self.terms.iter().position(|known| *known == copy).unwrap_or_else(|| {
            self.terms.push(copy);
            self.terms.len() - 1
        });
        at as u32
    }
}

/// Sets the terms of all tasks, which are in topological order. `rooms` is by group. O(tasks · layers of the
/// groups with functions).
///
/// # Errors
/// [`PlanError::Bug`] when layers were fused whose functions disagree.
pub fn assign(
    tasks: &mut TaskGraph,
    groups: &Groups,
    effective: &Effective,
    rooms: &[Room],
    settings: &Settings,
) -> Result<Assigned, PlanError> {
    let mut pass = Pass { effective, settings, out: Assigned::default(), numbers: HashMap::new() };
    let plain = pass.plain(groups, rooms)?;
    let mut seen = plain.iter().flatten().map(|(_, priority)| priority);
    let first = seen.next();
    let is_flat = plain.iter().all(Option::is_some) && seen.all(|priority| Some(priority) == first);
    // Of blocks without functions nobody asks for whom they are made.
    let owners = if plain.iter().all(Option::is_some) { Vec::new() } else { owners(tasks) };
    let mut known: HashMap<(u32, u64, Vec<u32>), (u32, f64)> = HashMap::new();
    let mut copies: HashMap<u32, u32> = HashMap::new();
    for at in 0..tasks.tasks.len() {
        let task = tasks.tasks[at];
        let (terms, priority) = if matches!(task.kind, StepKind::Transfer | StepKind::Keep) {
            let from = tasks.operands(at as u32)[0].0 as usize;
            let terms = tasks.tasks[from].terms;
            let copy = copies.entry(terms);
            let terms = *copy.or_insert_with(|| pass.number(pass.out.terms[terms as usize].of_copy()));
            (terms, pass.out.priority.get(from).copied().unwrap_or(0.0))
        } else if is_join(&task, &groups.group(GroupId(task.layer)).op) {
            // What waits for it raises it as far as it has to come first.
            (pass.number(Terms::default()), f64::NEG_INFINITY)
        } else if let Some(plain) = plain[task.layer as usize] {
            plain
        } else {
            let group = groups.group(GroupId(task.layer));
            let counted = if asks_memory(group) { counted(tasks, at as u32) } else { 0 };
            let owner = owners.get(at).copied().unwrap_or(task.block);
            match known.entry((task.layer, counted, pass.sets(group, owner as usize))) {
                Entry::Occupied(known) => *known.get(),
                Entry::Vacant(place) => {
                    let (_, counted, sets) = place.key();
                    let made = pass.make(group, sets, rooms[task.layer as usize], *counted)?;
                    *place.insert(made)
                }
            }
        };
        // What exists is read: nothing is computed.
        let terms = match task.kind {
            StepKind::Recall => pass.number(pass.out.terms[terms as usize].of_copy()),
            _ => terms,
        };
        tasks.tasks[at].terms = terms;
        if !is_flat {
            pass.out.priority.push(priority);
        }
    }
    Ok(pass.out)
}

/// Whether what a group's tasks reserve depends on what they read.
fn asks_memory(group: &Group) -> bool {
    group.annotations.memory().is_some() || group.annotations.function("memory").is_some()
}

/// Bytes of a task's value and operands, which the ledger counts anyway: those of a view of a source aren't among them.
fn counted(tasks: &TaskGraph, task: u32) -> u64 {
    let mut operands: Vec<u32> = tasks.operands(task).iter().map(|&(from, _)| from).collect();
    operands.sort_unstable();
    operands.dedup();
    operands.iter().chain([&task]).map(|&value| tasks.tasks[value as usize].bytes).sum()
}

/// For each task, the block of its layer's result that it works for: states and padded copies work for the
/// block that they end in.
fn owners(tasks: &TaskGraph) -> Vec<u64> {
    let mut owners: Vec<u64> = tasks.tasks.iter().map(|task| task.block).collect();
    for at in (0..owners.len()).rev() {
        let task = &tasks.tasks[at];
        for &(from, _) in tasks.operands(at as u32) {
            let other = &tasks.tasks[from as usize];
            let is_part = matches!(other.kind, StepKind::Fold | StepKind::Combine | StepKind::Pad { .. });
            if is_part && other.layer == task.layer {
                owners[from as usize] = owners[at];
            }
        }
    }
    owners
}

struct Pass<'a> {
    effective: &'a Effective,
    settings: &'a Settings,
    out: Assigned,
    numbers: HashMap<Terms, u32>,
}

impl Pass<'_> {
    /// For each group, the terms and the priority of all its tasks, where these have the same.
    fn plain(&mut self, groups: &Groups, rooms: &[Room]) -> Result<Vec<Option<(u32, f64)>>, PlanError> {
        let effective = self.effective;
        let plain = |((_, group), &room): ((GroupId, &Group), &Room)| {
            let is_plain = !asks_memory(group) && !effective.varies(group.root());
            is_plain.then(|| self.make(group, &[], room, 0)).transpose()
        };
        groups.iter().zip(rooms).map(plain).collect()
    }

    /// What the functions of a group's layers gave for a block; empty without functions.
    fn sets(&self, group: &Group, block: usize) -> Vec<u32> {
        let set = |layer: &LayerId| self.effective.set_of(*layer, block);
        if self.effective.varies(group.root()) {
            group.layers.iter().filter_map(set).collect()
        } else {
            Vec::new()
        }
    }

    fn make(
        &mut self,
        group: &Group,
        sets: &[u32],
        room: Room,
        counted: u64,
    ) -> Result<(u32, f64), PlanError> {
        let mut joined: Option<Annotations> = None;
        for &number in sets {
            let set = self.effective.set(number);
            joined = Some(match joined {
                None => set.clone(),
                Some(so_far) => so_far.fused(set).map_err(|conflict| PlanError::Bug {
                    pass: "fuse",
                    problem: format!("layers that can't fuse did: {conflict}"),
                })?,
            });
        }
        let annotations = joined.as_ref().unwrap_or(&group.annotations);
        let asked = annotations.memory().filter(|_| !room.is_waived).map_or(0, |memory| memory.0);
        let beyond = asked.saturating_sub(counted);
        let place = |name: &str| self.settings.resources.keys().position(|known| known == name);
        let resources = annotations.resources().iter().filter(|(_, amount)| **amount > 0.0);
        let share = room.gpu.zip(group.annotations.gpu()).map(|(gpu, share)| match share {
            GpuShare::Fraction(share) => (gpu, share),
            GpuShare::Whole(count) => (gpu, f64::from(count)),
        });
        let terms = Terms {
            retries: annotations.retries().unwrap_or(0),
            timeout: annotations.timeout(),
            // The least amount that the ledger can count is never taken for nothing.
            resources: resources
                .filter_map(|(name, &amount)| Some((place(name)? as u16, amount)))
                .chain(share)
                .map(|(at, amount)| (at, millionths(amount).max(1)))
                .collect(),
            reserve: beyond.max(room.scratch),
            memory: if beyond > 0 { asked } else { 0 },
        };
        Ok((self.number(terms), annotations.priority().unwrap_or(0.0)))
    }

    fn number(&mut self, terms: Terms) -> u32 {
        let all = &mut self.out.terms;
        *self.numbers.entry(terms).or_insert_with_key(|terms| {
            all.push(terms.clone());
            (all.len() - 1) as u32
        })
    }
}
