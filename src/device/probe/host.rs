//! The host: cores, model, and the memory that this process may use.

use std::path::{Component, Path};

use crate::units::Bytes;

/// What the operating system tells of the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostFacts {
    /// Cores that this process may use.
    pub cores: usize,
    /// The processor's name.
    pub model: String,
    /// NUMA nodes; `None` where the system doesn't tell.
    pub numa_nodes: Option<usize>,
    /// The smaller of the machine's memory and the control group's limit; `None` where neither is told.
    pub memory: Option<Bytes>,
    /// Memory that is free for new use, within the limit.
    pub free: Option<Bytes>,
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
        numa_nodes: file(Path::new("/sys/devices/system/node/online")).and_then(|list| listed(&list)),
        memory: within(kibibytes(&meminfo, "MemTotal:")).map(Bytes),
        free: kibibytes(&meminfo, "MemAvailable:").and_then(|bytes| within(Some(bytes))).map(Bytes),
    }
}

fn model(cpuinfo: &str) -> Option<&str> {
    let line = cpuinfo.lines().find(|line| line.starts_with("model name"))?;
    line.split_once(':').map(|(_, model)| model.trim()).filter(|model| !model.is_empty())
}

/// How many numbers a list like `0-3,8` has.
fn listed(list: &str) -> Option<usize> {
    let range = |range: &str| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last) = (first.parse::<usize>().ok()?, last.parse::<usize>().ok()?);
        (last >= first).then(|| last - first + 1)
    };
    list.trim().split(',').map(range).sum()
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
    fn numa_nodes_are_counted() {
        const ONLINE: &str = "/sys/devices/system/node/online";
        assert_eq!(facts(&[(ONLINE, "0\n")]).numa_nodes, Some(1));
        assert_eq!(facts(&[(ONLINE, "0-1,4\n")]).numa_nodes, Some(3));
        assert_eq!(facts(&[(ONLINE, "\n")]).numa_nodes, None);
        assert_eq!(facts(&[]).numa_nodes, None);
    }

    #[test]
    fn the_model_is_read_or_the_architecture_stands_in() {
        let known = facts(&[("/proc/cpuinfo", "processor\t: 0\nmodel name\t: AMD EPYC 7543\n")]);
        assert_eq!(known.model, "AMD EPYC 7543");
        assert_eq!(facts(&[]).model, std::env::consts::ARCH);
        assert!(facts(&[]).cores >= 1);
    }
}
