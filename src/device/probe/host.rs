//! The host: cores, model, and the memory that this process may use.

use std::collections::BTreeMap;
use std::path::{Component, Path};

use crate::machine::NumaNode;
use crate::units::Bytes;

/// What the operating system tells of the host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostFacts {
    /// Cores that this process may use.
    pub cores: usize,
    /// The processor's name.
    pub model: String,
    /// The smaller of the machine's memory and the control group's limit; `None` where neither is told.
    pub memory: Option<Bytes>,
    /// Memory that is free for new use, within the limit.
    pub free: Option<Bytes>,
    /// The NUMA nodes that have memory or cores of use; none where the system doesn't tell.
    pub numa: Vec<NumaNode>,
    /// The node that a device at a PCI address is attached to, where it is attached to one.
    pub attached: BTreeMap<String, u32>,
}

/// Reads a file of the running system.
pub fn file(path: &Path) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

/// Looks at the host through `file`, which gives the text of a path below `/proc` or `/sys`.
pub fn read(file: &dyn Fn(&Path) -> Option<String>) -> HostFacts {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let cpuinfo = file(Path::new("/proc/cpuinfo")).unwrap_or_default();
    let meminfo = file(Path::new("/proc/meminfo")).unwrap_or_default();
    let limit = cgroup_limit(file);
    let within = |bytes: Option<u64>| match (bytes, limit) {
        (Some(bytes), Some(limit)) => Some(bytes.min(limit)),
        (bytes, limit) => bytes.or(limit),
    };
    HostFacts {
        cores,
        model: model(&cpuinfo).unwrap_or(std::env::consts::ARCH).to_owned(),
        memory: within(kibibytes(&meminfo, "MemTotal:")).map(Bytes),
        free: kibibytes(&meminfo, "MemAvailable:").and_then(|bytes| within(Some(bytes))).map(Bytes),
        numa: numa(file),
        attached: BTreeMap::new(),
    }
}

/// The NUMA node of the device at a PCI address. A machine of one node says -1 of all of them.
pub fn attached(file: &dyn Fn(&Path) -> Option<String>, pci: &str) -> Option<u32> {
    file(&Path::new("/sys/bus/pci/devices").join(pci).join("numa_node"))?.trim().parse().ok()
}

fn numa(file: &dyn Fn(&Path) -> Option<String>) -> Vec<NumaNode> {
    let nodes = file(Path::new("/sys/devices/system/node/online")).unwrap_or_default();
    let status = file(Path::new("/proc/self/status")).unwrap_or_default();
    let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    let is_allowed = |core: u32| allowed.is_none_or(|list| numbers(list).any(|number| number == core));
    numbers(&nodes)
        .filter_map(|node| {
            let list = file(Path::new(&format!("/sys/devices/system/node/node{node}/cpulist")))?;
            Some(NumaNode { node, cores: numbers(&list).filter(|core| is_allowed(*core)).count() })
        })
        .collect()
}

/// The numbers of a list such as `0-3,8,10-11`; parts that aren't understood, or that no machine has, are left out.
fn numbers(list: &str) -> impl Iterator<Item = u32> {
    list.trim()
        .split(',')
        .filter_map(|part| {
            let (first, last) = part.trim().split_once('-').unwrap_or((part.trim(), part.trim()));
            let (first, last) = (first.parse::<u32>().ok()?, last.parse::<u32>().ok()?);
            (last < 1 << 16).then_some(first..=last)
        })
        .flatten()
}

fn model(cpuinfo: &str) -> Option<&str> {
    let line = cpuinfo.lines().find(|line| line.starts_with("model name"))?;
    line.split_once(':').map(|(_, model)| model.trim()).filter(|model| !model.is_empty())
}

fn kibibytes(meminfo: &str, field: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix(field))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// The smallest limit from this process's control group up to the root, of both versions: a parent's limit
/// holds for its children though they don't show it.
fn cgroup_limit(file: &dyn Fn(&Path) -> Option<String>) -> Option<u64> {
    let groups = file(Path::new("/proc/self/cgroup"))?;
    let limits = groups.lines().filter_map(|line| {
        // `hierarchy:controllers:path`; version 2 has hierarchy 0 and no controllers.
        let mut fields = line.splitn(3, ':');
        let (hierarchy, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
        let (root, name) = match controllers {
            "" if hierarchy == "0" => ("/sys/fs/cgroup", "memory.max"),
            _ if controllers.split(',').any(|c| c == "memory") => {
                ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")
            }
            _ => return None,
        };
        // In a container the path may be the host's and not exist here; its ancestors then may.
        let below: Vec<Component> = Path::new(path).components().skip(1).collect();
        (0..=below.len())
            .filter_map(|depth| {
                let group =
                    below[..depth].iter().fold(Path::new(root).to_owned(), |path, part| path.join(part));
                file(&group.join(name))?.trim().parse::<u64>().ok()
            })
            .min()
    });
    limits.min()
}

#[cfg(test)]
mod tests {
    use super::*;

    type Files = &'static [(&'static str, &'static str)];

    fn facts(files: Files) -> HostFacts {
        read(&|path| {
            let found = files.iter().find(|(name, _)| Path::new(name) == path)?;
            Some(found.1.to_owned())
        })
    }

    #[test]
    fn memory_is_the_smallest_limit() {
        const MEMINFO: (&str, &str) =
            ("/proc/meminfo", "MemTotal: 1000 kB\nMemFree: 1 kB\nMemAvailable:   900 kB\n");
        const V2: (&str, &str) = ("/proc/self/cgroup", "0::/user/job\n");
        const V1: (&str, &str) = ("/proc/self/cgroup", "4:cpu,memory:/docker/abc\n0::/\n");
        let table: [(Files, Option<u64>, Option<u64>); 7] = [
            (&[], None, None),
            (&[MEMINFO], Some(1_024_000), Some(921_600)),
            (&[MEMINFO, V2, ("/sys/fs/cgroup/user/job/memory.max", "max\n")], Some(1_024_000), Some(921_600)),
            (&[MEMINFO, V2, ("/sys/fs/cgroup/user/job/memory.max", "5000\n")], Some(5000), Some(5000)),
            (
                &[
                    MEMINFO,
                    V2,
                    ("/sys/fs/cgroup/user/job/memory.max", "max\n"),
                    ("/sys/fs/cgroup/user/memory.max", "7000\n"),
                ],
                Some(7000),
                Some(7000),
            ),
            (
                &[MEMINFO, V1, ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "3000\n")],
                Some(3000),
                Some(3000),
            ),
            (
                &[
                    MEMINFO,
                    V1,
                    ("/sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes", "9223372036854771712\n"),
                ],
                Some(1_024_000),
                Some(921_600),
            ),
        ];
        for (files, memory, free) in table {
            let facts = facts(files);
            assert_eq!((facts.memory.map(|b| b.0), facts.free.map(|b| b.0)), (memory, free), "{files:?}");
        }
    }

    #[test]
    fn numa_nodes_count_the_cores_of_this_process() {
        let facts = facts(&[
            ("/sys/devices/system/node/online", "0-1,3\n"),
            ("/sys/devices/system/node/node0/cpulist", "0-3,8-11\n"),
            ("/sys/devices/system/node/node1/cpulist", "4-7,12-15\n"),
            // Memory without cores: a card's.
            ("/sys/devices/system/node/node3/cpulist", "\n"),
            ("/proc/self/status", "Name:\toutcrop\nCpus_allowed_list:\t2-5,9,4294967295\n"),
        ]);
        let nodes: Vec<_> = facts.numa.iter().map(|node| (node.node, node.cores)).collect();
        assert_eq!(nodes, [(0, 3), (1, 2), (3, 0)]);
        let file = |text: &'static str| move |_: &Path| Some(text.to_owned());
        assert_eq!(attached(&file("1\n"), "0000:41:00.0"), Some(1));
        assert_eq!(attached(&file("-1\n"), "0000:41:00.0"), None);
    }

    #[test]
    fn the_model_is_read_or_the_architecture_stands_in() {
        let known = facts(&[("/proc/cpuinfo", "processor\t: 0\nmodel name\t: AMD EPYC 7543\n")]);
        assert_eq!(known.model, "AMD EPYC 7543");
        assert_eq!(facts(&[]).model, std::env::consts::ARCH);
        assert!(facts(&[]).cores >= 1);
    }
}
