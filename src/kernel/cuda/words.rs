//! What a launch passes to a map or fold: the order of the words.

use super::{Slot, Word};
use crate::kernel::render::{LaunchError, input_place, operands_by_input};
use crate::kernel::{Arguments, MapKernel};

/// Positions of a kernel's words. The inputs' addresses come first.
pub(super) struct WordLayout {
    /// The output's address.
    pub(super) output: usize,
    /// How many elements are computed.
    pub(super) items: usize,
    /// Extents of the region computed, one for each axis.
    pub(super) extents: usize,
    /// Its origin in the whole domain.
    pub(super) origin: usize,
    /// For each input: the position of its first element, then a step for each axis of the domain.
    pub(super) inputs: Vec<usize>,
    /// The first word that is the kernel's own.
    pub(super) own: usize,
}

impl WordLayout {
    pub(super) fn new(map: &MapKernel) -> Self {
        let (rank, output) = (map.shape.len(), map.inputs.len());
        let extents = output + 2;
        let origin = extents + rank;
        let first = origin + rank;
        let inputs: Vec<usize> = (0..map.inputs.len()).map(|i| first + i * (1 + rank)).collect();
        let own = first + inputs.len() * (1 + rank);
        WordLayout { output, items: output + 1, extents, origin, inputs, own }
    }
}

/// The words up to the kernel's own.
pub(super) fn map_words(map: &MapKernel, arguments: &Arguments) -> Result<Vec<Word>, LaunchError> {
    let reads = operands_by_input(map, arguments)?;
    let region = &arguments.region;
    let mut words: Vec<Word> = reads.iter().map(|&at| Word::Address(Slot::Operand(at), 0)).collect();
    words.push(Word::Address(Slot::Output, 0));
    words.push(value(region.shape.elements()));
    words.extend(region.shape.iter().chain(region.origin.iter()).map(|&number| value(number)));
    for (input, &at) in reads.iter().enumerate() {
        let place = input_place(map, region, input, &arguments.operands[at].block)?;
        words.push(value(place.first));
        words.extend(place.steps.iter().map(|&step| value(step)));
    }
    Ok(words)
}

pub(super) fn value(number: usize) -> Word {
    Word::Value(number as u64)
}
