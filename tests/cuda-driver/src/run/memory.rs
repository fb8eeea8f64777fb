//! A block's view of memory: global by way of the device's allocations, shared, local and parameter spaces.

use std::sync::Arc;

use super::{Fault, Launch};
use crate::driver::heap::Allocation;
use crate::ptx::code::{DYNAMIC_SHARED, LOCAL_WINDOW, SHARED_WINDOW, Space};
use crate::result;

/// Bytes of the host that a space of a block or thread consists of.
pub type Bytes = Vec<u8>;

/// What a block's threads share.
pub struct Memory<'a> {
    launch: &'a Launch<'a>,
    shared: Bytes,
    dynamic: Bytes,
    /// What was found last, asked first.
    recent: [Option<Arc<Allocation>>; 4],
    oldest: usize,
}

/// The memory of one thread.
pub struct Own<'t> {
    pub local: &'t mut Bytes,
    pub parameters: &'t mut Bytes,
}

impl<'a> Memory<'a> {
    /// The memory of blocks, one after the other.
    pub fn new(launch: &'a Launch<'a>, shared_bytes: usize) -> Memory<'a> {
        Memory {
            launch,
            shared: vec![0; shared_bytes],
            dynamic: vec![0; launch.dynamic_shared_bytes],
            recent: [const { None }; 4],
            oldest: 0,
        }
    }

    /// Begins with a block: shared memory has its pattern again, and what was found may have been freed.
    pub fn begin(&mut self) {
        self.shared.fill(Allocation::POISON);
        self.dynamic.fill(Allocation::POISON);
        self.recent = [const { None }; 4];
    }

    /// Reads `bytes` at an address, of an access that is `whole` bytes wide.
    pub fn read(
        &mut self,
        space: Space,
        at: u64,
        bytes: usize,
        whole: usize,
        own: &mut Own<'_>,
    ) -> Result<u64, Fault> {
        aligned(at, whole)?;
        if let Some((slice, at)) = self.near(space, at, whole, own)? {
            let mut word = [0; 8];
            word[..bytes].copy_from_slice(&slice[at..at + bytes]);
            return Ok(u64::from_le_bytes(word));
        }
        let (allocation, offset) = self.global(at, whole)?;
        Ok(allocation.read(offset, bytes))
    }

    pub fn write(
        &mut self,
        space: Space,
        at: u64,
        value: u64,
        bytes: usize,
        whole: usize,
        own: &mut Own<'_>,
    ) -> Result<(), Fault> {
        aligned(at, whole)?;
        if let Some((slice, at)) = self.near(space, at, whole, own)? {
            slice[at..at + bytes].copy_from_slice(&value.to_le_bytes()[..bytes]);
            return Ok(());
        }
        let (allocation, offset) = self.global(at, whole)?;
        if allocation.constant {
            return Err(Fault::illegal_address(format!("writes constant memory at {at:#x}")));
        }
        allocation.write(offset, bytes, value);
        Ok(())
    }

    /// Reads, computes and writes in one step; gives the old value.
    pub fn update(
        &mut self,
        space: Space,
        at: u64,
        bytes: usize,
        own: &mut Own<'_>,
        new: impl Fn(u64) -> u64,
    ) -> Result<u64, Fault> {
        aligned(at, bytes)?;
        if self.near(space, at, bytes, own)?.is_some() {
            let old = self.read(space, at, bytes, bytes, own)?;
            self.write(space, at, new(old), bytes, bytes, own)?;
            return Ok(old);
        }
        let (allocation, offset) = self.global(at, bytes)?;
        Ok(allocation.update(offset, bytes, new))
    }

    /// The bytes of the host behind an address that isn't global, and where in them it lies.
    fn near<'m>(
        &'m mut self,
        space: Space,
        at: u64,
        bytes: usize,
        own: &'m mut Own<'_>,
    ) -> Result<Option<(&'m mut Bytes, usize)>, Fault> {
        let (space, at) = match space {
            Space::Generic if at >> 56 == LOCAL_WINDOW >> 56 => (Space::Local, at - LOCAL_WINDOW),
            Space::Generic if at >> 56 == SHARED_WINDOW >> 56 => (Space::Shared, at - SHARED_WINDOW),
            Space::Generic | Space::Global => return Ok(None),
            other => (other, at),
        };
        let (name, slice, from) = match space {
            Space::Local => ("local memory", &mut *own.local, 0),
            Space::Param => ("the parameters", &mut *own.parameters, 0),
            _ if at >= DYNAMIC_SHARED => ("dynamic shared memory", &mut self.dynamic, DYNAMIC_SHARED),
            _ => ("shared memory", &mut self.shared, 0),
        };
        let offset = at - from;
        if offset.checked_add(bytes as u64).is_none_or(|end| end > slice.len() as u64) {
            let length = slice.len();
            let message = format!("accesses {bytes} bytes at {offset} of {name}, which has {length}");
            return Err(Fault::illegal_address(message));
        }
        Ok(Some((slice, offset as usize)))
    }

    fn global(&mut self, at: u64, bytes: usize) -> Result<(&Allocation, usize), Fault> {
        let holds =
            |slot: &Option<Arc<Allocation>>| slot.as_ref().is_some_and(|found| found.holds(at, bytes));
        let slot = match self.recent.iter().position(holds) {
            Some(slot) => slot,
            None => {
                let found =
                    (self.launch.memory)(at).filter(|found| found.holds(at, bytes)).ok_or_else(|| {
                        let message =
                            format!("accesses {bytes} bytes at {at:#x}, which no live allocation holds");
                        Fault::illegal_address(message)
                    })?;
                let slot = self.oldest;
                self.oldest = (slot + 1) % self.recent.len();
                self.recent[slot] = Some(found);
                slot
            }
        };
        match &self.recent[slot] {
            Some(found) => Ok((found, (at - found.address) as usize)),
            None => Err(Fault::failed("an empty slot was found")),
        }
    }
}

fn aligned(at: u64, bytes: usize) -> Result<(), Fault> {
    if at.is_multiple_of(bytes as u64) {
        return Ok(());
    }
    let message = format!("accesses {bytes} bytes at {at:#x}, which isn't a multiple of {bytes}");
    Err(Fault { code: result::MISALIGNED_ADDRESS, message })
}
