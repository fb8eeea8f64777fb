//! What the user settled for a run, resolved from flags, environment and the pipeline file.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use crate::annotate::{Annotations, Overrides};
use crate::units::Bytes;

/// How long a driver may take for one step where nobody says otherwise.
const DEVICE_TIMEOUT: Duration = Duration::from_secs(60);

/// Settings as they come, from one place; `None` means "not said here".
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Config {
    /// Worker threads of the host pool.
    pub threads: Option<usize>,
    /// Whether each host thread stays on one core.
    pub pin_threads: Option<bool>,
    /// Budget of anonymous host memory.
    pub memory: Option<Bytes>,
    /// How long a device's driver may take for one step without a `timeout` before the device counts as lost.
    pub device_timeout: Option<Duration>,
    /// Whether values may be spilled to disk.
    pub spill: Option<bool>,
    /// The folder for spilled values.
    pub spill_dir: Option<PathBuf>,
    /// What spilled values may take on disk.
    pub spill_limit: Option<Bytes>,
    /// Everything may run on the host.
    pub cpu_only: Option<bool>,
    /// `prefer-gpu` is as strict as `gpu`.
    pub deny_fallback: Option<bool>,
    /// Software adapters count as GPUs.
    pub allow_software_gpu: Option<bool>,
    /// Amounts of custom resources, by name.
    pub resources: Option<BTreeMap<String, f64>>,
    /// Plans are checked when they are made.
    pub verify: Option<bool>,
    /// The directory in which finished blocks are kept, and from which a later run takes them.
    pub resume: Option<PathBuf>,
    /// The session's default annotations. Those of several places merge, the nearer place inside.
    pub annotations: Annotations,
    /// Annotations over those of the layers. Those of the nearer place come later, and win.
    pub overrides: Overrides,
}

impl Config {
    /// What the environment says: `OUTCROP_CPU_ONLY`, `OUTCROP_DENY_FALLBACK` and
    /// `OUTCROP_ALLOW_SOFTWARE_GPU` (1 or 0), read here and nowhere else.
    pub fn from_environment() -> Self {
        let flag = |name: &str| {
            let value = std::env::var(name).ok()?;
            Some(!matches!(value.as_str(), "" | "0" | "false" | "no"))
        };
        Config {
            cpu_only: flag("OUTCROP_CPU_ONLY"),
            deny_fallback: flag("OUTCROP_DENY_FALLBACK"),
            allow_software_gpu: flag("OUTCROP_ALLOW_SOFTWARE_GPU"),
            ..Config::default()
        }
    }

    /// This, and where it says nothing, `other`.
    pub fn or(self, other: Config) -> Config {
        Config {
            threads: self.threads.or(other.threads),
            pin_threads: self.pin_threads.or(other.pin_threads),
            memory: self.memory.or(other.memory),
            device_timeout: self.device_timeout.or(other.device_timeout),
            spill: self.spill.or(other.spill),
            spill_dir: self.spill_dir.or(other.spill_dir),
            spill_limit: self.spill_limit.or(other.spill_limit),
            cpu_only: self.cpu_only.or(other.cpu_only),
            deny_fallback: self.deny_fallback.or(other.deny_fallback),
            allow_software_gpu: self.allow_software_gpu.or(other.allow_software_gpu),
            resources: self.resources.or(other.resources),
            verify: self.verify.or(other.verify),
            resume: self.resume.or(other.resume),
            annotations: other.annotations.inner(&self.annotations),
            overrides: other.overrides.then(&self.overrides),
        }
    }

    /// The settings, with defaults for what nobody said: as many threads as `cores`.
    pub fn resolve(self, cores: usize) -> Settings {
        Settings {
            threads: self.threads.unwrap_or(cores).clamp(1, 1024),
            pin_threads: self.pin_threads.unwrap_or(false),
            memory: self.memory,
            device_timeout: self.device_timeout.unwrap_or(DEVICE_TIMEOUT),
            spill: self.spill.unwrap_or(true),
            spill_dir: self.spill_dir,
            spill_limit: self.spill_limit,
            cpu_only: self.cpu_only.unwrap_or(false),
            deny_fallback: self.deny_fallback.unwrap_or(false),
            allow_software_gpu: self.allow_software_gpu.unwrap_or(false),
            resources: self.resources.unwrap_or_default(),
            verify: self.verify.unwrap_or(true),
            resume: self.resume,
            annotations: self.annotations,
            overrides: self.overrides,
        }
    }
}

/// Resolved settings.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Worker threads of the host pool, at least 1.
    pub threads: usize,
    /// Each host thread stays on one core of those that the process may use; only on Linux.
    pub pin_threads: bool,
    /// Budget of anonymous host memory; `None` leaves the machine's own limit.
    pub memory: Option<Bytes>,
    /// How long a device's driver may take for one step without a `timeout` before the device counts as lost.
    pub device_timeout: Duration,
    /// A plan above its budget moves values to disk and back; without this it is refused.
    pub spill: bool,
    /// The folder for spilled values; `None` is the system's folder for temporary files.
    pub spill_dir: Option<PathBuf>,
    /// What spilled values may take on disk; `None` is no limit.
    pub spill_limit: Option<Bytes>,
    /// Everything may run on the host: `gpu`, GPU `workers` and GPU `memory` are waived, and the report
    /// lists what was.
    pub cpu_only: bool,
    /// A `prefer-gpu` layer without a GPU is an error.
    pub deny_fallback: bool,
    /// Software adapters count as GPUs.
    pub allow_software_gpu: bool,
    /// Amounts of custom resources, by name.
    pub resources: BTreeMap<String, f64>,
    /// Plans are checked when they are made: a fault of the planner's own is an error instead of a wrong run.
    pub verify: bool,
    /// The directory in which finished blocks are kept, and from which a later run takes them.
    pub resume: Option<PathBuf>,
    /// What holds for layers that don't say otherwise.
    pub annotations: Annotations,
    /// What holds for layers whatever they say.
    pub overrides: Overrides,
}

impl Default for Settings {
    fn default() -> Self {
        Config::default().resolve(std::thread::available_parallelism().map_or(1, usize::from))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearer_place_wins() {
        let flags = Config { threads: Some(3), cpu_only: Some(false), ..Config::default() };
        let file =
            Config { threads: Some(8), cpu_only: Some(true), deny_fallback: Some(true), ..Config::default() };
        let settings = flags.or(file).resolve(2);
        assert_eq!((settings.threads, settings.cpu_only, settings.deny_fallback), (3, false, true));
        assert_eq!(Config::default().resolve(2).threads, 2);
    }

    #[test]
    fn annotations_of_all_places_merge() -> Result<(), Box<dyn std::error::Error>> {
        let config = |retries: u32, key: &str| -> Result<Config, Box<dyn std::error::Error>> {
            let annotations = Annotations::new().with_retries(retries)?.set(key, true)?;
            let overrides = Overrides::new().with("*", annotations.clone())?;
            Ok(Config { annotations, overrides, ..Config::default() })
        };
        let settings = config(1, "flag")?.or(config(2, "file")?).resolve(1);
        assert_eq!(settings.annotations.to_string(), "file=true flag=true retries=1");
        assert_eq!(settings.overrides.over(&Annotations::new(), &["x"]), settings.annotations);
        Ok(())
    }
}
