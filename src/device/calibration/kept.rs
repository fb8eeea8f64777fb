//! Measured figures on disk, by the device and what drove it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

use serde::{Deserialize, Serialize};

use super::Measured;
use crate::device::user_cache;
use crate::machine::{Backend, DeviceId, DeviceInfo, DeviceKind, Link, Machine, RatesFrom};

/// A file of measured figures. What can't be read, or was measured by another version of Outcrop, is taken for missing.
#[derive(Clone, Debug)]
pub struct Calibration {
    path: Option<PathBuf>,
}

/// A build without optimisation has slower kernels.
const VERSION: &str = match cfg!(debug_assertions) {
    true => concat!(env!("CARGO_PKG_VERSION"), " debug"),
    false => env!("CARGO_PKG_VERSION"),
};

#[derive(Default, Serialize, Deserialize)]
struct File {
    /// Of Outcrop, whose kernels were measured: [`VERSION`].
    version: String,
    devices: BTreeMap<String, Measured>,
}

impl Calibration {
    /// The user's: `outcrop/calibration.json` in `XDG_CACHE_HOME`, or else in `~/.cache`.
    pub fn of_user() -> Self {
        Calibration { path: user_cache::folder().map(|folder| folder.join("calibration.json")) }
    }

    /// One in a file, which is made when something is kept.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Calibration { path: Some(path.into()) }
    }

    /// Where it is; `None` where the user has no folder for caches.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Gives the machine's devices the rates, and the paths to them, that were measured with the same driver.
    pub fn apply(&self, machine: &mut Machine) {
        let file = self.read();
        for id in (0..machine.devices.len()).map(|at| DeviceId(at as u16)) {
            let kept = file.devices.get(&key(machine, machine.device(id)));
            if let Some(measured) = kept.filter(|measured| is_sound(measured)) {
                put(machine, id, measured);
            }
        }
    }

    /// Keeps what was measured of a device, beside what is known of others.
    ///
    /// # Errors
    /// The file can't be written, or there is no place for one.
    pub fn keep(&self, machine: &Machine, device: DeviceId, measured: Measured) -> io::Result<()> {
        let nowhere = || io::Error::new(io::ErrorKind::NotFound, "neither XDG_CACHE_HOME nor HOME is set");
        let path = self.path.as_ref().ok_or_else(nowhere)?;
        let mut file = self.read();
        file.version = VERSION.to_owned();
        file.devices.insert(key(machine, machine.device(device)), measured);
        let folder = path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder)?;
        let mut written = tempfile::NamedTempFile::new_in(folder)?;
        serde_json::to_writer_pretty(&mut written, &file)?;
        written.persist(path)?;
        Ok(())
    }

    fn read(&self) -> File {
        let text = self.path.as_ref().and_then(|path| fs::read_to_string(path).ok()).unwrap_or_default();
        let file: File = serde_json::from_str(&text).unwrap_or_default();
        if file.version == VERSION { file } else { File::default() }
    }
}

/// What figures hold for: the device, by its UUID where it has one, and the driver that it was measured through.
fn key(machine: &Machine, device: &DeviceInfo) -> String {
    if device.kind == DeviceKind::Host {
        return format!("host: {}, {} cores", machine.host.model, machine.host.cores);
    }
    let name = device.uuid.as_ref().or(device.pci.as_ref()).unwrap_or(&device.name);
    let is_way = |api: &str| match device.backend {
        Backend::Cuda => api == "cuda",
        _ => !matches!(api, "cuda" | "nvml" | "gl"),
    };
    let drivers = device.ways.iter().filter(|way| is_way(&way.api) || way.api == "nvml");
    let drivers: Vec<_> = drivers.map(|way| format!("{} {}", way.api, way.driver)).collect();
    format!("{name}: {}, {}", device.model, drivers.join(", "))
}

fn put(machine: &mut Machine, id: DeviceId, measured: &Measured) {
    let device = &mut machine.devices[usize::from(id.0)];
    (device.rates, device.rates_from) = (measured.rates, RatesFrom::Measured);
    let Some(copies) = measured.copies else { return };
    let name = device.memory.clone();
    let ends = |link: &Link, from: &str, to: &str| link.from == from && link.to == to;
    let via = machine.links.iter().find(|link| ends(link, "host", &name)).map(|link| link.via.clone());
    machine.links.retain(|link| !ends(link, "host", &name) && !ends(link, &name, "host"));
    let link = |from: &str, to: &str, bytes_per_s| {
        let (from, to, via) = (from.to_owned(), to.to_owned(), via.clone().unwrap_or_default());
        Link { from, to, bytes_per_s, latency_s: copies.latency_s, via }
    };
    machine.links.push(link("host", &name, copies.to_bytes_per_s));
    machine.links.push(link(&name, "host", copies.from_bytes_per_s));
}

/// Whether a machine may have such figures: somebody may have written the file by hand.
fn is_sound(measured: &Measured) -> bool {
    let rates = &measured.rates;
    let copies =
        measured.copies.map(|copies| [copies.to_bytes_per_s, copies.from_bytes_per_s, copies.latency_s]);
    let figures = [rates.flops_f32, rates.flops_f64, rates.memory_bytes_per_s, rates.launch_s];
    figures.into_iter().chain(copies.into_iter().flatten()).all(|figure| figure.is_finite() && figure > 0.0)
}

#[cfg(test)]
mod tests {
    use super::super::Copies;
    use super::*;
    use crate::machine::{MemoryId, Rates};

    fn machine() -> Machine {
        Machine::from_toml(include_str!("../../../examples/machines/two-unequal-gpus.toml")).unwrap()
    }

    fn measured(copies: bool) -> Measured {
        let rates = Rates { flops_f32: 1e12, flops_f64: 2e12, memory_bytes_per_s: 3e9, launch_s: 4e-6 };
        let figures = Copies { to_bytes_per_s: 5e9, from_bytes_per_s: 6e9, latency_s: 7e-6 };
        Measured { rates, copies: copies.then_some(figures) }
    }

    #[test]
    fn what_is_kept_is_found_again() {
        let folder = tempfile::tempdir().unwrap();
        let calibration = Calibration::at(folder.path().join("deep/in.json"));
        let (described, gpu) = (machine(), DeviceId(2));
        let mut found = machine();
        calibration.apply(&mut found);
        assert_eq!(found, described, "nothing is kept yet");
        calibration.keep(&described, DeviceId::HOST, measured(false)).unwrap();
        calibration.keep(&described, gpu, measured(true)).unwrap();
        calibration.apply(&mut found);
        found.validate().unwrap();
        for (id, device) in found.devices() {
            let is_measured = id != DeviceId(1);
            assert_eq!(device.rates_from == RatesFrom::Measured, is_measured, "{}", device.name);
            assert_eq!(device.rates == measured(false).rates, is_measured, "{}", device.name);
        }
        let memory = found.memory_of(gpu);
        let rates = [found.link(MemoryId::HOST, memory), found.link(memory, MemoryId::HOST)];
        assert_eq!(rates.map(|rate| rate.bytes_per_s), [5e9, 6e9]);
        let mut other = machine();
        other.devices[2].ways.clear();
        calibration.apply(&mut other);
        assert_ne!(other.devices[2].rates_from, RatesFrom::Measured, "another driver");
    }

    #[test]
    fn a_damaged_file_is_a_missing_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("calibration.json");
        let calibration = Calibration::at(&path);
        calibration.keep(&machine(), DeviceId::HOST, measured(false)).unwrap();
        let whole = fs::read_to_string(&path).unwrap();
        let damages = [
            whole[..whole.len() / 2].to_owned(),
            whole.replace("1000000000000.0", "-1.0"),
            whole.replace(VERSION, "0.0.0-other"),
            String::new(),
        ];
        for damaged in damages {
            assert_ne!(damaged, whole);
            fs::write(&path, &damaged).unwrap();
            let mut found = machine();
            calibration.apply(&mut found);
            assert_eq!(found, machine(), "{damaged}");
        }
        calibration.keep(&machine(), DeviceId::HOST, measured(false)).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), whole);
    }
}
