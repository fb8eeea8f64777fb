//! Random programs over arrays, as data, so that one program can be built in several ways.

use outcrop::annotate::{Annotations, annotate};
use outcrop::collections::Array;
use outcrop::collections::array::{Index, Over};
use outcrop::dtype::{DType, Scalar};
use outcrop::graph::expr_ops::{BinaryOp, Distribution, EdgeMode, UnaryOp};
use outcrop::graph::op::Reduction;

/// SplitMix64 (Steele, Lea and Flood, 2014).
#[derive(Clone)]
pub struct Dice(pub u64);

impl Dice {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// One of `0..n`.
    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    pub fn pick<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}

/// One operation; operands are earlier nodes.
#[derive(Clone, Debug)]
pub enum Node {
    Memory { shape: Vec<usize>, values: Vec<i64>, dtype: DType },
    Indices(Vec<usize>, DType),
    Full(Vec<usize>, DType),
    Random(Vec<usize>, DType, u64),
    Unary(UnaryOp, usize),
    Binary(BinaryOp, usize, usize),
    BinaryScalar(BinaryOp, usize, Scalar),
    Cast(usize, DType),
    Select(usize, usize, usize),
    Gradient(usize, i64),
    Convolve(usize, Vec<f64>, i64, EdgeMode),
    Gaussian(usize, f64, i64, EdgeMode),
    Reduce { of: usize, reduction: Reduction, axes: Option<Vec<i64>>, keep: bool, mask: Option<usize> },
    Histogram { of: usize, bins: usize, range: Option<(f64, f64)>, mask: Option<usize> },
    Slice(usize, Vec<Index>),
    Rechunk(usize),
}

#[derive(Clone, Debug)]
pub struct Program {
    pub nodes: Vec<Node>,
    pub outputs: Vec<usize>,
}

/// How a program is built.
#[derive(Clone, Copy)]
pub struct Style {
    /// How to draw chunk sizes; `None` makes single chunks.
    pub chunks: Option<u64>,
    /// How to draw annotations.
    pub annotations: Option<u64>,
    /// Device wishes among them.
    pub devices: &'static [&'static str],
}

impl Program {
    /// A program, nearly always without an error in it.
    pub fn random(seed: u64) -> Program {
        let dice = &mut Dice(seed);
        let plain = Style { chunks: None, annotations: None, devices: &[] };
        let (mut nodes, mut arrays) = (Vec::new(), Vec::new());
        let length = 3 + dice.below(10);
        while nodes.len() < length {
            let node = if nodes.len() < 2 { creation(dice) } else { operation(dice, &arrays) };
            let array = build(&node, &arrays, &plain, &mut Dice(0));
            if array.layer().is_ok() || dice.one_in(200) {
                nodes.push(node);
                arrays.push(array);
            }
        }
        let outputs = (0..1 + dice.below(3)).map(|back| length - 1 - back.min(length - 1)).collect();
        Program { nodes, outputs }
    }

    pub fn build(&self, style: Style) -> Vec<Array> {
        let cuts = &mut Dice(style.chunks.unwrap_or(0));
        let wishes = &mut Dice(style.annotations.unwrap_or(0));
        let mut arrays = Vec::new();
        for node in &self.nodes {
            let notes = match style.annotations {
                Some(_) => annotations(wishes, style.devices),
                None => Annotations::new(),
            };
            let array = annotate(notes, || build(node, &arrays, &style, cuts));
            arrays.push(array);
        }
        arrays
    }
}

fn annotations(dice: &mut Dice, devices: &[&str]) -> Annotations {
    // Enough for the faults that some runs have.
    let mut notes = Annotations::new().set("retries", 40).unwrap();
    if !dice.one_in(3) {
        notes = notes.set("device", dice.pick(devices)).unwrap();
    }
    match dice.below(6) {
        0 => notes.set("priority", dice.below(9) as f64 - 4.0).unwrap(),
        1 => notes.set("memory", "64 B").unwrap(),
        2 => notes.set("x-custom", "kept").unwrap(),
        _ => notes,
    }
}

fn creation(dice: &mut Dice) -> Node {
    let shape: Vec<usize> = (0..dice.below(4)).map(|_| extent(dice)).collect();
    let dtype = dice.pick(&DType::ALL);
    match dice.below(5) {
        0 => Node::Indices(shape, dtype),
        1 => Node::Full(shape, dtype),
        2 => Node::Random(shape, dice.pick(&[DType::F32, DType::F64]), dice.next()),
        _ => {
            let count = shape.iter().product();
            let values = (0..count).map(|_| dice.below(41) as i64 - 20).collect();
            Node::Memory { shape, values, dtype }
        }
    }
}

fn extent(dice: &mut Dice) -> usize {
    match dice.below(8) {
        0 => 1,
        1 => dice.pick(&[0, 1, 2]),
        2 | 3 => 5,
        _ => 1 + dice.below(12),
    }
}

fn operation(dice: &mut Dice, arrays: &[Array]) -> Node {
    let last = arrays.len() - 1;
    let a = if dice.one_in(2) { last } else { dice.below(arrays.len()) };
    let b = dice.below(arrays.len());
    let axes = arrays[a].shape().map_or(0, |shape| shape.len());
    let axis = dice.below(axes.max(1)) as i64 - if dice.one_in(2) { axes as i64 } else { 0 };
    let masks: Vec<usize> =
        (0..arrays.len()).filter(|&i| arrays[i].dtype().is_ok_and(|dtype| dtype == DType::Bool)).collect();
    let mask = (!masks.is_empty()).then(|| dice.pick(&masks));
    let mode = dice.pick(&[EdgeMode::Nearest, EdgeMode::Reflect, EdgeMode::Constant(1.5)]);
    match dice.below(15) {
        0 => creation(dice),
        1 | 2 => Node::Unary(dice.pick(&UnaryOp::ALL), a),
        3 | 4 => Node::Binary(dice.pick(&BinaryOp::ALL), a, b),
        5 => {
            let scalar = match dice.below(3) {
                0 => Scalar::Float(dice.pick(&[-1.5, 0.0, 0.5, 3.0])),
                1 => Scalar::Bool(true),
                _ => Scalar::Int(dice.below(9) as i64 - 3),
            };
            Node::BinaryScalar(dice.pick(&BinaryOp::ALL), a, scalar)
        }
        6 => Node::Cast(a, dice.pick(&DType::ALL)),
        7 => mask.map_or(Node::Rechunk(a), |mask| Node::Select(mask, a, b)),
        8 => Node::Gradient(a, axis),
        9 => {
            let radius = dice.pick(&[0, 1, 2, 3, 7, 20]);
            let weights = (0..2 * radius + 1).map(|_| dice.below(9) as f64 * 0.25 - 1.0).collect();
            Node::Convolve(a, weights, axis, mode)
        }
        10 if dice.one_in(2) => Node::Gaussian(a, dice.pick(&[0.3, 1.0, 2.5]), axis, mode),
        10 => Node::Histogram {
            of: a,
            bins: 1 + dice.below(7),
            range: (!dice.one_in(3)).then_some((-5.0, 7.0)),
            mask: mask.filter(|_| dice.one_in(3)),
        },
        11 | 12 => Node::Reduce {
            of: a,
            reduction: reduction(dice),
            axes: (!dice.one_in(3)).then(|| (0..axes as i64).filter(|_| dice.one_in(2)).collect()),
            keep: dice.one_in(3),
            mask: mask.filter(|_| dice.one_in(2)),
        },
        13 => Node::Slice(a, (0..axes).map(|_| index(dice)).collect()),
        _ => Node::Rechunk(a),
    }
}

fn reduction(dice: &mut Dice) -> Reduction {
    let ddof = dice.below(2) as u32;
    dice.pick(&[
        Reduction::Sum,
        Reduction::Mean,
        Reduction::Min,
        Reduction::Max,
        Reduction::Var { ddof },
        Reduction::Std { ddof },
    ])
}

fn index(dice: &mut Dice) -> Index {
    if dice.one_in(4) {
        return Index::At(dice.below(8) as i64 - 4);
    }
    let mut bound = || (!dice.one_in(3)).then(|| dice.below(30) as i64 - 15);
    let (start, stop) = (bound(), bound());
    Index::Range { start, stop, step: dice.pick(&[None, Some(-1), Some(2), Some(-3), Some(1), Some(-1)]) }
}

fn build(node: &Node, arrays: &[Array], style: &Style, dice: &mut Dice) -> Array {
    let of = |at: usize| &arrays[at];
    match node {
        Node::Memory { shape, values, dtype } => cut(memory(shape, values, *dtype), style, dice),
        Node::Indices(shape, dtype) => cut(Array::indices(shape.as_slice(), *dtype), style, dice),
        Node::Full(shape, dtype) => cut(Array::full(shape.as_slice(), 3, *dtype), style, dice),
        Node::Random(shape, dtype, seed) => {
            cut(Array::random(Distribution::Normal, shape.as_slice(), *dtype, *seed), style, dice)
        }
        Node::Unary(op, a) => of(*a).unary(*op),
        Node::Binary(op, a, b) => Array::binary(*op, of(*a), of(*b)),
        Node::BinaryScalar(op, a, scalar) => Array::binary(*op, of(*a), *scalar),
        Node::Cast(a, dtype) => of(*a).astype(*dtype),
        Node::Select(mask, a, b) => Array::select(of(*mask), of(*a), of(*b)),
        Node::Gradient(a, axis) => of(*a).gradient(0.5, *axis),
        Node::Convolve(a, weights, axis, mode) => of(*a).convolve1d(weights, *axis, *mode),
        Node::Gaussian(a, sigma, axis, mode) => of(*a).gaussian_filter1d(*sigma, *axis, *mode),
        Node::Reduce { of: a, reduction, axes, keep, mask } => {
            let mask = mask.map(|mask| of(mask).clone());
            of(*a).reduce(*reduction, &Over { axes: axes.clone(), keep_dims: *keep, mask })
        }
        Node::Histogram { of: a, bins, range, mask } => of(*a).histogram(*bins, *range, mask.map(of)),
        Node::Slice(a, entries) => of(*a).slice(entries),
        Node::Rechunk(a) => cut(of(*a).clone(), style, dice),
    }
}

fn cut(array: Array, style: &Style, dice: &mut Dice) -> Array {
    let axes = array.shape().map_or(0, |shape| shape.len());
    let sizes: Vec<usize> = (0..axes).map(|_| dice.below(6)).collect();
    if style.chunks.is_some() { array.rechunk(&sizes) } else { array.rechunk(&vec![0; axes]) }
}

fn memory(shape: &[usize], values: &[i64], dtype: DType) -> Array {
    let floats = |scale: f64| values.iter().map(|&v| v as f64 * scale).collect::<Vec<f64>>();
    match dtype {
        DType::F64 => Array::from_slice(shape, &floats(0.37)),
        DType::F32 => Array::from_slice(shape, &floats(0.37).iter().map(|&v| v as f32).collect::<Vec<_>>()),
        DType::U8 => Array::from_slice(shape, &values.iter().map(|&v| v as u8).collect::<Vec<_>>()),
        DType::Bool => Array::from_slice(shape, &values.iter().map(|&v| v > 0).collect::<Vec<_>>()),
        DType::I64 => Array::from_slice(shape, values),
        other => Array::from_slice(shape, values).astype(other),
    }
}
