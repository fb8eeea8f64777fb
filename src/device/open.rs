//! Opening a device of the inventory, whatever drives it.

use std::sync::Arc;

use super::contract::{Device, DeviceError};
use super::host::Host;
use crate::machine::{Backend, DeviceInfo};
use crate::units::Bytes;

/// Opens the device. Its buffers will take at most `capacity`; without one, whatever its driver gives. `None` where this
/// build can't drive it, or where it is only a description.
///
/// # Errors
/// Its driver refuses, or doesn't show it any more.
pub fn open(info: &DeviceInfo, capacity: Option<Bytes>) -> Result<Option<Arc<dyn Device>>, DeviceError> {
    Ok(match info.backend {
        Backend::Host => Some(Arc::new(Host::new(capacity.map(|bytes| bytes.0)))),
        #[cfg(feature = "wgpu")]
        Backend::Wgpu => Some(Arc::new(super::wgpu::WgpuDevice::of(info, capacity)?)),
        #[cfg(not(feature = "wgpu"))]
        Backend::Wgpu => None,
        #[cfg(feature = "cuda")]
        Backend::Cuda => Some(Arc::new(super::cuda::CudaDevice::of(info, capacity)?)),
        #[cfg(not(feature = "cuda"))]
        Backend::Cuda => None,
        Backend::Sim => None,
    })
}
