//! The adapters that wgpu shows.

#[cfg(not(target_vendor = "apple"))]
use ash::vk;

use crate::device::probe::adapters::{Adapter, AdapterKind};
use crate::device::wgpu::open::dtypes;
use crate::machine::{DeviceInfo, Limits, normalise_pci};
use crate::units::Bytes;

/// An adapter, to be opened, and what it tells of itself.
#[derive(Debug)]
pub struct Found {
    /// The adapter.
    pub adapter: wgpu::Adapter,
    /// What it tells.
    pub seen: Adapter,
}

/// Every adapter of every API that this build of wgpu has. No loader or no driver is an empty list.
pub fn list() -> Vec<Found> {
    adapters_of(wgpu::Backends::all())
}

/// Those that can be opened: GL is looked at for what it shows only, and its contexts cost memory and time.
pub(super) fn openable() -> Vec<Found> {
    adapters_of(wgpu::Backends::PRIMARY)
}

fn adapters_of(backends: wgpu::Backends) -> Vec<Found> {
    let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
    descriptor.flags = wgpu::InstanceFlags::empty();
    descriptor.backends = backends;
    let instance = wgpu::Instance::new(descriptor);
    let adapters = pollster::block_on(instance.enumerate_adapters(backends));
    adapters.into_iter().map(|adapter| Found { seen: see(&adapter), adapter }).collect()
}

/// The adapter behind a device of the inventory: the same PCI address, else the same UUID, else the same name.
pub fn of_device(device: &DeviceInfo) -> Option<wgpu::Adapter> {
    let is_it = |seen: &Adapter| match (&seen.pci, &device.pci, &seen.uuid, &device.uuid) {
        (Some(theirs), Some(ours), _, _) => theirs == ours,
        (_, _, Some(theirs), Some(ours)) => ours.to_lowercase().ends_with(theirs.as_str()),
        _ => seen.name == device.model,
    };
    openable().into_iter().find(|found| is_it(&found.seen)).map(|found| found.adapter)
}

fn see(adapter: &wgpu::Adapter) -> Adapter {
    let info = adapter.get_info();
    let vulkan = vulkan_facts(adapter);
    let limits = adapter.limits();
    Adapter {
        name: info.name,
        api: info.backend.to_str().to_owned(),
        driver: [info.driver, info.driver_info].join(" ").trim().to_owned(),
        kind: match info.device_type {
            wgpu::DeviceType::DiscreteGpu => AdapterKind::Discrete,
            wgpu::DeviceType::IntegratedGpu => AdapterKind::Integrated,
            wgpu::DeviceType::VirtualGpu => AdapterKind::Virtual,
            wgpu::DeviceType::Cpu => AdapterKind::Software,
            wgpu::DeviceType::Other => AdapterKind::Other,
        },
        pci: normalise_pci(&info.device_pci_bus_id),
        uuid: vulkan.as_ref().map(|facts| facts.uuid.clone()),
        memory: vulkan.as_ref().and_then(|facts| facts.memory),
        free: vulkan.and_then(|facts| facts.free),
        dtypes: dtypes(adapter.features()),
        limits: Limits {
            buffer_bytes_max: Some(limits.max_buffer_size),
            binding_bytes_max: Some(limits.max_storage_buffer_binding_size),
            workgroups_per_axis_max: Some(limits.max_compute_workgroups_per_dimension.into()),
        },
    }
}

struct VulkanFacts {
    uuid: String,
    memory: Option<Bytes>,
    free: Option<Bytes>,
}

/// What wgpu itself doesn't tell: the UUID and the largest heap that is local to the device.
#[cfg(not(target_vendor = "apple"))]
fn vulkan_facts(adapter: &wgpu::Adapter) -> Option<VulkanFacts> {
    // SAFETY: the guard lives to the end of this function, and nothing it lends is destroyed.
    let hal = unsafe { adapter.as_hal::<wgpu::hal::api::Vulkan>() }?;
    let device = hal.raw_physical_device();
    let instance = hal.shared_instance().raw_instance();
    let has_budget = hal.physical_device_capabilities().supports_extension(ash::ext::memory_budget::NAME);
    let mut ids = vk::PhysicalDeviceIDProperties::default();
    let mut properties = vk::PhysicalDeviceProperties2::default().push_next(&mut ids);
    let mut budget = vk::PhysicalDeviceMemoryBudgetPropertiesEXT::default();
    let mut memory = vk::PhysicalDeviceMemoryProperties2::default();
    if has_budget {
        memory = memory.push_next(&mut budget);
    }
    // SAFETY: `device` belongs to `instance`, both live as long as the guard, wgpu asks for Vulkan 1.1 or its
    // predecessor extension, and the chained structures outlive the calls.
    unsafe {
        instance.get_physical_device_properties2(device, &mut properties);
        instance.get_physical_device_memory_properties2(device, &mut memory);
    }
    let heaps = memory.memory_properties;
    let local = (0..heaps.memory_heap_count as usize)
        .filter(|heap| heaps.memory_heaps[*heap].flags.contains(vk::MemoryHeapFlags::DEVICE_LOCAL))
        .max_by_key(|heap| heaps.memory_heaps[*heap].size);
    let free = |heap: usize| Bytes(budget.heap_budget[heap].saturating_sub(budget.heap_usage[heap]));
    Some(VulkanFacts {
        uuid: uuid_text(&ids.device_uuid),
        memory: local.map(|heap| Bytes(heaps.memory_heaps[heap].size)).filter(|bytes| bytes.0 > 0),
        free: local.filter(|_| has_budget).map(free),
    })
}

#[cfg(target_vendor = "apple")]
fn vulkan_facts(_: &wgpu::Adapter) -> Option<VulkanFacts> {
    None
}

#[cfg(any(test, not(target_vendor = "apple")))]
fn uuid_text(bytes: &[u8; 16]) -> String {
    let hex = bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::probe;

    #[test]
    fn uuids_are_written_as_nvml_writes_them() {
        let bytes = std::array::from_fn(|at| at as u8);
        assert_eq!(uuid_text(&bytes), "00010203-0405-0607-0809-0a0b0c0d0e0f");
    }

    #[test]
    fn each_adapter_is_found_again() {
        for found in openable() {
            let adapters = vec![found.seen.clone()];
            let machine = probe::join(&probe::Sources { adapters, ..Default::default() }).machine;
            let again = of_device(&machine.devices[1]);
            assert_eq!(again.map(|adapter| adapter.get_info()), Some(found.adapter.get_info()));
        }
    }
}
