//! Large pieces of the operating system's memory.

use memmap2::MmapMut;
#[cfg(target_os = "linux")]
use memmap2::UncheckedAdvice;

/// Size of a huge page, and of the smallest buffer that asks for them.
pub(super) const HUGE_PAGE: usize = 2 << 20;
/// What the operating system takes back at least.
const PAGE: usize = 4096;
/// Regions shrink to multiples of this.
const SHRINK: usize = 64 << 10;

/// A map of its own, from a border of huge pages.
pub(super) struct Region {
    map: MmapMut,
    skip: usize,
    pub(super) size: usize,
    /// How much of it holds memory, at most.
    pub(super) touched: usize,
}

impl Region {
    /// One that asks for huge pages. `None` when the operating system has no more.
    pub(super) fn new(size: usize) -> Option<Region> {
        let region = Region::in_pages(size)?;
        // Only whole huge pages: a huge page for the rest would hold memory that nobody counts.
        #[cfg(target_os = "linux")]
        if let Err(error) =
            region.map.advise_range(memmap2::Advice::HugePage, region.skip, size - size % HUGE_PAGE)
        {
            // A kernel without huge pages says so here; the memory is as good, only slower at first touch.
            debug_assert_ne!(error.kind(), std::io::ErrorKind::OutOfMemory);
        }
        Some(region)
    }

    /// One whose memory comes page by page, as it is touched.
    pub(super) fn in_pages(size: usize) -> Option<Region> {
        let mut map = MmapMut::map_anon(size).ok()?;
        let mut skip = map.as_ptr().align_offset(HUGE_PAGE);
        if skip != 0 {
            // Newer kernels align such maps themselves; where not, a longer one has a border inside.
            map = MmapMut::map_anon(size.checked_add(HUGE_PAGE)?).ok()?;
            skip = map.as_ptr().align_offset(HUGE_PAGE);
        }
        Some(Region { map, skip, size, touched: 0 })
    }

    pub(super) fn start(&self) -> *mut u8 {
        self.map.as_ptr().wrapping_add(self.skip).cast_mut()
    }

    /// Gives `bytes` of the memory that a region holds which is nobody's back, or somewhat more; whether it could be, and
    /// some is left.
    pub(super) fn shrink(&mut self, bytes: usize) -> bool {
        let left = self.touched.saturating_sub(bytes) / SHRINK * SHRINK;
        // SAFETY: the region is nobody's.
        let is_done = left > 0 && unsafe { self.give_back(left, self.size - left) };
        self.touched = left;
        is_done
    }

    /// Gives the memory of a part back; whether it could be. What was in it is lost, but for pages on the part's border.
    ///
    /// # Safety
    /// Nobody has a use for the part's bytes.
    pub(super) unsafe fn give_back(&self, from: usize, bytes: usize) -> bool {
        let (first, last) = (from.next_multiple_of(PAGE), (from + bytes) / PAGE * PAGE);
        if first >= last {
            return false;
        }
        #[cfg(target_os = "linux")]
        // SAFETY: the pages lie inside the part, which the caller says is nobody's.
        let told = unsafe {
            self.map.unchecked_advise_range(UncheckedAdvice::DontNeed, self.skip + first, last - first)
        };
        #[cfg(not(target_os = "linux"))]
        let told: std::io::Result<()> = Err(std::io::ErrorKind::Unsupported.into());
        told.is_ok()
    }
}
