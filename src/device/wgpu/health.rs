//! What went wrong on a device, now or earlier.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::device::contract::DeviceError;

/// Queues of a device, which share the driver's only one: for kernels, and for large copies.
const QUEUES: usize = 2;

/// A device's name and its late errors. Shared with the callbacks that wgpu runs.
pub(super) struct Health {
    device: String,
    /// For each queue the first error that came late and that it wasn't told yet: nobody knows whose it was.
    late: Mutex<[Option<DeviceError>; QUEUES]>,
    /// Set once the device is gone; every later call answers it.
    lost: Mutex<Option<String>>,
}

impl Health {
    /// Health of `device`, which tells of everything that happens outside a call.
    pub(super) fn watch(name: &str, device: &wgpu::Device) -> Arc<Health> {
        let health =
            Arc::new(Health { device: name.to_owned(), late: Mutex::default(), lost: Mutex::new(None) });
        let told = Arc::downgrade(&health);
        device.on_uncaptured_error(Arc::new(move |error: wgpu::Error| {
            if let Some(health) = told.upgrade() {
                let error = health.error("work on the device", &error, 0, 0);
                for late in lock(&health.late).iter_mut().filter(|late| late.is_none()) {
                    *late = Some(error.clone());
                }
            }
        }));
        let told = Arc::downgrade(&health);
        device.set_device_lost_callback(move |reason, message| {
            // Dropping the device reports it lost too; then nobody listens any more.
            if let Some(health) = told.upgrade() {
                lock(&health.lost).get_or_insert(format!("{reason:?}: {message}"));
            }
        });
        health
    }

    /// The device's name.
    pub(super) fn device(&self) -> &str {
        &self.device
    }

    /// An error when the device is lost.
    pub(super) fn check(&self) -> Result<(), DeviceError> {
        match &*lock(&self.lost) {
            Some(message) => Err(DeviceError::Lost { device: self.device.clone(), message: message.clone() }),
            None => Ok(()),
        }
    }

    /// The first error that came late, for a queue; asking forgets it, save for the loss of the device.
    pub(super) fn late_error(&self, queue: usize) -> Result<(), DeviceError> {
        self.check()?;
        lock(&self.late)[queue].take().map_or(Ok(()), Err)
    }

    /// A failure in words.
    pub(super) fn failed(&self, operation: &str, message: impl ToString) -> DeviceError {
        DeviceError::Failed {
            device: self.device.clone(),
            operation: operation.to_owned(),
            message: message.to_string(),
        }
    }

    /// Runs `call` with every kind of error caught, on this thread.
    pub(super) fn scoped<T>(
        &self,
        device: &wgpu::Device,
        operation: &str,
        requested: usize,
        used: usize,
        call: impl FnOnce() -> T,
    ) -> Result<T, DeviceError> {
        self.check()?;
        let memory = device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
        let internal = device.push_error_scope(wgpu::ErrorFilter::Internal);
        let validation = device.push_error_scope(wgpu::ErrorFilter::Validation);
        let result = call();
        let validation = pollster::block_on(validation.pop());
        let internal = pollster::block_on(internal.pop());
        let memory = pollster::block_on(memory.pop());
        match memory.or(internal).or(validation) {
            Some(error) => {
                self.check()?;
                Err(self.error(operation, &error, requested, used))
            }
            None => Ok(result),
        }
    }

    fn error(&self, operation: &str, error: &wgpu::Error, requested: usize, used: usize) -> DeviceError {
        match error {
            wgpu::Error::OutOfMemory { .. } => {
                DeviceError::OutOfMemory { device: self.device.clone(), requested, used, capacity: None }
            }
            wgpu::Error::Validation { description, .. } | wgpu::Error::Internal { description, .. } => {
                self.failed(operation, description)
            }
        }
    }
}

/// A thread that panicked leaves these values whole.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
