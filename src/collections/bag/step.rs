//! The one operation that all methods of a bag make layers of: which values it reads is data, what it makes of them is
//! a function.

use std::fmt;
use std::sync::Arc;

use crate::dtype::DType;
use crate::graph::chunking::{AxisChunks, Chunking};
use crate::graph::custom::{Call, CustomOp, Made, TaskError};
use crate::graph::error::GraphError;
use crate::graph::layer::{Layer, LayerBody, Naming};
use crate::graph::op::Op;
use crate::graph::rule::Read;
use crate::graph::value_spec::ValueSpec;
use crate::token::{Token, Tokenizer};

/// One layer of a bag.
pub(super) struct Step {
    pub(super) name: Arc<str>,
    /// Identifies the function.
    pub(super) token: Token,
    pub(super) rule: Rule,
    pub(super) makes: Makes,
    pub(super) run: Box<Run>,
}

pub(super) type Run = dyn Fn(&mut Call<'_>) -> Result<Made, TaskError> + Send + Sync;

/// Which values of its inputs a value is made of. No rule grows with the number of partitions.
#[derive(Clone, Copy, Debug)]
pub(super) enum Rule {
    /// None: so many values come from elsewhere.
    Source(usize),
    /// The one with the same number, of every input.
    Each,
    /// So many neighbours: a level of a tree.
    Runs(usize),
    /// One of them, the values of all inputs in a row.
    Row,
    /// All of them, for each of so many.
    All(usize),
    /// One of them, for the only value.
    Pick(usize),
    /// Those that so many values of equal share overlap.
    Shares(usize),
}

/// What a layer's values are.
pub(super) enum Makes {
    /// Partitions, of so many bytes; without a figure, as many as the largest that it is made of.
    Partitions(Option<usize>),
    /// Objects that aren't partitions, of so many bytes; the only one has the layer's name as its key.
    Objects(usize),
    /// Blocks of an array along one axis, one for each value.
    Blocks(AxisChunks, DType),
}

impl Step {
    /// The layer of this step over `inputs`, under the scope's annotations.
    pub(super) fn layer(self, inputs: Vec<Arc<Layer>>) -> Result<Arc<Layer>, GraphError> {
        let refused =
            |argument, value: String, problem| GraphError::Argument { op: "bag", argument, value, problem };
        if self.name.is_empty() {
            return Err(refused("name", "''".to_owned(), "must not be empty"));
        }
        if inputs.len() >= usize::from(Read::OWN) {
            let problem = "a layer reads at most 65534 collections: concatenate them in steps";
            return Err(refused("inputs", inputs.len().to_string(), problem));
        }
        let specs: Vec<&ValueSpec> = inputs.iter().map(|input| input.spec()).collect();
        let refused = |problem| GraphError::ShapeRule { layer: self.name.to_string(), problem };
        let spec = self.output(&specs).map_err(refused)?;
        Ok(Layer::of(LayerBody { op: Op::Custom(Arc::new(self)), spec }, inputs, Naming::Content))
    }
}

impl CustomOp for Step {
    fn name(&self) -> &str {
        &self.name
    }

    fn token(&self) -> Token {
        let (rule, parameter) = match self.rule {
            Rule::Source(count) => ("source", count),
            Rule::Each => ("each", 0),
            Rule::Runs(every) => ("runs", every),
            Rule::Row => ("row", 0),
            Rule::All(count) => ("all", count),
            Rule::Pick(partition) => ("pick", partition),
            Rule::Shares(count) => ("shares", count),
        };
        Tokenizer::new("bag").token(self.token).text(rule).int(parameter as i64).finish()
    }

    fn output(&self, inputs: &[&ValueSpec]) -> Result<ValueSpec, String> {
        let count = self.rule.count(inputs)?;
        match &self.makes {
            Makes::Partitions(bytes) => {
                let largest = || inputs.iter().map(|input| bytes_each(input)).max().unwrap_or(0);
                Ok(ValueSpec::objects(count, bytes.unwrap_or_else(largest) as u64))
            }
            Makes::Objects(bytes) if count == 1 => Ok(ValueSpec::object(*bytes as u64)),
            Makes::Objects(bytes) => Ok(ValueSpec::objects(count, *bytes as u64)),
            Makes::Blocks(axis, dtype) if axis.count() == count => {
                Ok(ValueSpec::array(Chunking::new([axis.clone()]), *dtype))
            }
            Makes::Blocks(axis, _) => {
                Err(format!("{} lengths for {count} partitions; give one for each", axis.count()))
            }
        }
    }

    fn reads(&self, block: usize, _output: &ValueSpec, inputs: &[&ValueSpec]) -> Vec<Read> {
        let first = |range: std::ops::Range<usize>| range.map(|block| Read { input: 0, block }).collect();
        let count = inputs.first().map_or(0, |input| input.count());
        match self.rule {
            Rule::Source(_) => Vec::new(),
            Rule::Each => (0..inputs.len()).map(|input| Read { input: input as u16, block }).collect(),
            Rule::Runs(every) => {
                let from = block.saturating_mul(every).min(count);
                first(from..from.saturating_add(every).min(count))
            }
            Rule::Row => row(block, inputs).into_iter().collect(),
            Rule::All(_) => first(0..count),
            Rule::Pick(partition) => first(partition..partition + 1),
            Rule::Shares(shares) => first(share(block, shares, count).0),
        }
    }

    fn reads_everything(&self) -> bool {
        !matches!(self.rule, Rule::Pick(_))
    }

    fn compute(&self, call: &mut Call<'_>) -> Result<Made, TaskError> {
        (self.run)(call)
    }
}

impl Rule {
    /// How many values there are.
    fn count(self, inputs: &[&ValueSpec]) -> Result<usize, String> {
        let first = inputs.first().map_or(0, |input| input.count());
        match self {
            Rule::Source(count) | Rule::All(count) | Rule::Shares(count) => Ok(count),
            Rule::Each => match inputs.iter().find(|input| input.count() != first) {
                None => Ok(first),
                Some(other) => {
                    Err(format!("{first} partitions beside {}; repartition one of the bags", other.count()))
                }
            },
            Rule::Runs(every) => Ok(first.div_ceil(every).max(1)),
            Rule::Row if inputs.is_empty() => Err("there are none; give at least one".to_owned()),
            Rule::Row => Ok(inputs.iter().map(|input| input.count()).sum()),
            Rule::Pick(partition) if partition >= first => {
                Err(format!("partition {partition} of {first}; the last one is {}", first.saturating_sub(1)))
            }
            Rule::Pick(_) => Ok(1),
        }
    }
}

/// Bytes that one value takes, as far as that was said.
pub(super) fn bytes_each(spec: &ValueSpec) -> usize {
    spec.chunks.largest_block() * spec.dtype.size()
}

/// Where value `place` of all inputs in a row is.
fn row(place: usize, inputs: &[&ValueSpec]) -> Option<Read> {
    let mut passed = 0;
    for (input, spec) in inputs.iter().enumerate() {
        if place - passed < spec.count() {
            return Some(Read { input: input as u16, block: place - passed });
        }
        passed += spec.count();
    }
    None
}

/// What share `block` of `shares` takes of `count` values in a row: which values, and, when there are more shares than
/// values, which piece of how many equal ones of the only value.
pub(super) fn share(block: usize, shares: usize, count: usize) -> (std::ops::Range<usize>, usize, usize) {
    let of = |at: usize, of: usize, whole: usize| (at as u128 * whole as u128 / of as u128) as usize;
    if shares <= count {
        return (of(block, shares, count)..of(block + 1, shares, count), 0, 1);
    }
    let value = (((block as u128 + 1) * count as u128 - 1) / shares as u128) as usize;
    let (from, to) = (of(value, count, shares), of(value + 1, count, shares));
    (value..value + 1, block - from, to - from)
}

/// The places of piece `piece` of `pieces` among `items`, cut as `numpy.array_split` cuts: the first pieces are one
/// longer where the items can't be shared equally.
pub(super) fn piece(piece: usize, pieces: usize, items: usize) -> std::ops::Range<usize> {
    let (each, longer) = (items / pieces, items % pieces);
    let from = piece * each + piece.min(longer);
    from..from + each + usize::from(piece < longer)
}

impl fmt::Debug for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}", self.name, self.rule)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_cover_all_values_once_and_in_order() {
        for (shares, count) in [(1, 1), (3, 10), (10, 3), (7, 7), (5, 1), (1, 5)] {
            let mut pieces = Vec::new();
            for block in 0..shares {
                let (values, piece, of) = share(block, shares, count);
                pieces.extend(values.map(|value| (value, piece, of)));
            }
            let mut expected = Vec::new();
            for value in 0..count {
                let of = pieces.iter().filter(|piece| piece.0 == value).count();
                expected.extend((0..of).map(|piece| (value, piece, of)));
            }
            assert_eq!(pieces, expected, "{shares} of {count}");
        }
    }

    #[test]
    fn pieces_are_those_of_array_split() {
        let lengths =
            |pieces, items| (0..pieces).map(|at| piece(at, pieces, items).len()).collect::<Vec<_>>();
        assert_eq!(lengths(4, 10), [3, 3, 2, 2]);
        assert_eq!(lengths(3, 2), [1, 1, 0]);
        assert_eq!(lengths(2, 0), [0, 0]);
        assert_eq!((piece(1, 4, 10), piece(3, 4, 10)), (3..6, 8..10));
    }

    #[test]
    fn a_row_has_the_values_of_all_inputs() {
        let (two, one) = (ValueSpec::objects(2, 8), ValueSpec::objects(1, 8));
        let at = |place| row(place, &[&two, &one]).map(|read| (read.input, read.block));
        assert_eq!([at(0), at(1), at(2), at(3)], [Some((0, 0)), Some((0, 1)), Some((1, 0)), None]);
    }
}
