//! What the driver gives out and takes back: streams, events, modules.

use std::ffi::{CString, c_void};
use std::sync::Arc;

use cudarc::driver::result;
use cudarc::driver::sys::{CUevent, CUevent_flags, CUfunction, CUmodule, CUstream};

use super::context::Context;
use crate::device::contract::DeviceError;

/// A stream that doesn't wait for the default one.
pub(super) struct Stream {
    pub(super) context: Arc<Context>,
    pub(super) raw: CUstream,
}

// SAFETY: streams may be used from any thread.
unsafe impl Send for Stream {}
// SAFETY: as above; the driver locks.
unsafe impl Sync for Stream {}

impl Stream {
    pub(super) fn new(context: &Arc<Context>) -> Result<Self, DeviceError> {
        let make = || result::stream::create(result::stream::StreamKind::NonBlocking);
        let raw = context.call("making a stream", make)?;
        Ok(Stream { context: context.clone(), raw })
    }

    /// Waits until everything submitted is done.
    pub(super) fn synchronize(&self, operation: &str) -> Result<(), DeviceError> {
        // SAFETY: the stream lives until `self` is dropped.
        self.context.call(operation, || unsafe { result::stream::synchronize(self.raw) })
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // SAFETY: it was made once; the driver lets its work end first.
        self.context.give_back(|| unsafe { result::stream::destroy(self.raw) });
    }
}

/// A point in a stream.
pub(super) struct Event {
    context: Arc<Context>,
    raw: CUevent,
}

// SAFETY: events may be used from any thread.
unsafe impl Send for Event {}

impl Event {
    pub(super) fn new(context: &Arc<Context>) -> Result<Self, DeviceError> {
        let make = || result::event::create(CUevent_flags::CU_EVENT_DISABLE_TIMING);
        Ok(Event { context: context.clone(), raw: context.call("making an event", make)? })
    }

    /// Stands for what was submitted to the stream so far.
    pub(super) fn record(&self, stream: &Stream) -> Result<(), DeviceError> {
        // SAFETY: both live.
        self.context.call("recording an event", || unsafe { result::event::record(self.raw, stream.raw) })
    }

    /// Waits for what it stands for; not at all before it was recorded.
    pub(super) fn wait(&self, operation: &str) -> Result<(), DeviceError> {
        // SAFETY: the event lives.
        self.context.call(operation, || unsafe { result::event::synchronize(self.raw) })
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: it was made once.
        self.context.give_back(|| unsafe { result::event::destroy(self.raw) });
    }
}

/// Compiled code.
pub(super) struct Module {
    context: Arc<Context>,
    raw: CUmodule,
}

/// A function of a module that lives.
#[derive(Clone, Copy)]
pub(super) struct Function(pub(super) CUfunction);

// SAFETY: modules and their functions may be used from any thread.
unsafe impl Send for Module {}
// SAFETY: as above.
unsafe impl Sync for Module {}
// SAFETY: as above.
unsafe impl Send for Function {}
// SAFETY: as above.
unsafe impl Sync for Function {}

impl Module {
    /// Loads machine code, or PTX as text that ends in a zero.
    pub(super) fn load(context: &Arc<Context>, image: &[u8]) -> Result<Self, DeviceError> {
        // SAFETY: an image is a cubin, whose header tells its size, or PTX that a zero ends.
        let load = || unsafe { result::module::load_data(image.as_ptr().cast::<c_void>()) };
        Ok(Module { context: context.clone(), raw: context.call("loading a kernel", load)? })
    }

    pub(super) fn function(&self, name: &str) -> Result<Function, DeviceError> {
        let name = CString::new(name).map_err(|error| self.context.failed("loading a kernel", error))?;
        // SAFETY: the module lives.
        let find = || unsafe { result::module::get_function(self.raw, name) };
        Ok(Function(self.context.call("loading a kernel", find)?))
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        // SAFETY: it was loaded once, and whoever launches its functions holds it.
        self.context.give_back(|| unsafe { result::module::unload(self.raw) });
    }
}
