//! `--memory` bounds anonymous memory: a run far larger than its budget passes under a hard limit of the
//! process of 1.1 times the budget plus 64 MiB, its input memory-mapped, its output streamed.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use outcrop::dtype::DType;
use outcrop::pipeline::npy::{NpyFile, NpyWriter};

const MIB: u64 = 1 << 20;
const BUDGET: u64 = 48 * MIB;

/// Rows and columns of the terrain: 144 MiB in, 144 MiB and a picture out, three times the budget.
const SIDE: usize = 6144;

fn write_terrain(path: &Path) {
    let writer = NpyWriter::create(path, DType::F32, &[SIDE, SIDE].into()).unwrap();
    let mut row = vec![0f32; SIDE];
    for y in 0..SIDE {
        for (x, height) in row.iter_mut().enumerate() {
            *height = ((x * 7 + y * 13) % 97) as f32 + (y as f32 * 0.01).sin() * 40.0;
        }
        let bytes: Vec<u8> = row.iter().flat_map(|height| height.to_ne_bytes()).collect();
        writer.write_at((y * SIDE * 4) as u64, &bytes).unwrap();
    }
    writer.finish().unwrap();
}

/// The command under a limit of its anonymous memory: on Linux `RLIMIT_DATA` counts private writable
/// mappings, and not files that are mapped to be read.
fn limited(command: &mut Command, bytes: u64) {
    let limit = libc::rlimit { rlim_cur: bytes, rlim_max: bytes };
    // SAFETY: setrlimit is async-signal-safe, and the closure does nothing else.
    unsafe {
        command.pre_exec(move || match libc::setrlimit(libc::RLIMIT_DATA, &limit) {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        });
    }
}

fn hillshade(terrain: &Path, out: &Path, memory: u64, limit: u64) -> std::process::Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_outcrop"));
    command
        .args(["run", concat!(env!("CARGO_MANIFEST_DIR"), "/examples/hillshade.toml")])
        .args(["--cpu-only", "--threads", "2", "--quiet", "--memory"])
        .arg(memory.to_string())
        .arg("--set")
        .arg(format!("dem.path={}", terrain.display()))
        .arg("--out")
        .arg(out);
    limited(&mut command, limit);
    command.output().unwrap()
}

#[test]
fn a_run_of_three_times_the_budget_stays_below_the_hard_limit() {
    let folder = tempfile::tempdir().unwrap();
    let terrain = folder.path().join("terrain.npy");
    write_terrain(&terrain);
    let done = hillshade(&terrain, folder.path(), BUDGET, BUDGET * 11 / 10 + 64 * MIB);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let shaded = NpyFile::open(&folder.path().join("hillshade.npy")).unwrap();
    assert_eq!(&shaded.shape[..], [SIDE, SIDE]);
    let first = f32::from_ne_bytes(shaded.data()[..4].try_into().unwrap());
    assert!((0.0..=1.0).contains(&first), "{first}");
}

#[test]
fn a_budget_below_one_block_is_refused_before_anything_runs() {
    let folder = tempfile::tempdir().unwrap();
    let terrain = folder.path().join("terrain.npy");
    write_terrain(&terrain);
    let refused = hillshade(&terrain, folder.path(), MIB, 128 * MIB);
    let said = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(3), "{said}");
    assert!(said.contains("1.0 MiB") && said.contains("hillshade"), "{said}");
    assert!(!folder.path().join("hillshade.npy").exists());
}
