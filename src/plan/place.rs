//! Gives every group a device, so that the predicted finish time is least.
//!
//! A group whose class leaves a choice is a unit of placement. The start is the better of earliest finish
//! time in topological order (the list scheduling of Topcuoglu, Hariri and Wu, 2002, with groups as tasks)
//! and everything on one device; then single groups move as long as that helps. Every candidate is scored by
//! the same play: devices do one group after the other, and inputs travel over the links before.

use crate::graph::layer_graph::LayerGraph;
use crate::graph::op::Op;
use crate::ids::{GroupId, LayerId};
use crate::machine::{DeviceId, Machine};
use crate::plan::cost::Work;
use crate::plan::fuse::{Group, Groups};
use crate::plan::resolve::{PlacementClass, Resolution, Resolved};
use crate::settings::Settings;
use crate::units::format_seconds;

/// Rounds of single moves after the start; each round tries every group on every candidate.
const ROUNDS_MAX: usize = 8;

/// Where groups run, and why.
#[derive(Clone, Debug)]
pub struct Placement {
    devices: Vec<DeviceId>,
    reasons: Vec<String>,
    predicted_s: f64,
}

impl Placement {
    /// The device of a group.
    pub fn device(&self, group: GroupId) -> DeviceId {
        self.devices[group.index()]
    }

    /// Why it is there.
    pub fn reason(&self, group: GroupId) -> &str {
        &self.reasons[group.index()]
    }

    /// Predicted seconds from start to end.
    pub fn predicted_s(&self) -> f64 {
        self.predicted_s
    }

    /// The same placement for coarser groups, each of which lies on one device: the root's reason stands.
    pub fn regrouped(&self, old: &Groups, new: &Groups) -> Placement {
        let roots = || new.iter().map(|(_, group)| old.of(group.root()));
        Placement {
            devices: roots().map(|group| self.device(group)).collect(),
            reasons: roots().map(|group| self.reason(group).to_owned()).collect(),
            predicted_s: self.predicted_s,
        }
    }
}

/// Places all groups. O(rounds · choices · groups) plays of O(groups + edges).
pub fn place(
    graph: &LayerGraph,
    groups: &Groups,
    resolved: &Resolved,
    machine: &Machine,
    settings: &Settings,
) -> Placement {
    let scene = Scene::new(graph, groups, resolved, machine, settings);
    let mut best = scene.earliest_finish();
    let mut score = scene.makespan(&best);
    for (device, _) in machine.devices() {
        let mut all = best.clone();
        for (at, candidates) in scene.candidates.iter().enumerate() {
            if candidates.contains(&device) {
                all[at] = device;
            }
        }
        keep_better(&scene, all, &mut best, &mut score);
    }
    for _ in 0..ROUNDS_MAX {
        let before = score;
        for at in 0..best.len() {
            for &device in scene.candidates[at].iter().filter(|_| scene.candidates[at].len() > 1) {
                let mut moved = best.clone();
                moved[at] = device;
                keep_better(&scene, moved, &mut best, &mut score);
            }
        }
        if score >= before {
            break;
        }
    }
    let reasons = groups.iter().map(|(id, group)| scene.reason(group, best[id.index()], id)).collect();
    Placement { devices: best, reasons, predicted_s: score }
}

fn keep_better(scene: &Scene<'_>, devices: Vec<DeviceId>, best: &mut Vec<DeviceId>, score: &mut f64) {
    let makespan = scene.makespan(&devices);
    if makespan < *score {
        *best = devices;
        *score = makespan;
    }
}

struct Scene<'a> {
    resolved: &'a Resolved,
    machine: &'a Machine,
    settings: &'a Settings,
    candidates: Vec<&'a [DeviceId]>,
    work: Vec<Work>,
    /// For each group, the groups that it reads and the bytes that it reads there.
    reads: Vec<Vec<(GroupId, u64)>>,
}

impl<'a> Scene<'a> {
    fn new(
        graph: &'a LayerGraph,
        groups: &'a Groups,
        resolved: &'a Resolved,
        machine: &'a Machine,
        settings: &'a Settings,
    ) -> Self {
        let bytes = |layer: LayerId| {
            let layer = graph.layer(layer);
            (layer.shape().elements() * layer.dtype().size()) as u64
        };
        let reads = |group: &Group| {
            let moves = |input: &LayerId| if matches!(group.op, Op::Wait(_)) { 0 } else { bytes(*input) };
            let inputs = group.inputs.iter().map(|input| (groups.of(*input), moves(input)));
            inputs.chain(group.after.iter().map(|&other| (groups.of(other), 0))).collect::<Vec<_>>()
        };
        Scene {
            resolved,
            machine,
            settings,
            candidates: groups.iter().map(|(_, g)| resolved.of(g.root()).candidates.as_slice()).collect(),
            work: groups.iter().map(|(_, group)| Work::of(graph, group)).collect(),
            reads: groups.iter().map(|(_, group)| reads(group)).collect(),
        }
    }

    fn seconds(&self, at: usize, device: DeviceId) -> f64 {
        self.work[at].seconds(self.machine, device, self.settings.threads)
    }

    /// When group `at` would be done on `device`, everything before it being where `devices` says.
    fn finish(&self, at: usize, device: DeviceId, devices: &[DeviceId], done: &[f64], free: &[f64]) -> f64 {
        let to = self.machine.memory_of(device);
        let arrival = |(group, bytes): &(GroupId, u64)| {
            let from = self.machine.memory_of(devices[group.index()]);
            done[group.index()] + self.machine.link(from, to).seconds(*bytes)
        };
        let inputs = self.reads[at].iter().map(arrival).fold(0.0, f64::max);
        inputs.max(free[usize::from(device.0)]) + self.seconds(at, device)
    }

    fn earliest_finish(&self) -> Vec<DeviceId> {
        let mut devices: Vec<DeviceId> = self.candidates.iter().map(|candidates| candidates[0]).collect();
        let mut done = vec![0.0; devices.len()];
        let mut free = vec![0.0; self.machine.devices.len()];
        for at in 0..devices.len() {
            let finish = |device: &DeviceId| self.finish(at, *device, &devices, &done, &free);
            let soonest = self.candidates[at].iter().copied().min_by(|a, b| finish(a).total_cmp(&finish(b)));
            let device = soonest.unwrap_or(DeviceId::HOST);
            done[at] = self.finish(at, device, &devices, &done, &free);
            free[usize::from(device.0)] = done[at];
            devices[at] = device;
        }
        devices
    }

    fn makespan(&self, devices: &[DeviceId]) -> f64 {
        let mut done = vec![0.0; devices.len()];
        let mut free = vec![0.0; self.machine.devices.len()];
        for at in 0..devices.len() {
            done[at] = self.finish(at, devices[at], devices, &done, &free);
            free[usize::from(devices[at].0)] = done[at];
        }
        done.into_iter().fold(0.0, f64::max)
    }

    fn reason(&self, group: &Group, device: DeviceId, id: GroupId) -> String {
        let resolution: &Resolution = self.resolved.of(group.root());
        let name = &self.machine.device(device).name;
        match (&resolution.fallback, resolution.class) {
            (Some(fallback), _) => fallback.clone(),
            (None, PlacementClass::Host) => resolution.reason.clone(),
            (None, _) if self.candidates[id.index()].len() == 1 => {
                format!("{}: {name} is the one device that fits", resolution.reason)
            }
            (None, _) => {
                let mut others: Vec<String> = Vec::new();
                for &other in self.candidates[id.index()].iter().filter(|&&other| other != device) {
                    let seconds = format_seconds(self.seconds(id.index(), other));
                    others.push(format!("{} {seconds}", self.machine.device(other).name));
                }
                let own = format_seconds(self.seconds(id.index(), device));
                format!("{}: {name} finishes soonest ({own}; {})", resolution.reason, others.join(", "))
            }
        }
    }
}
