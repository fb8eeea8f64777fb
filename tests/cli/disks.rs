//! Disks that are missing, full or not to be written to: one clear message, exit code 1, and nothing left.

use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::{Ran, Scratch, ran};

/// Four blocks of 40 KiB, all of which are needed twice, in 100 KiB.
const CENTRED: &str = "
[inputs.a]
random = \"normal\"
seed = 1
shape = [400, 100]
chunks = [100, 100]
dtype = \"f32\"

[[layer]]
name = \"x\"
expr = \"sqrt(abs(a) + 1)\"

[[layer]]
name = \"y\"
expr = \"x - mean(x)\"

[outputs]
y = [\"y.npy\", { path = \"y.png\", scale = [-1, 1] }]

[settings]
memory = \"100 KiB\"
";

fn scratch() -> Scratch {
    Scratch::new().with("p.toml", CENTRED)
}

/// No file that the command writes may be larger: a write beyond fails as on a full disk.
fn with_files_up_to(bytes: u64, command: &mut Command) -> Ran {
    let limit = libc::rlimit { rlim_cur: bytes, rlim_max: bytes };
    // SAFETY: setrlimit is async-signal-safe, and the closure does nothing else.
    unsafe {
        command.pre_exec(move || match libc::setrlimit(libc::RLIMIT_FSIZE, &limit) {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        });
    }
    ran(command)
}

#[test]
fn a_run_that_spills_says_what_went_to_disk() {
    let scratch = scratch();
    let plain = scratch.outcrop(&["run", "p.toml", "--cpu-only", "--quiet", "--memory", "1GiB"]);
    assert_eq!(plain.code, 0, "{}", plain.stderr);
    let expected = std::fs::read(scratch.path().join("y.npy")).unwrap();
    let spilled = scratch.outcrop(&["run", "p.toml", "--cpu-only"]);
    assert_eq!(spilled.code, 0, "{}", spilled.stderr);
    let line = spilled.stdout.lines().find(|line| line.starts_with("spilled ")).expect("a line of its own");
    for part in ["KiB in ", " blocks, ", " on disk, written at ", "B/s; read back "] {
        assert!(line.contains(part), "{line}");
    }
    assert!(expected == std::fs::read(scratch.path().join("y.npy")).unwrap());
    let json = scratch.outcrop(&["run", "p.toml", "--cpu-only", "--json"]).stdout;
    let report: serde_json::Value = serde_json::from_str(&json).unwrap();
    let figure = |key: &str| report["spill"][key].as_u64().unwrap();
    assert_eq!(figure("bytes_written"), figure("blocks_written") * 40_000);
    assert!(figure("bytes_read") >= figure("bytes_written") && figure("bytes_stored") > 0);
    let of_host = &report["memory_use"][0];
    assert_eq!((&of_host["memory"], of_host.get("excess_bytes")), (&"host".into(), None));
}

#[test]
fn spill_folders_that_are_none() {
    let scratch = scratch().with("file", "");
    // Nobody can make a file in /proc, whatever their rights.
    for folder in ["nowhere", "file", "/proc"] {
        let ran = scratch.outcrop(&["run", "p.toml", "--cpu-only", "--spill-dir", folder, "--out", "new"]);
        assert_eq!(ran.code, 1, "{folder}: {}", ran.stderr);
        for part in
            ["the run has to spill values to disk, and can't", folder, "choose a folder with --spill-dir"]
        {
            assert!(ran.stderr.contains(part), "{folder}: {}", ran.stderr);
        }
        assert_eq!(scratch.names(), ["file", "p.toml"]);
    }
    // One that is never needed may be anything.
    let ran = scratch.outcrop(&["run", "p.toml", "--cpu-only", "--spill-dir", "nowhere", "--memory", "1GiB"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
}

#[test]
fn a_spill_disk_that_fills_up() {
    let scratch = scratch();
    std::fs::create_dir(scratch.path().join("spilled")).unwrap();
    let picture = CENTRED.replace("[\"y.npy\", { path = \"y.png\", scale = [-1, 1] }]", "\"y.png\"");
    let scratch = scratch.with("p.toml", picture);
    // Neither output nor books come to 64 KiB; the second block that is spilled does.
    let arguments = ["run", "p.toml", "--cpu-only", "--spill-dir", "spilled"];
    let ran = with_files_up_to(64 << 10, &mut scratch.command(&arguments));
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    for part in ["layer 'x'", "no room for 39.1 KiB more in spilled: File too large"] {
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
    assert_eq!(scratch.names(), ["p.toml", "spilled"]);
    assert_eq!(std::fs::read_dir(scratch.path().join("spilled")).unwrap().count(), 0);
}

#[test]
fn an_output_disk_that_fills_up() {
    let scratch = Scratch::new().with(
        "p.toml",
        "[inputs.a]\nrandom = \"uniform\"\nseed = 1\nshape = [600, 600]\nchunks = [100, 600]\n\
         [[layer]]\nname = \"x\"\nexpr = \"a * 255\"\n[outputs]\nx = \"x.png\"\n",
    );
    let arguments = ["run", "p.toml", "--cpu-only", "--out", "new/folder"];
    let ran = with_files_up_to(100 << 10, &mut scratch.command(&arguments));
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("x.png: File too large"), "{}", ran.stderr);
    assert_eq!(scratch.names(), ["p.toml"]);
    // An array says how large it will be: it is refused before anything runs.
    let arguments =
        ["run", "p.toml", "--cpu-only", "--set", "a.shape=[60, 60]", "--set", "a.chunks=[10, 60]"];
    let ran = with_files_up_to(100 << 10, &mut scratch.command(&arguments));
    assert_eq!(ran.code, 0, "{}", ran.stderr);
}

#[test]
fn a_disk_that_has_no_room_for_the_trace() {
    let scratch = scratch();
    let ran = scratch.outcrop(&["run", "p.toml", "--cpu-only", "--trace", "/dev/full"]);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    let text = "the run is done, and its trace isn't: cannot write /dev/full: No space left on device";
    assert!(ran.stderr.contains(text), "{}", ran.stderr);
    assert_eq!(scratch.names(), ["p.toml", "y.npy", "y.png"]);
    assert!(!std::fs::metadata("/dev/full").unwrap().is_file());
}

#[test]
fn resume_directories_that_are_none() {
    let scratch = scratch().with("file", "");
    for folder in ["file", "/proc/kept"] {
        let ran = scratch.outcrop(&["run", "p.toml", "--cpu-only", "--resume", folder, "--out", "new"]);
        assert_eq!(ran.code, 1, "{folder}: {}", ran.stderr);
        assert!(ran.stderr.contains(folder), "{}", ran.stderr);
        assert_eq!(scratch.names(), ["file", "p.toml"]);
    }
    std::fs::create_dir(scratch.path().join("kept")).unwrap();
    std::fs::write(scratch.path().join("kept/letter.txt"), "mine").unwrap();
    let ran = scratch.outcrop(&["run", "p.toml", "--cpu-only", "--resume", "kept"]);
    assert_eq!(ran.code, 1, "{}{}", ran.stdout, ran.stderr);
    assert_eq!(std::fs::read(scratch.path().join("kept/letter.txt")).unwrap(), b"mine");
}
