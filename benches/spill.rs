//! The spill store against a plain loop that writes the same bytes one after the other to a file of its own, and
//! reads them back. `cargo bench --bench spill [-- --json] [folder]`; the folder defaults to where a run spills.
//!
//! `disk` rates end when the file system has written everything (`syncfs`), and reading begins with nothing of the
//! file in the page cache (`POSIX_FADV_DONTNEED`; Linux only). `cache` rates leave out both: they are what a run sees
//! while its spilled bytes fit in memory that nobody else needs. The machine below a virtual disk may cache too, for
//! both sides alike. Rates are of bytes before compression, best of interleaved repetitions; `ratio` is ours to the
//! plain loop's, on one thread.

#[cfg(target_os = "linux")]
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

use outcrop::block::Block;
use outcrop::store::spill::{SpillStore, Spilled};

const TOTAL_BYTES: usize = 256 << 20;
const REPETITIONS: usize = 3;
const CHUNK_BYTES: [usize; 4] = [64 << 10, 1 << 20, 16 << 20, 64 << 20];

/// GB/s of writing and reading.
#[derive(Clone, Copy, Default)]
struct Rates([f64; 2]);

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let is_json = arguments.iter().any(|a| a == "--json");
    let folder = arguments.iter().find(|a| !a.starts_with("--")).map(PathBuf::from);
    let folder = folder.unwrap_or_else(SpillStore::default_folder);
    if !is_json {
        println!("{TOTAL_BYTES} bytes in {}", folder.display());
        println!("{:44} {:>10} {:>10} {:>7} {:>8}", "case", "GB/s", "plain", "ratio", "stored");
    }
    for bytes in CHUNK_BYTES {
        for (data, block) in
            [("noise", noise(bytes)), ("smooth f32", smooth(bytes)), ("ramp f64", ramp(bytes))]
        {
            for to_disk in [true, false] {
                let place = if to_disk { "disk" } else { "cache" };
                let (mut ours, mut plain, mut share) = (Rates::default(), Rates::default(), 0.0);
                for _ in 0..REPETITIONS {
                    plain = plain.better(plain_loop(&folder, &block, to_disk));
                    let (rates, stored) = spilled(&folder, &block, to_disk);
                    ours = ours.better(rates);
                    share = stored;
                }
                for (way, what) in ["write", "read"].into_iter().enumerate() {
                    let case = format!("{what} {} KiB {data} {place}", bytes >> 10);
                    print(&case, ours.0[way], plain.0[way], share, is_json);
                }
            }
        }
    }
}

fn print(case: &str, ours: f64, plain: f64, share: f64, is_json: bool) {
    let ratio = ours / plain;
    if is_json {
        println!(
            "{{\"bench\":\"spill\",\"case\":\"{case}\",\"value\":{ours:.3},\"unit\":\"GB/s\",\
             \"reach\":{plain:.3},\"peer\":\"plain loop\",\"ratio\":{ratio:.3}}}"
        );
    } else {
        println!("{case:44} {ours:10.2} {plain:10.2} {ratio:7.2} {:7.1}%", 100.0 * share);
    }
}

/// Rates, and the share of the bytes that is on disk.
fn spilled(folder: &Path, block: &Block, to_disk: bool) -> (Rates, f64) {
    let count = TOTAL_BYTES / block.layout.bytes();
    let store = SpillStore::new(folder, None).unwrap();
    let memory = Block::from_slice([block.layout.bytes()], &vec![0u8; block.layout.bytes()]).unwrap().buffer;
    let back = Block::contiguous(memory, block.dtype(), block.shape().clone());
    let mut chunks: Vec<Spilled> = Vec::with_capacity(count);
    let write = rate(|| {
        chunks.extend((0..count).map(|_| store.write(block).unwrap()));
        settle(folder, to_disk);
    });
    forget(folder, to_disk);
    let read = rate(|| chunks.iter().for_each(|chunk| chunk.read(&back).unwrap()));
    let figures = store.figures();
    (Rates([write, read]), figures.bytes_stored as f64 / figures.bytes_written as f64)
}

fn plain_loop(folder: &Path, block: &Block, to_disk: bool) -> Rates {
    let bytes = block.contiguous_bytes().unwrap();
    let file = tempfile::tempfile_in(folder).unwrap();
    let starts = || (0..TOTAL_BYTES / bytes.len()).map(|chunk| (chunk * bytes.len()) as u64);
    let write = rate(|| {
        starts().for_each(|at| file.write_all_at(bytes, at).unwrap());
        settle(folder, to_disk);
    });
    forget(folder, to_disk);
    let mut back = bytes.to_vec();
    let read = rate(|| starts().for_each(|at| file.read_exact_at(&mut back, at).unwrap()));
    Rates([write, read])
}

fn rate(work: impl FnOnce()) -> f64 {
    let started = Instant::now();
    work();
    TOTAL_BYTES as f64 / started.elapsed().as_secs_f64() / 1e9
}

/// Waits until the file system has written everything.
fn settle(folder: &Path, to_disk: bool) {
    #[cfg(target_os = "linux")]
    if to_disk {
        let folder = File::open(folder).unwrap();
        // SAFETY: the descriptor is open.
        assert_eq!(unsafe { libc::syncfs(std::os::fd::AsRawFd::as_raw_fd(&folder)) }, 0);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (folder, to_disk);
}

/// Takes this process's nameless files in the folder out of the page cache.
fn forget(folder: &Path, to_disk: bool) {
    #[cfg(target_os = "linux")]
    if to_disk {
        for entry in std::fs::read_dir("/proc/self/fd").unwrap() {
            let entry = entry.unwrap();
            let is_ours = std::fs::read_link(entry.path()).is_ok_and(|file| file.starts_with(folder));
            let number: i32 = entry.file_name().to_string_lossy().parse().unwrap();
            if is_ours {
                // SAFETY: the descriptor is open, and advice changes no data.
                assert_eq!(unsafe { libc::posix_fadvise(number, 0, 0, libc::POSIX_FADV_DONTNEED) }, 0);
            }
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (folder, to_disk);
}

fn noise(bytes: usize) -> Block {
    let mut state = 1u64;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as i64
    };
    let values: Vec<i64> = std::iter::repeat_with(next).take(bytes / 8).collect();
    Block::from_slice([values.len()], &values).unwrap()
}

fn smooth(bytes: usize) -> Block {
    let values: Vec<f32> = (0..bytes / 4).map(|i| (i as f32 * 0.001).sin() * 100.0).collect();
    Block::from_slice([values.len()], &values).unwrap()
}

fn ramp(bytes: usize) -> Block {
    let values: Vec<f64> = (0..bytes / 8).map(|i| i as f64).collect();
    Block::from_slice([values.len()], &values).unwrap()
}

impl Rates {
    fn better(self, other: Rates) -> Rates {
        Rates([self.0[0].max(other.0[0]), self.0[1].max(other.0[1])])
    }
}
