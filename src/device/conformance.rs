//! The same values everywhere: every family of kernels on a device, against the host.
//!
//! A [`Subject`] is an open device and what is known of it. [`check`] runs every case that the device doesn't lack: each
//! family of kernels with each type and with awkward shapes, on values that find faults. Inputs are uploaded; what a
//! kernel writes to is filled with another value first, so that an element nobody wrote shows; the result is downloaded
//! and held against the host's. A device of the host's numeric class must give equal bits, NaN for NaN. Of others each
//! case says how far a float may be off.
//!
//! ```
//! use outcrop::device::conformance::{Subject, check};
//! use outcrop::device::host::Host;
//!
//! let device = Host::new(None);
//! let tally = check(&Subject::of_host_class(&device))?;
//! assert!(tally.total() > 1000 && tally.lacking == 0);
//! # Ok::<(), outcrop::device::conformance::Mismatch>(())
//! ```

mod cases;
mod compare;
mod play;

pub use cases::tolerance;

use std::collections::BTreeMap;
use std::fmt;

use crate::device::contract::{Device, DeviceError};
use crate::device::host::Host;
use crate::dtype::DType;
use crate::kernel::capability::{cuda_kernel_lack, wgpu_kernel_lack};
use crate::kernel::{Kernel, StateClass};
use crate::shape::Shape;

use cases::Case;

/// A device under test.
pub struct Subject<'a> {
    device: &'a dyn Device,
    class: Class<'a>,
}

/// What a device can do, and how exactly.
enum Class<'a> {
    /// All that the host does, with its bits.
    Host,
    /// All that CUDA C++ can express, with the host's bits; stencils read padded blocks.
    Cuda,
    /// What WGSL can express for these element types; stencils read padded blocks.
    Wgpu(&'a [DType]),
}

impl<'a> Subject<'a> {
    /// A device that can do all that the host can, and gives its bits.
    pub fn of_host_class(device: &'a dyn Device) -> Self {
        Subject { device, class: Class::Host }
    }

    /// A device behind CUDA: it gives the host's bits.
    pub fn of_cuda(device: &'a dyn Device) -> Self {
        Subject { device, class: Class::Cuda }
    }

    /// A device behind wgpu that computes with these types.
    pub fn of_wgpu(device: &'a dyn Device, dtypes: &'a [DType]) -> Self {
        Subject { device, class: Class::Wgpu(dtypes) }
    }

    fn lacks(&self, kernel: &Kernel) -> bool {
        match self.class {
            Class::Host => false,
            Class::Cuda => cuda_kernel_lack(kernel).is_some(),
            Class::Wgpu(dtypes) => wgpu_kernel_lack(kernel, dtypes).is_some(),
        }
    }

    fn is_exact(&self) -> bool {
        matches!(self.class, Class::Host | Class::Cuda)
    }

    fn state_class(&self) -> StateClass {
        match self.class {
            Class::Host | Class::Cuda => StateClass::Double,
            Class::Wgpu(_) => StateClass::Pair,
        }
    }
}

/// A family of kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Family {
    /// Functions of one value.
    Unary,
    /// Functions of two.
    Binary,
    /// Conversions of every type to every type.
    Cast,
    /// Several operations in one kernel: a choice between values, inputs that stretch, constants.
    Fused,
    /// Values that are made: positions and random numbers.
    Made,
    /// Neighbourhoods.
    Stencil,
    /// Reductions: folded, combined, finished.
    Reduction,
    /// Products of matrices.
    MatMul,
    /// Slices, rechunks, padding.
    Copy,
}

impl Family {
    /// All of them.
    pub const ALL: [Family; 9] = [
        Family::Unary,
        Family::Binary,
        Family::Cast,
        Family::Fused,
        Family::Made,
        Family::Stencil,
        Family::Reduction,
        Family::MatMul,
        Family::Copy,
    ];
}

/// Cases that ran, by family and type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    ran: BTreeMap<(Family, DType), usize>,
    /// Cases that the device can't do, and says so.
    pub lacking: usize,
}

impl Tally {
    /// Cases that ran.
    pub fn total(&self) -> usize {
        self.ran.values().sum()
    }

    /// Cases of a family that ran.
    pub fn of(&self, family: Family) -> usize {
        self.ran.iter().filter(|((other, _), _)| *other == family).map(|(_, count)| count).sum()
    }

    /// Element types with which a family ran.
    pub fn dtypes(&self, family: Family) -> usize {
        self.ran.keys().filter(|(other, _)| *other == family).count()
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for family in Family::ALL {
            let name = format!("{family:?}").to_lowercase();
            writeln!(f, "{name:10} {:5} cases, {} types", self.of(family), self.dtypes(family))?;
        }
        write!(f, "{:10} {:5} cases; {} that the device lacks", "all", self.total(), self.lacking)
    }
}

/// A device gave another value than the host, or none.
#[derive(Debug, thiserror::Error)]
pub enum Mismatch {
    /// It gave another value.
    #[error("{case}: element {element} is {found}, and the host's is {wanted}")]
    Value {
        /// What was computed.
        case: String,
        /// Which element, in C order.
        element: usize,
        /// What the device gave.
        found: String,
        /// What the host gives.
        wanted: String,
    },
    /// It failed.
    #[error("{case}: {source}")]
    Failed {
        /// What was computed.
        case: String,
        /// What went wrong.
        source: DeviceError,
    },
}

/// Runs every case that the device doesn't lack.
///
/// # Errors
/// The first case in which it gives other values than the host, or fails.
pub fn check(subject: &Subject<'_>) -> Result<Tally, Mismatch> {
    check_some(subject, &Family::ALL)
}

/// As [`check`], of some families.
///
/// # Errors
/// As [`check`].
pub fn check_some(subject: &Subject<'_>, families: &[Family]) -> Result<Tally, Mismatch> {
    let host = Host::new(None);
    let mut tally = Tally::default();
    let failed = |case: &Case, source| Mismatch::Failed { case: case.to_string(), source };
    let cases =
        cases::all(&host).map_err(|source| Mismatch::Failed { case: "making values".to_owned(), source })?;
    for case in cases.into_iter().filter(|case| families.contains(&case.family)) {
        if case.kernels(subject.state_class()).iter().any(|kernel| subject.lacks(kernel)) {
            tally.lacking += 1;
            continue;
        }
        let wanted =
            play::play(&Subject::of_host_class(&host), &host, &case).map_err(|error| failed(&case, error))?;
        let found = play::play(subject, &host, &case).map_err(|error| failed(&case, error))?;
        let tolerance = (!subject.is_exact()).then_some(case.tolerance);
        if let Some((element, found, wanted)) = compare::first_difference(&found, &wanted, tolerance) {
            return Err(Mismatch::Value { case: case.to_string(), element, found, wanted });
        }
        *tally.ran.entry((case.family, case.dtype)).or_default() += 1;
    }
    Ok(tally)
}

/// A shape as a list of extents.
fn shape(extents: &[usize]) -> Shape {
    extents.iter().copied().collect()
}
