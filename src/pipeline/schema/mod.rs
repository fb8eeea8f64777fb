//! What a pipeline file says, as written: every value with its place in the file, nothing resolved yet.
//!
//! ```toml
//! [inputs.dem]
//! path = "dem.npy"               # or: random = "normal", zeros = true, ones = true, full = 3, arange = true
//! chunks = [512, -1]             # "auto", one number for all axes, or one of both or -1 (whole) an axis
//! dtype = "f32"                  # of a file: cast to; else: make
//!
//! [[layer]]
//! name = "slope"
//! expr = "arctan(hypot(gx, gy))"
//! annotate = { device = "prefer-gpu" }
//!
//! [outputs]
//! slope = ["slope.npy", { path = "slope.png", scale = [0, 1.57], colormap = "viridis" }]
//!
//! [settings]                     # threads, pin_threads, memory, spill, spill_dir, spill_limit, cpu_only,
//!                                # deny_fallback, allow_software_gpu, resources
//! memory = "512 MiB"
//! annotations = { retries = 2 }  # what holds for layers that don't say otherwise
//! ```
//!
//! [`read`] never fails: what it can't understand it lists in [`File::problems`], so that
//! [`check`](super::check::check) can report that together with everything else.

mod overrides;
mod raw;
mod read;
mod text_map;
mod value;

use std::collections::BTreeMap;
use std::ops::Range;

use toml::Spanned;

use super::diagnostic::Problem;
use super::picture::Colormap;
use crate::dtype::{DType, Scalar};
use crate::units::Bytes;

pub use overrides::{apply_override, layer_override};
pub use raw::RawValue;
pub use read::read;
pub use text_map::TextMap;

/// A value and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Located<T> {
    /// The value.
    pub value: T,
    /// Bytes of the file; `None` when the value came from the command line.
    pub span: Option<Range<usize>>,
}

/// A pipeline file, in the order written.
#[derive(Clone, Debug, Default)]
pub struct File {
    /// `[inputs.NAME]`
    pub inputs: Vec<InputTable>,
    /// `[[layer]]`
    pub layers: Vec<LayerTable>,
    /// `[outputs]`, one entry a file to write.
    pub outputs: Vec<OutputEntry>,
    /// `[settings]`
    pub settings: Settings,
    /// What [`read`] couldn't understand.
    pub problems: Vec<Problem>,
    /// The text isn't TOML: then the rest is unreliable and only [`File::problems`] counts.
    pub malformed: bool,
}

/// `[inputs.NAME]` as written: which keys go together is checked later.
#[derive(Clone, Debug, PartialEq)]
pub struct InputTable {
    /// The name that expressions use.
    pub name: Located<String>,
    /// A `.npy` file.
    pub path: Option<Located<String>>,
    /// Random numbers.
    pub random: Option<Located<Distribution>>,
    /// Zeros.
    pub zeros: Option<Located<bool>>,
    /// Ones.
    pub ones: Option<Located<bool>>,
    /// One value everywhere.
    pub full: Option<Located<Scalar>>,
    /// 0, 1, 2, … in C order.
    pub arange: Option<Located<bool>>,
    /// Extents of a generated input.
    pub shape: Option<Located<Vec<usize>>>,
    /// Element type.
    pub dtype: Option<Located<DType>>,
    /// Seed of random numbers.
    pub seed: Option<Located<u64>>,
    /// Chunk extents.
    pub chunks: Option<Located<Chunks>>,
    /// A key of this table couldn't be understood and is among [`File::problems`].
    pub incomplete: bool,
}

/// How random inputs are distributed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distribution {
    /// Mean 0, standard deviation 1.
    Normal,
    /// Uniform in [0, 1).
    Uniform,
}

/// The chunk extents that a file asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Chunks {
    /// The same along every axis.
    Every(AxisChunk),
    /// One an axis.
    PerAxis(Vec<AxisChunk>),
}

/// The chunk extent along one axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AxisChunk {
    /// The planner's choice.
    Auto,
    /// The whole axis in one chunk (`-1`).
    Whole,
    /// This many elements, at least 1; the last chunk may be shorter.
    Size(usize),
}

/// `[[layer]]`
#[derive(Clone, Debug, PartialEq)]
pub struct LayerTable {
    /// The layer's name.
    pub name: Located<String>,
    /// Its expression; `None` when it is missing, which [`File::problems`] then says.
    pub expr: Option<Expression>,
    /// Its annotations, in the order written.
    pub annotate: Vec<RawAnnotation>,
}

/// An expression's text and the way from its bytes to the file's.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    /// The text, TOML's escapes resolved.
    pub text: String,
    /// Where each byte of it stands in the file.
    pub map: TextMap,
}

/// One entry of `annotate = { … }`: its meaning is checked with all annotations.
#[derive(Clone, Debug, PartialEq)]
pub struct RawAnnotation {
    /// The key.
    pub key: Spanned<String>,
    /// The value.
    pub value: Spanned<RawValue>,
}

/// One file to write.
#[derive(Clone, Debug, PartialEq)]
pub struct OutputEntry {
    /// The layer whose value it holds.
    pub layer: Located<String>,
    /// The path, relative to the output folder.
    pub path: Located<String>,
    /// How values become grey levels (pictures).
    pub scale: Option<Located<Scale>>,
    /// The colours (pictures).
    pub colormap: Option<Located<Colormap>>,
}

/// How the values of a layer become the 256 levels of a picture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scale {
    /// The layer's least and greatest finite values become 0 and 255.
    Auto,
    /// These two values become 0 and 255; what lies outside is clipped.
    Range(f64, f64),
    /// No scaling. Integers are levels and are clipped to 0..=255; floats and booleans are clipped to [0, 1],
    /// of which 1 is level 255.
    Clip,
}

/// `[settings]`; flags of the command line go over these.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// Host threads, at least 1.
    pub threads: Option<Located<usize>>,
    /// Whether each host thread stays on one core.
    pub pin_threads: Option<bool>,
    /// Budget of host memory.
    pub memory: Option<Located<Bytes>>,
    /// Whether values may be spilled to disk.
    pub spill: Option<bool>,
    /// The folder for spilled values.
    pub spill_dir: Option<Located<String>>,
    /// What spilled values may take on disk.
    pub spill_limit: Option<Located<Bytes>>,
    /// Everything may run on the host.
    pub cpu_only: Option<bool>,
    /// `prefer-gpu` becomes `gpu`.
    pub deny_fallback: Option<bool>,
    /// A software adapter counts as a GPU.
    pub allow_software_gpu: Option<bool>,
    /// Amounts of custom resources, by name.
    pub resources: Option<BTreeMap<String, f64>>,
    /// What holds for layers that don't say otherwise, in the order written.
    pub annotations: Vec<RawAnnotation>,
}
