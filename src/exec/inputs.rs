//! What a run has beside its plan: values that exist already, and a store for those that later runs may ask for.

use std::collections::HashMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use crate::block::Block;
use crate::exec::error::StepError;
use crate::exec::finished::Failures;
use crate::steps::PlanLayer;
use crate::store::StoreError;
use crate::store::resume::ResumeStore;
use crate::store::spill::SpillStore;
use crate::token::Token;
use crate::value::Value;

/// Where the plan's `recall` steps find their values, and where its `keep` steps put theirs. The default has neither.
/// Cheap to clone.
#[derive(Clone, Default)]
pub struct RunInputs {
    /// Kept blocks, under [`PlanLayer::block_token`].
    pub store: Option<Arc<ResumeStore>>,
    /// Values that an earlier run handed over, by the name of the layer in the graph and the block. They are in host
    /// memory, and taken before any in the store.
    pub values: Arc<HashMap<(Arc<str>, usize), Value>>,
    /// How often tasks failed in an earlier run that this one goes on from: no retry is had twice.
    pub failures: Arc<Failures>,
    /// The folder that values are spilled to; `None` is the system's for temporary files.
    pub spill_folder: Option<PathBuf>,
    /// Bytes that spilled values may take on disk.
    pub spill_limit: Option<u64>,
}

impl RunInputs {
    /// A store for what a run spills.
    ///
    /// # Errors
    /// No file can be made in the folder.
    pub(super) fn spill(&self) -> Result<SpillStore, StoreError> {
        let folder = self.spill_folder.clone().unwrap_or_else(SpillStore::default_folder);
        SpillStore::new(&folder, self.spill_limit)
    }

    /// Writes a block to the store.
    ///
    /// # Errors
    /// The store's; there is no store, which is a fault in Outcrop.
    pub(super) fn keep(&self, layer: &PlanLayer, block: usize, value: &Block) -> Result<(), StepError> {
        let (store, token) = self.place(layer, block)?;
        Ok(store.put(token, value)?)
    }

    /// A value that an earlier run handed over.
    pub(super) fn handed(&self, layer: &PlanLayer, block: usize) -> Option<&Value> {
        self.values.get(&(layer.root.clone(), block))
    }

    /// Reads a block from the store.
    ///
    /// # Errors
    /// The store's: it may say that the chunk is [lost](crate::store::StoreError::is_lost_chunk). There is no store, which
    /// is a fault in Outcrop.
    pub(super) fn recall(&self, layer: &PlanLayer, block: usize, into: &Block) -> Result<(), StepError> {
        let (store, token) = self.place(layer, block)?;
        Ok(store.read(token, into)?)
    }

    fn place(&self, layer: &PlanLayer, block: usize) -> Result<(&ResumeStore, Token), StepError> {
        let missing = || StepError::Bug {
            problem: format!("the plan keeps block {block} of '{}', and there is no store", layer.name),
        };
        self.store.as_deref().zip(layer.block_token(block)).ok_or_else(missing)
    }
}

impl fmt::Debug for RunInputs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let store = if self.store.is_some() { "a store" } else { "no store" };
        write!(f, "{} values handed over, and {store}", self.values.len())
    }
}
