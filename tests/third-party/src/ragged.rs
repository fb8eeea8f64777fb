//! Rows of unequal length.

use std::fmt;
use std::sync::Arc;

use outcrop::collections::contract::rebuilt_layer;
use outcrop::collections::{Collection, Computed, Delayed, Rename};
use outcrop::graph::value_spec::ValueKind;
use outcrop::graph::{Call, CustomOp, GraphError, Keys, Layer, LayerGraph, Made, Read, TaskError, ValueSpec};
use outcrop::token::{Token, Tokenize, Tokenizer};

use crate::window::Anomaly;

/// A lazy list of rows of unequal length, in partitions, with a header: two layers, and so two names.
#[derive(Clone, Debug)]
pub struct Ragged {
    header: Delayed<Header>,
    partitions: Arc<Layer>,
}

/// What is known of all rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// What the values are.
    pub unit: String,
}

/// Computed rows.
#[derive(Clone, Debug, PartialEq)]
pub struct RaggedRows {
    /// What is known of all of them.
    pub header: Arc<Header>,
    /// All rows, partition after partition.
    pub rows: Vec<Vec<f64>>,
}

impl Ragged {
    /// Rows that are there, so many to a partition.
    ///
    /// # Errors
    /// No rows, or none to a partition, in words.
    pub fn from_rows(unit: &str, rows: Vec<Vec<f64>>, per_partition: usize) -> Result<Self, GraphError> {
        let count = if per_partition == 0 { 0 } else { rows.len().div_ceil(per_partition) };
        let token = rows.iter().fold(Tokenizer::new("rows"), |fields, row| fields.list(row.iter())).finish();
        let rows: Arc<[Vec<f64>]> = rows.into();
        let partition = move |at: usize| rows.chunks(per_partition).nth(at).unwrap_or_default().to_vec();
        Ragged::new(unit, count, token, partition)
    }

    /// Rows that a function makes, partition by partition; `token` identifies what it makes.
    ///
    /// # Errors
    /// No partitions, in words.
    pub fn new(
        unit: &str,
        partitions: usize,
        token: Token,
        make: impl Fn(usize) -> Vec<Vec<f64>> + Send + Sync + 'static,
    ) -> Result<Self, GraphError> {
        let op = Rows { count: partitions, token, make: Box::new(make) };
        let header = Delayed::literal(Header { unit: unit.to_owned() });
        Ok(Ragged { header, partitions: Layer::custom(Arc::new(op), Vec::new())? })
    }

    /// How far each value is from the mean of its partition and the two beside it.
    ///
    /// # Errors
    /// None so far; the operation takes what these partitions are.
    pub fn anomaly(&self) -> Result<Self, GraphError> {
        let partitions = Layer::custom(Arc::new(Anomaly), vec![self.partitions.clone()])?;
        Ok(Ragged { header: self.header.clone(), partitions })
    }

    /// The layer of the partitions.
    pub fn partitions(&self) -> &Arc<Layer> {
        &self.partitions
    }
}

impl Collection for Ragged {
    type Value = RaggedRows;

    fn graph(&self) -> Result<LayerGraph, GraphError> {
        Ok(LayerGraph::of([self.header.layer()?.clone(), self.partitions.clone()]))
    }

    /// The header's key, then a list of the partitions'.
    fn keys(&self) -> Result<Keys, GraphError> {
        let name = self.partitions.shared_name().clone();
        let grid = self.partitions.chunks().grid();
        Ok(Keys::List(vec![self.header.keys()?, Keys::Grid { name, grid }]))
    }

    fn rebuild(&self, graph: &LayerGraph, rename: &Rename) -> Result<Self, GraphError> {
        let header = self.header.rebuild(graph, rename)?;
        Ok(Ragged { header, partitions: rebuilt_layer(&self.partitions, graph, rename)? })
    }

    fn finalize(&self, values: &Computed) -> Result<RaggedRows, GraphError> {
        let mut rows = Vec::new();
        for block in 0..self.partitions.spec().count() {
            let partition = values.object::<Vec<Vec<f64>>>(&self.partitions.key(block)?)?;
            rows.extend(partition.iter().cloned());
        }
        Ok(RaggedRows { header: self.header.finalize(values)?, rows })
    }
}

impl Tokenize for Header {
    fn tokenize(&self, fields: Tokenizer) -> Tokenizer {
        fields.text("header").text(&self.unit)
    }
}

/// Makes partitions, each by its number.
struct Rows {
    count: usize,
    token: Token,
    make: Box<dyn Fn(usize) -> Vec<Vec<f64>> + Send + Sync>,
}

/// What a partition is expected to take; nobody can know before it is made.
const PARTITION_BYTES: u64 = 1 << 10;

impl fmt::Debug for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} partitions of rows", self.count)
    }
}

impl CustomOp for Rows {
    fn name(&self) -> &str {
        "rows"
    }

    fn token(&self) -> Token {
        self.token
    }

    fn output(&self, inputs: &[&ValueSpec]) -> Result<ValueSpec, String> {
        match (self.count, inputs) {
            (0, _) => Err("rows come in at least one partition".to_owned()),
            (count, []) => Ok(ValueSpec::objects(count, PARTITION_BYTES)),
            (_, inputs) => Err(format!("rows are made of nothing, and {} inputs were given", inputs.len())),
        }
    }

    fn reads(&self, _block: usize, _output: &ValueSpec, _inputs: &[&ValueSpec]) -> Vec<Read> {
        Vec::new()
    }

    fn reads_everything(&self) -> bool {
        true
    }

    fn compute(&self, call: &mut Call<'_>) -> Result<Made, TaskError> {
        debug_assert_eq!(call.spec.kind, ValueKind::Objects);
        Ok(Made::object((self.make)(call.block)))
    }
}
