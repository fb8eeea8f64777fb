//! Runs that are stopped: by a signal, by two, by a deadline. Nothing is left.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};

use crate::Scratch;

/// Hours of work with a small result: its temporary file is there from the start.
const LONG: &str = "
[inputs.a]
random = \"normal\"
shape = [1000000, 100000]

[[layer]]
name = \"x\"
expr = \"mean(sin(a)**3)\"

[outputs]
x = \"x.npy\"
";

/// Far more than its budget: values go to disk for as long as it runs, and finished blocks are kept.
const SPILLING: &str = "
[inputs.a]
random = \"normal\"
shape = [1000, 1000000]
chunks = [1000, 250]
seed = 1

[[layer]]
name = \"x\"
expr = \"sqrt(abs(a) + 1)\"
annotate = { checkpoint = true }

[[layer]]
name = \"y\"
expr = \"x - mean(x)\"

[outputs]
y = \"y.npy\"

[settings]
memory = \"64 MiB\"
spill_dir = \"spilled\"
";

impl Scratch {
    fn start(&self, arguments: &[&str]) -> Child {
        let arguments = [&["run", "p.toml", "--cpu-only", "--quiet"], arguments].concat();
        self.command(&arguments).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Waits until the child is at some point.
    fn wait(child: &mut Child, is_there: impl Fn(&Child) -> bool) {
        while !is_there(child) {
            assert!(child.try_wait().unwrap().is_none(), "it ended before it was interrupted");
            std::thread::yield_now();
        }
    }
}

fn send(child: &Child, signal: i32) {
    // SAFETY: the child was not waited for, so its id is its own.
    assert_eq!(unsafe { libc::kill(child.id() as i32, signal) }, 0);
}

fn count(folder: &Path) -> usize {
    std::fs::read_dir(folder).map_or(0, Iterator::count)
}

/// Bytes on disk of the files without a name that a process has open.
fn spilled_bytes(child: &Child) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let Ok(open) = std::fs::read_dir(format!("/proc/{}/fd", child.id())) else { return 0 };
    let bytes = |entry: std::io::Result<std::fs::DirEntry>| {
        let found = std::fs::metadata(entry.ok()?.path()).ok()?;
        (found.is_file() && found.nlink() == 0).then(|| found.blocks() * 512)
    };
    open.filter_map(bytes).sum()
}

/// Whether the first worker has worked for some ticks of the system's clock: it is in the midst of a long step.
fn is_at_work(child: &Child) -> bool {
    let Ok(tasks) = std::fs::read_dir(format!("/proc/{}/task", child.id())) else { return false };
    let ticks = |entry: std::io::Result<std::fs::DirEntry>| {
        let stat = std::fs::read_to_string(entry.ok()?.path().join("stat")).ok()?;
        // Whichever worker was there first.
        let after_name = stat.split_once("(outcrop-")?.1.split_once(") ")?.1;
        after_name.split(' ').nth(11)?.parse::<u64>().ok()
    };
    tasks.filter_map(ticks).any(|ticks| ticks > 5)
}

#[test]
fn an_interrupted_run_leaves_nothing() {
    for signal in [libc::SIGINT, libc::SIGTERM] {
        let scratch = Scratch::new().with("p.toml", LONG);
        let mut child = scratch.start(&["--out", "new/folder", "--trace", "new/folder/t.json"]);
        Scratch::wait(&mut child, |_| count(&scratch.path().join("new/folder")) == 2);
        send(&child, signal);
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("cancelled; no output was written"), "{said}");
        assert_eq!(scratch.names(), ["new", "p.toml"], "but for what it did till then");
        assert_eq!(count(&scratch.path().join("new/folder")), 1);
        crate::traces::read(&scratch.path().join("new/folder/t.json"));
    }
}

#[test]
fn an_interrupted_run_leaves_what_it_keeps_and_nothing_that_it_spilled() {
    for signal in [libc::SIGINT, libc::SIGTERM] {
        let scratch = Scratch::new().with("p.toml", SPILLING);
        std::fs::create_dir(scratch.path().join("spilled")).unwrap();
        for _ in 0..2 {
            let mut child = scratch.start(&["--resume", "kept"]);
            Scratch::wait(&mut child, |child| spilled_bytes(child) > 1 << 20);
            send(&child, signal);
            let output = child.wait_with_output().unwrap();
            let said = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(1), "{said}");
            assert!(said.contains("cancelled; no output was written"), "{said}");
            assert_eq!(scratch.names(), ["kept", "p.toml", "spilled"]);
            assert_eq!(count(&scratch.path().join("spilled")), 0);
        }
    }
}

#[test]
fn a_second_signal_ends_at_once() {
    // One block of hours, which nothing ends.
    let pipeline = LONG.replace("100000]", "100000]\nchunks = [1000000, 100000]");
    let scratch = Scratch::new().with("p.toml", pipeline);
    let mut child = scratch.start(&["--memory", "100 TiB", "--resume", "kept"]);
    Scratch::wait(&mut child, is_at_work);
    let mut said = BufReader::new(child.stderr.take().unwrap()).lines();
    send(&child, libc::SIGTERM);
    let first = said.next().unwrap().unwrap();
    assert_eq!(first, "stopping; Ctrl-C again ends at once");
    send(&child, libc::SIGINT);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(scratch.names(), ["kept", "p.toml"]);
}

#[test]
fn a_deadline_ends_a_run() {
    let scratch = Scratch::new().with("p.toml", LONG);
    let ran = scratch.outcrop(&["run", "p.toml", "--cpu-only", "--deadline", "20ms", "--json"]);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("the deadline of 20.0 ms is over; no output was written"), "{}", ran.stderr);
    let object: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(object["error"]["class"], "resource");
    assert_eq!(scratch.names(), ["p.toml"]);
    assert_eq!(scratch.outcrop(&["run", "p.toml", "--deadline", "soon"]).code, 2);
}
