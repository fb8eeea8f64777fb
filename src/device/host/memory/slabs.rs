//! Buffers of a size that is small beside a huge page: pieces of regions, cut to one size each.
//!
//! A region comes from the pool of large buffers if it can, and goes back when none of its pieces is alive: memory that
//! was large buffers becomes small ones, and the other way round, without a page of it being given back and zeroed anew.
//! Where memory is short the operating system gets back what free pieces hold, one by one.

use std::collections::{BTreeMap, BTreeSet};

use crate::device::host::memory::region::Region;

/// Regions that are cut.
#[derive(Default)]
pub(super) struct Slabs {
    all: Vec<Option<Slab>>,
    unused: Vec<u32>,
    /// By size of a piece, the regions that have free ones which hold memory.
    warm: BTreeMap<usize, BTreeSet<u32>>,
    /// By size of a piece, the regions that have free ones which hold none.
    cold: BTreeMap<usize, BTreeSet<u32>>,
}

struct Slab {
    region: Region,
    /// Bytes of a piece.
    size: usize,
    alive: usize,
    /// Numbers of free pieces that hold memory.
    warm: Vec<u32>,
    /// Numbers of free pieces that hold none.
    cold: Vec<u32>,
}

/// A piece of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    slab: u32,
    number: u32,
}

impl Slabs {
    /// A free piece of this size, and how many bytes of it hold memory already.
    pub(super) fn take(&mut self, size: usize) -> Option<(Piece, *mut u8, usize)> {
        let is_warm = self.warm.contains_key(&size);
        let from = if is_warm { self.warm.get(&size) } else { self.cold.get(&size) };
        let at = *from?.first()?;
        let slab = self.all[at as usize].as_mut()?;
        let number = if is_warm { slab.warm.pop() } else { slab.cold.pop() }?;
        slab.alive += 1;
        let pointer = slab.region.start().wrapping_add(number as usize * size);
        self.list(at);
        Some((Piece { slab: at, number }, pointer, if is_warm { size } else { 0 }))
    }

    pub(super) fn has_warm(&self, size: usize) -> bool {
        self.warm.contains_key(&size)
    }

    pub(super) fn has_cold(&self, size: usize) -> bool {
        self.cold.contains_key(&size)
    }

    /// Cuts a region into pieces of this size; how much memory these hold.
    pub(super) fn cut(&mut self, region: Region, size: usize) -> usize {
        let (pieces, touched) = (region.size / size, region.touched / size);
        // The first are taken first.
        let warm: Vec<u32> = (0..touched as u32).rev().collect();
        let cold = (touched as u32..pieces as u32).rev().collect();
        // SAFETY: the region is nobody's.
        unsafe { region.give_back(touched * size, region.size - touched * size) };
        let held = warm.len() * size;
        let slab = Slab { region, size, alive: 0, warm, cold };
        let at = self.unused.pop().unwrap_or(self.all.len() as u32);
        if at as usize == self.all.len() {
            self.all.push(None);
        }
        self.all[at as usize] = Some(slab);
        self.list(at);
        held
    }

    /// A piece is free again. The whole region, once none of its pieces is alive.
    pub(super) fn give(&mut self, piece: Piece) -> Option<Region> {
        let slab = self.all.get_mut(piece.slab as usize)?.as_mut()?;
        slab.warm.push(piece.number);
        slab.alive -= 1;
        if slab.alive > 0 {
            self.list(piece.slab);
            return None;
        }
        let mut slab = self.all[piece.slab as usize].take()?;
        self.unused.push(piece.slab);
        self.unlist(piece.slab, slab.size);
        slab.region.touched = slab.warm.len() * slab.size;
        Some(slab.region)
    }

    /// Gives back what one free piece holds; how much that was, or `None` if none holds anything.
    pub(super) fn cool(&mut self) -> Option<usize> {
        let (&size, slabs) = self.warm.last_key_value()?;
        let at = *slabs.last()?;
        let slab = self.all[at as usize].as_mut()?;
        let number = slab.warm.pop()?;
        slab.cold.push(number);
        // SAFETY: a free piece is nobody's.
        unsafe { slab.region.give_back(number as usize * size, size) };
        self.list(at);
        Some(size)
    }

    /// Lists a region by what it has.
    fn list(&mut self, at: u32) {
        let Some(slab) = &self.all[at as usize] else { return };
        let size = slab.size;
        for (list, is_there) in
            [(&mut self.warm, !slab.warm.is_empty()), (&mut self.cold, !slab.cold.is_empty())]
        {
            set(list, size, at, is_there);
        }
    }

    fn unlist(&mut self, at: u32, size: usize) {
        set(&mut self.warm, size, at, false);
        set(&mut self.cold, size, at, false);
    }
}

fn set(list: &mut BTreeMap<usize, BTreeSet<u32>>, size: usize, at: u32, is_there: bool) {
    if is_there {
        list.entry(size).or_default().insert(at);
    } else if let Some(slabs) = list.get_mut(&size) {
        slabs.remove(&at);
        if slabs.is_empty() {
            list.remove(&size);
        }
    }
}
