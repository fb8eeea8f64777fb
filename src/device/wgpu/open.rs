//! Opening an adapter.

use std::sync::Arc;

use super::adapters;
use super::compiler::WgpuCompiler;
use super::health::Health;
use super::memory::WgpuMemory;
use super::queue::WgpuQueue;
use crate::device::caching::Caching;
use crate::device::contract::{Compiler, Device, DeviceError, Memory, Queue};
use crate::dtype::DType;
use crate::kernel::capability::{WGPU_DTYPES, WGPU_INPUTS_MAX};
use crate::machine::DeviceInfo;
use crate::units::Bytes;

/// An open wgpu device. What waits on it is the thread that calls; it has none of its own.
pub struct WgpuDevice {
    name: String,
    adapter_name: String,
    dtypes: Vec<DType>,
    memory: Arc<Caching<WgpuMemory>>,
    compiler: WgpuCompiler,
    compute: WgpuQueue,
    copies: WgpuQueue,
}

/// Which adapter to open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selector {
    /// The one at this PCI address; domains of four and eight digits are the same.
    Pci(String),
    /// The first whose name contains this.
    Name(String),
    /// The first that computes on the CPU, for tests: lavapipe.
    Software,
}

/// An adapter can't be opened.
#[derive(Debug, Clone, thiserror::Error)]
pub enum OpenError {
    /// None matches.
    #[error("no adapter {wanted}; there {}", listed(found))]
    NoAdapter {
        /// What was looked for.
        wanted: String,
        /// The names of those that are there.
        found: Vec<String>,
    },
    /// The driver refused.
    #[error("{adapter}: the driver gives no device: {message}")]
    Refused {
        /// The adapter.
        adapter: String,
        /// What it said.
        message: String,
    },
    /// Kernels need more bindings.
    #[error("{adapter}: {found} storage buffers in one kernel; {needed} are needed")]
    Bindings {
        /// The adapter.
        adapter: String,
        /// Its limit.
        found: u32,
        /// Outcrop's need.
        needed: u32,
    },
}

fn listed(found: &[String]) -> String {
    if found.is_empty() { "is none at all".to_owned() } else { format!("are: {}", found.join(", ")) }
}

/// Finds an adapter and opens it: see [`WgpuDevice::open`].
pub fn open_adapter(name: &str, selector: &Selector, capacity_bytes: usize) -> Result<WgpuDevice, OpenError> {
    let adapters: Vec<wgpu::Adapter> = adapters::openable().into_iter().map(|found| found.adapter).collect();
    let found = adapters.iter().map(|adapter| adapter.get_info().name).collect();
    match adapters.into_iter().find(|adapter| selector.takes(&adapter.get_info())) {
        Some(adapter) => WgpuDevice::open(name, &adapter, capacity_bytes),
        None => Err(OpenError::NoAdapter { wanted: selector.to_string(), found }),
    }
}

/// The element types that an adapter's kernels compute in. `f64` needs 64-bit integers too: its special
/// values are told by their bits.
pub(super) fn dtypes(features: wgpu::Features) -> Vec<DType> {
    let mut dtypes = WGPU_DTYPES.to_vec();
    let long = features.contains(wgpu::Features::SHADER_INT64);
    dtypes.extend(long.then_some(DType::I64));
    dtypes.extend((long && features.contains(wgpu::Features::SHADER_F64)).then_some(DType::F64));
    dtypes
}

impl WgpuDevice {
    /// Opens the adapter behind a device of the inventory. Without a known memory size buffers may take
    /// whatever the driver gives.
    pub fn of(info: &DeviceInfo, capacity: Option<Bytes>) -> Result<Self, DeviceError> {
        let failed = |message: String| DeviceError::Failed {
            device: info.name.clone(),
            operation: "opening it".to_owned(),
            message,
        };
        let adapter =
            adapters::of_device(info).ok_or_else(|| failed("no adapter shows it any more".to_owned()))?;
        let capacity = capacity.map_or(usize::MAX, |bytes| bytes.0 as usize);
        WgpuDevice::open(&info.name, &adapter, capacity).map_err(|error| failed(error.to_string()))
    }

    /// Opens `adapter` as the machine's device `name`, with all its limits. Buffers will take at most
    /// `capacity_bytes`; staging for copies and parameters, up to about 64 MiB on the host's side, come on
    /// top.
    pub fn open(name: &str, adapter: &wgpu::Adapter, capacity_bytes: usize) -> Result<Self, OpenError> {
        let adapter_name = adapter.get_info().name;
        let is_software = adapter.get_info().device_type == wgpu::DeviceType::Cpu;
        let limits = adapter.limits();
        let needed = WGPU_INPUTS_MAX as u32 + 2;
        let bindings = limits.max_storage_buffers_per_shader_stage;
        if bindings < needed {
            return Err(OpenError::Bindings { adapter: adapter_name, found: bindings, needed });
        }
        let wanted = wgpu::Features::SHADER_F64 | wgpu::Features::SHADER_INT64;
        let features = adapter.features() & wanted;
        let descriptor = wgpu::DeviceDescriptor {
            label: Some(name),
            required_features: features,
            required_limits: limits,
            ..Default::default()
        };
        let (device, queue) = pollster::block_on(adapter.request_device(&descriptor)).map_err(|error| {
            OpenError::Refused { adapter: adapter_name.clone(), message: error.to_string() }
        })?;
        let dtypes = dtypes(features);
        let health = Health::watch(name, &device);
        let memory = Arc::new(Caching::new(WgpuMemory::new(device.clone(), health.clone(), capacity_bytes)));
        let made = |number: usize| {
            WgpuQueue::new(device.clone(), queue.clone(), health.clone(), number, memory.clone())
        };
        Ok(WgpuDevice {
            name: name.to_owned(),
            adapter_name,
            compiler: WgpuCompiler::new(device.clone(), health.clone(), dtypes.clone(), is_software),
            compute: made(0),
            copies: made(1),
            dtypes,
            memory,
        })
    }

    /// The adapter's own name.
    pub fn adapter_name(&self) -> &str {
        &self.adapter_name
    }

    /// The element types that its kernels compute with.
    pub fn dtypes(&self) -> &[DType] {
        &self.dtypes
    }

    /// Compiles kernels as for hardware from here on, though a processor may play the adapter: for tests of those that share
    /// workgroup memory.
    pub fn treat_as_hardware(&mut self) {
        self.compiler.treat_as_hardware();
    }

    /// Its memory without the pool above it, with the figures that the contract doesn't ask for.
    pub fn wgpu_memory(&self) -> &WgpuMemory {
        self.memory.source()
    }
}

impl Device for WgpuDevice {
    fn name(&self) -> &str {
        &self.name
    }

    fn memory(&self) -> &dyn Memory {
        &*self.memory
    }

    fn compiler(&self) -> &dyn Compiler {
        &self.compiler
    }

    fn queue(&self) -> &dyn Queue {
        &self.compute
    }

    fn uploads(&self) -> &dyn Queue {
        &self.copies
    }

    fn downloads(&self) -> &dyn Queue {
        &self.copies
    }
}

impl Selector {
    fn takes(&self, info: &wgpu::AdapterInfo) -> bool {
        match self {
            Selector::Pci(pci) => !pci.is_empty() && short_pci(&info.device_pci_bus_id) == short_pci(pci),
            Selector::Name(name) => info.name.contains(name.as_str()),
            Selector::Software => {
                info.device_type == wgpu::DeviceType::Cpu && info.backend == wgpu::Backend::Vulkan
            }
        }
    }
}

impl std::fmt::Display for Selector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Selector::Pci(pci) => write!(f, "at PCI address {pci}"),
            Selector::Name(name) => write!(f, "named '{name}'"),
            Selector::Software => f.write_str("that computes on the CPU"),
        }
    }
}

/// The address with a domain of four digits: NVML writes eight, Vulkan four.
fn short_pci(pci: &str) -> String {
    let lower = pci.to_ascii_lowercase();
    match lower.split_once(':') {
        Some((domain, rest)) if domain.len() == 8 => format!("{}:{rest}", &domain[4..]),
        _ => lower,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::Block;
    use crate::device::contract::DeviceError;

    #[test]
    fn pci_addresses_join_whatever_their_domain_is_written_like() {
        assert_eq!(short_pci("00000000:0A:00.0"), short_pci("0000:0a:00.0"));
        assert_ne!(short_pci("0000:01:00.0"), short_pci("0000:02:00.0"));
    }

    #[test]
    fn a_lost_device_says_so_and_nothing_panics() {
        let device = match open_adapter("gpu0", &Selector::Software, 1 << 20) {
            Ok(device) => device,
            Err(error) => {
                let required = std::env::var("OUTCROP_REQUIRE").is_ok_and(|names| names.contains("wgpu"));
                assert!(!required, "OUTCROP_REQUIRE names wgpu: {error}");
                return println!("SKIPPED wgpu: no adapter ({error})");
            }
        };
        let host = Block::from_slice([4], &[1f32, 2.0, 3.0, 4.0]).unwrap();
        let buffer = device.memory().allocate(16).unwrap();
        let block = Block::contiguous(buffer, DType::F32, [4].into());
        device.queue().upload(&host, &block).unwrap();
        device.compute.device.destroy();
        // The loss shows when the device is next asked what is done.
        let calls = [
            device.queue().synchronize(),
            device.queue().upload(&host, &block),
            device.queue().download(&block, &host),
            device.memory().allocate(16).map(drop),
        ];
        for (call, answer) in calls.into_iter().enumerate() {
            assert!(matches!(answer, Err(DeviceError::Lost { .. })), "call {call}: {answer:?}");
        }
    }
}
