//! Events: the place in a stream where each was recorded last, and when the stream came there.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use super::schedule::{Ticket, schedule};
use super::stream::Stream;
use super::{Answer, fresh_handle, lock};
use crate::result;

/// An event.
pub struct Event {
    timed: bool,
    record: Mutex<Option<Record>>,
}

#[derive(Clone)]
struct Record {
    ticket: Ticket,
    when: Arc<Mutex<Option<Instant>>>,
}

static EVENTS: Mutex<Option<HashMap<u64, Arc<Event>>>> = Mutex::new(None);

pub fn create(timed: bool) -> u64 {
    let id = fresh_handle();
    let event = Event { timed, record: Mutex::new(None) };
    lock(&EVENTS).get_or_insert_default().insert(id, Arc::new(event));
    id
}

pub fn event(handle: usize) -> Answer<Arc<Event>> {
    let events = lock(&EVENTS);
    events.as_ref().and_then(|events| events.get(&(handle as u64))).cloned().ok_or(result::INVALID_HANDLE)
}

pub fn destroy(handle: usize) -> Answer<()> {
    let found = lock(&EVENTS).as_mut().and_then(|events| events.remove(&(handle as u64)));
    found.map(|_| ()).ok_or(result::INVALID_HANDLE)
}

impl Event {
    /// Marks the stream's present end.
    pub fn record(&self, stream: &Stream) {
        let when = Arc::new(Mutex::new(None));
        let mark = when.clone();
        let mut record = lock(&self.record);
        let ticket = stream.submit_always(move || *lock(&mark) = Some(Instant::now()));
        *record = Some(Record { ticket, when });
    }

    /// The place where it was recorded last; `None` when it never was.
    pub fn ticket(&self) -> Option<Ticket> {
        lock(&self.record).as_ref().map(|record| record.ticket)
    }

    /// Milliseconds from this event to a later one.
    ///
    /// # Errors
    /// An event that wasn't recorded, isn't timed, or hasn't come.
    pub fn elapsed_ms(&self, later: &Event) -> Answer<f32> {
        let [from, to] = [self.when()?, later.when()?];
        let forth = to.saturating_duration_since(from).as_secs_f32();
        Ok(1e3 * (forth - from.saturating_duration_since(to).as_secs_f32()))
    }

    fn when(&self) -> Answer<Instant> {
        let record = lock(&self.record).clone().filter(|_| self.timed).ok_or(result::INVALID_HANDLE)?;
        if !schedule().is_done(record.ticket) {
            return Err(result::NOT_READY);
        }
        let when = *lock(&record.when);
        when.ok_or(result::NOT_READY)
    }
}
