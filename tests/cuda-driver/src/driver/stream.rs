//! Streams by handle, and the order that the null stream imposes.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

use super::device::Device;
use super::schedule::{Ticket, schedule};
use super::{Answer, current_in_any_state, devices, fresh_handle, lock};
use crate::result;
use crate::run::Fault;

/// A stream as calls name it.
#[derive(Clone)]
pub struct Stream {
    /// Its number in the schedule, and its handle unless it is a null stream.
    pub id: u64,
    pub device: Arc<Device>,
    /// Whether it waits for the null stream and the null stream for it.
    blocking: bool,
}

static STREAMS: Mutex<Option<HashMap<u64, Stream>>> = Mutex::new(None);

/// Makes a stream of a device.
pub fn create(device: &Arc<Device>, blocking: bool) -> u64 {
    let id = fresh_handle();
    lock(&STREAMS).get_or_insert_default().insert(id, Stream { id, device: device.clone(), blocking });
    schedule().open(id, device.ordinal);
    id
}

/// The stream of a handle; 0, 1 and 2 are the current device's null stream.
pub fn stream(handle: usize) -> Answer<Stream> {
    if handle <= 2 {
        let device = current_in_any_state()?.clone();
        return Ok(Stream { id: device.null_stream(), device, blocking: true });
    }
    let streams = lock(&STREAMS);
    let found = streams.as_ref().and_then(|streams| streams.get(&(handle as u64)));
    found.cloned().ok_or(result::INVALID_HANDLE)
}

/// Lets a stream end when its work is done; the handle is void at once.
pub fn destroy(handle: usize) -> Answer<()> {
    let found = lock(&STREAMS).as_mut().and_then(|streams| streams.remove(&(handle as u64)));
    let found = found.ok_or(result::INVALID_HANDLE)?;
    schedule().close(found.id);
    Ok(())
}

/// The numbers of a device's streams, the null stream left out.
pub fn of_device(ordinal: usize) -> Vec<u64> {
    let streams = lock(&STREAMS);
    let own = streams.iter().flat_map(HashMap::values).filter(|stream| stream.device.ordinal == ordinal);
    own.map(|stream| stream.id).collect()
}

/// Ends all streams of a device.
pub fn close_all(ordinal: usize) {
    for id in of_device(ordinal) {
        let _ = destroy(id as usize);
    }
}

impl Stream {
    /// Appends what must not happen once the context is broken, and breaks it where it fails.
    pub fn submit(&self, action: impl FnOnce() -> Result<(), Fault> + Send + 'static) -> Ticket {
        let device = self.device.clone();
        self.submit_always(move || {
            if device.check().is_err() {
                return;
            }
            // A panic here is the emulation's own fault; whoever waits must hear of it all the same.
            match catch_unwind(AssertUnwindSafe(action)) {
                Ok(Ok(())) => {}
                Ok(Err(fault)) => device.break_with(fault.code, &fault.message),
                Err(_) => device.break_with(result::UNKNOWN, "the emulation panicked"),
            }
        })
    }

    /// Appends what happens whatever came before.
    pub fn submit_always(&self, action: impl FnOnce() + Send + 'static) -> Ticket {
        schedule().submit(self.id, self.order(), Box::new(action))
    }

    /// Lets what follows wait for a ticket.
    pub fn wait_for(&self, ticket: Ticket) {
        let mut waits = self.order();
        waits.push(ticket);
        schedule().submit(self.id, waits, Box::new(|| {}));
    }

    pub fn synchronize(&self) {
        schedule().wait(self.last());
    }

    /// All that has been submitted to it; of a null stream what it would wait for, too.
    pub fn last(&self) -> Ticket {
        schedule().last(self.id)
    }

    /// What the next work must wait for besides what stands before it in the stream.
    fn order(&self) -> Vec<Ticket> {
        let null = self.device.null_stream();
        match (self.id == null, self.blocking) {
            (true, _) => {
                let streams = lock(&STREAMS);
                let own = streams.iter().flat_map(HashMap::values);
                let own =
                    own.filter(|stream| stream.blocking && stream.device.ordinal == self.device.ordinal);
                own.map(|stream| schedule().last(stream.id)).collect()
            }
            (false, true) => vec![schedule().last(null)],
            (false, false) => Vec::new(),
        }
    }
}

/// The device that an address is of, as long as there is one.
pub fn device_of(address: u64) -> Option<&'static Arc<Device>> {
    devices().ok()?.get(super::heap::Heap::device_of(address)?)
}
