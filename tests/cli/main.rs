//! The `outcrop` command as a user meets it: exit codes, messages, what is and isn't left on disk.

mod bad_input;
#[cfg(target_os = "linux")]
mod disks;
mod plans;
mod runs;
#[cfg(target_os = "linux")]
mod stops;
mod traces;

use std::path::Path;
use std::process::Command;

/// A folder of its own for a test, in which the command runs.
struct Scratch(tempfile::TempDir);

/// What a command left.
struct Ran {
    code: i32,
    stdout: String,
    stderr: String,
}

impl Scratch {
    fn new() -> Self {
        Scratch(tempfile::tempdir().unwrap())
    }

    fn with(self, name: &str, content: impl AsRef<[u8]>) -> Self {
        std::fs::write(self.path().join(name), content).unwrap();
        self
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.path()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    fn command(&self, arguments: &[&str]) -> Command {
        command(self.path(), arguments)
    }

    fn outcrop(&self, arguments: &[&str]) -> Ran {
        ran(&mut self.command(arguments))
    }

    /// The `f64` values of a `.npy` file that a run wrote, and its shape.
    fn values(&self, name: &str) -> (Vec<usize>, Vec<f64>) {
        let file = outcrop::pipeline::npy::NpyFile::open(&self.path().join(name)).unwrap();
        assert_eq!(file.dtype, outcrop::dtype::DType::F64);
        let values = file.data().chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().unwrap())).collect();
        (file.shape.to_vec(), values)
    }
}

/// The command in a folder, deaf to the settings of whoever runs the tests.
fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_outcrop"));
    command.args(arguments).current_dir(folder);
    // Without it some Vulkan drivers complain on stderr.
    command.env("XDG_RUNTIME_DIR", std::env::temp_dir());
    for name in ["OUTCROP_CPU_ONLY", "OUTCROP_DENY_FALLBACK", "OUTCROP_ALLOW_SOFTWARE_GPU"] {
        command.env_remove(name);
    }
    command
}

fn ran(command: &mut Command) -> Ran {
    let output = command.output().unwrap();
    Ran {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// A `.npy` file, with its header's fields given as Python text.
fn npy(descr: &str, fortran: bool, shape: &str, data: &[u8]) -> Vec<u8> {
    let fortran = if fortran { "True" } else { "False" };
    let header = format!("{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {shape}, }}");
    let header = format!("{header:<117}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    bytes
}
