//! Where the values of each input come from.

use crate::dtype::{DType, Kind, Scalar};
use crate::pipeline::diagnostic::Problem;
use crate::pipeline::schema::{AxisChunk, Chunks, Distribution, File, InputTable, Located};
use crate::shape::{AXES_MAX, Shape};

/// An input, resolved.
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    /// The name that expressions use.
    pub name: Located<String>,
    /// Where its values come from.
    pub source: Source,
    /// As written, `"auto"` where nothing is. For files the number of axes isn't checked here.
    pub chunks: Located<Chunks>,
}

/// Where the values of an input come from.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// A `.npy` file.
    Npy {
        /// The path as written. With a span it is relative to the pipeline file; without one it came from the
        /// command line and is relative to the current folder.
        path: Located<String>,
        /// Cast to this type.
        cast: Option<Located<DType>>,
    },
    /// Made, not read.
    Generated {
        /// The values.
        fill: Fill,
        /// The extents, at most [`AXES_MAX`] of them; their bytes fit `isize`.
        shape: Shape,
        /// The element type.
        dtype: DType,
    },
}

/// The values of a generated input.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fill {
    /// One value everywhere; it fits the element type.
    Constant(Scalar),
    /// 0, 1, 2, … in C order.
    Arange,
    /// Random numbers of type f32 or f64.
    Random {
        /// Their distribution.
        distribution: Distribution,
        /// As written; else a hash of the input's name, so that inputs differ and runs don't.
        seed: u64,
    },
}

/// The inputs that are right; the others are among the problems.
pub(super) fn check(file: &File, problems: &mut Vec<Problem>) -> Vec<Input> {
    let complete = file.inputs.iter().filter(|table| !table.incomplete);
    complete.filter_map(|table| input(table).map_err(|problem| problems.push(problem)).ok()).collect()
}

fn input(table: &InputTable) -> Result<Input, Problem> {
    let name = &table.name;
    let at_name = |message: String| Problem::new(message, name.span.clone());
    let sources = table.sources();
    let source = match sources[..] {
        [] => {
            let help = "give it a path = \"….npy\", or random, zeros, ones, full or arange with a shape";
            return Err(at_name(format!("input '{}' has no source", name.value)).help(help));
        }
        [("path", _)] => npy(table)?,
        [(kind, _)] => generated(table, kind)?,
        [(first, _), (second, ref span), ..] => {
            let message = format!("input '{}' has two sources: {first} and {second}", name.value);
            return Err(Problem::new(message, span.clone()).help("keep one of them"));
        }
    };
    let auto = Located { value: Chunks::Every(AxisChunk::Auto), span: None };
    let chunks = table.chunks.clone().unwrap_or(auto);
    if let (Chunks::PerAxis(axes), Source::Generated { shape, .. }) = (&chunks.value, &source)
        && axes.len() != shape.len()
    {
        let message = format!("{} chunk extents for {} axes, shape {shape}", axes.len(), shape.len());
        return Err(Problem::new(message, chunks.span.clone()));
    }
    Ok(Input { name: name.clone(), source, chunks })
}

type Keyed = (&'static str, Option<std::ops::Range<usize>>);

impl InputTable {
    /// The keys that say where the values come from, in the order written.
    fn sources(&self) -> Vec<Keyed> {
        let mut sources: Vec<Keyed> = [
            self.path.as_ref().map(|path| ("path", path.span.clone())),
            self.random.as_ref().map(|random| ("random", random.span.clone())),
            self.zeros.as_ref().map(|zeros| ("zeros", zeros.span.clone())),
            self.ones.as_ref().map(|ones| ("ones", ones.span.clone())),
            self.full.as_ref().map(|full| ("full", full.span.clone())),
            self.arange.as_ref().map(|arange| ("arange", arange.span.clone())),
        ]
        .into_iter()
        .flatten()
        .collect();
        sources.sort_by_key(|(_, span)| span.as_ref().map(|span| span.start));
        sources
    }
}

fn npy(table: &InputTable) -> Result<Source, Problem> {
    let Some(path) = table.path.clone() else { return Err(Problem::new("no path", None)) };
    let extra = [
        ("shape", table.shape.as_ref().map(|shape| &shape.span)),
        ("seed", table.seed.as_ref().map(|seed| &seed.span)),
    ];
    for (key, span) in extra {
        if let Some(span) = span {
            let message = format!("'{key}' doesn't go with 'path': the file says what it holds");
            return Err(Problem::new(message, span.clone()));
        }
    }
    if !path.value.to_lowercase().ends_with(".npy") {
        let problem = Problem::new(format!("input format of '{}' isn't known", path.value), path.span);
        return Err(problem.help("inputs are .npy files; write one with numpy.save"));
    }
    Ok(Source::Npy { path, cast: table.dtype.clone() })
}

fn generated(table: &InputTable, kind: &'static str) -> Result<Source, Problem> {
    let name = &table.name.value;
    for flag in [&table.zeros, &table.ones, &table.arange].into_iter().flatten() {
        if !flag.value {
            let problem = Problem::new(format!("'{kind} = false' makes no values"), flag.span.clone());
            return Err(problem.help(format!("write {kind} = true, or another source")));
        }
    }
    if let (Some(seed), None) = (&table.seed, &table.random) {
        return Err(Problem::new(format!("'seed' doesn't go with '{kind}'"), seed.span.clone()));
    }
    let (fill, default_dtype) = match (kind, &table.random, &table.full) {
        ("random", Some(random), _) => {
            let seed = table.seed.as_ref().map_or_else(|| name_hash(name), |seed| seed.value);
            (Fill::Random { distribution: random.value, seed }, DType::F64)
        }
        ("full", _, Some(full)) => (Fill::Constant(full.value), full.value.dtype()),
        ("arange", ..) => (Fill::Arange, DType::I64),
        ("ones", ..) => (Fill::Constant(Scalar::Int(1)), DType::F64),
        _ => (Fill::Constant(Scalar::Int(0)), DType::F64),
    };
    let dtype = table.dtype.as_ref().map_or(default_dtype, |dtype| dtype.value);
    fits(fill, dtype).map_err(|message| {
        let at = table.dtype.as_ref().and_then(|dtype| dtype.span.clone()).or(table.name.span.clone());
        Problem::new(format!("input '{name}': {message}"), at)
    })?;
    let shape = shape(table, dtype)?;
    Ok(Source::Generated { fill, shape, dtype })
}

fn shape(table: &InputTable, dtype: DType) -> Result<Shape, Problem> {
    let Some(extents) = &table.shape else {
        let message = format!("input '{}' has no 'shape'", table.name.value);
        return Err(Problem::new(message, table.name.span.clone()).help("write shape = [1000, 1000]"));
    };
    let shape = Shape::from(&extents.value[..]);
    if shape.len() > AXES_MAX {
        let message = format!("{} axes are more than the {AXES_MAX} that Outcrop handles", shape.len());
        return Err(Problem::new(message, extents.span.clone()));
    }
    let bytes = shape.iter().try_fold(dtype.size(), |bytes, extent| bytes.checked_mul((*extent).max(1)));
    if bytes.is_none_or(|bytes| bytes > isize::MAX as usize) {
        let message = format!("an array of shape {shape} and type {dtype} is too large for any machine");
        return Err(Problem::new(message, extents.span.clone()));
    }
    Ok(shape)
}

/// Whether the values can be of this type.
fn fits(fill: Fill, dtype: DType) -> Result<(), String> {
    let range = match dtype {
        DType::Bool => 0..=1,
        DType::U8 => 0..=i64::from(u8::MAX),
        DType::I16 => i64::from(i16::MIN)..=i64::from(i16::MAX),
        DType::I32 => i64::from(i32::MIN)..=i64::from(i32::MAX),
        DType::U32 => 0..=i64::from(u32::MAX),
        DType::I64 | DType::F16 | DType::F32 | DType::F64 => i64::MIN..=i64::MAX,
    };
    match fill {
        Fill::Random { .. } if !matches!(dtype, DType::F32 | DType::F64) => {
            Err(format!("random numbers are f32 or f64, not {dtype}"))
        }
        Fill::Constant(Scalar::Int(value)) if !range.contains(&value) => {
            Err(format!("the value {value} doesn't fit {dtype}"))
        }
        Fill::Constant(scalar @ Scalar::Float(value)) if dtype.kind() < Kind::Float => {
            Err(format!("the value {scalar} is a float, {dtype} is not: {value} would be cut"))
        }
        _ => Ok(()),
    }
}

/// FNV-1a with 64 bits (<http://www.isthe.com/chongo/tech/comp/fnv/>): the same in every process.
fn name_hash(name: &str) -> u64 {
    name.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}
