//! A window that slides over partitions: each is made of itself and its neighbours.

use outcrop::graph::{Call, CustomOp, Made, Read, TaskError, ValueSpec};
use outcrop::token::{Token, Tokenizer};

/// Takes the mean of partitions i − 1, i and i + 1, as far as they are there, from each value of partition i.
#[derive(Debug)]
pub struct Anomaly;

impl CustomOp for Anomaly {
    fn name(&self) -> &str {
        "anomaly"
    }

    fn token(&self) -> Token {
        Tokenizer::new("anomaly").int(1).finish()
    }

    fn output(&self, inputs: &[&ValueSpec]) -> Result<ValueSpec, String> {
        match inputs {
            [partitions] if !partitions.is_array() => Ok(ValueSpec::clone(partitions)),
            [other] => Err(format!("a window slides over partitions, and this is {other}")),
            _ => Err(format!("a window slides over one collection, and {} were given", inputs.len())),
        }
    }

    /// The partition itself comes first.
    fn reads(&self, block: usize, output: &ValueSpec, _inputs: &[&ValueSpec]) -> Vec<Read> {
        let before = block.checked_sub(1);
        let after = (block + 1 < output.count()).then_some(block + 1);
        [Some(block), before, after].into_iter().flatten().map(|block| Read { input: 0, block }).collect()
    }

    fn reads_everything(&self) -> bool {
        true
    }

    fn compute(&self, call: &mut Call<'_>) -> Result<Made, TaskError> {
        let (mut sum, mut count) = (0.0, 0);
        for at in 0..call.operands.len() {
            for value in call.object_operand::<Vec<Vec<f64>>>(at)?.iter().flatten() {
                sum += value;
                count += 1;
            }
        }
        let mean = if count == 0 { 0.0 } else { sum / f64::from(count) };
        let own: &Vec<Vec<f64>> = call.object_operand(0)?;
        let rows: Vec<Vec<f64>> =
            own.iter().map(|row| row.iter().map(|value| value - mean).collect()).collect();
        Ok(Made::object(rows))
    }
}
