//! The resume directory of a session: what a plan can take from it, and what of it is of no use any more.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::block::{Block, Layout};
use crate::device::contract::Device;
use crate::error::Error;
use crate::graph::layer_graph::LayerGraph;
use crate::ids::StepId;
use crate::machine::Machine;
use crate::plan;
use crate::plan::known::{Known, KnownAt};
use crate::report::ResumeReport;
use crate::settings::Settings;
use crate::steps::{Plan, StepKind};
use crate::store::resume::ResumeStore;
use crate::token::Token;

/// Notes that a report spells out: a damaged directory may have one for each of 10^5 blocks.
const NOTES_MAX: usize = 8;

/// A session's resume directory; it is opened with the first plan, and locked until the session ends.
#[derive(Default)]
pub(super) struct Resume {
    folder: Option<PathBuf>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    store: Option<Arc<ResumeStore>>,
    /// What the session's plans kept or could have kept.
    used: HashSet<Token>,
}

impl Resume {
    pub(super) fn new(folder: Option<&Path>) -> Self {
        Resume { folder: folder.map(Path::to_owned), state: Mutex::default() }
    }

    /// The open store; `None` when the session has no resume directory.
    ///
    /// # Errors
    /// Another run uses the directory, it isn't one of Outcrop's, or it can't be read or written.
    pub(super) fn store(&self) -> Result<Option<Arc<ResumeStore>>, Error> {
        let Some(folder) = &self.folder else { return Ok(None) };
        let mut state = self.state();
        if state.store.is_none() {
            state.store = Some(Arc::new(ResumeStore::open(folder)?));
        }
        Ok(state.store.clone())
    }

    /// Plans a graph: first as if nothing else was known, which tells what would be kept and under which tokens; then, where
    /// some of that is in the store, around it.
    ///
    /// # Errors
    /// As [`plan::plan`] and [`Resume::store`].
    pub(super) fn plan(
        &self,
        graph: &LayerGraph,
        known: &Known,
        machine: &Machine,
        settings: &Settings,
    ) -> Result<Plan, Error> {
        let Some(store) = self.store()? else {
            return Ok(plan::plan(graph, known, machine, settings)?);
        };
        let mut known = known.clone().and_keeping(graph.contents());
        let mut found = false;
        let whole = plan::plan(graph, &known, machine, settings)?;
        let mut state = self.state();
        for step in whole.steps.iter().filter(|step| step.kind == StepKind::Keep) {
            let (layer, block) = (&whole.layers[step.layer as usize], step.block as usize);
            let Some(token) = layer.block_token(block) else { continue };
            state.used.insert(token);
            if store.contains(token) {
                found = true;
                known.add(&layer.root, block, KnownAt::Store);
            }
        }
        drop(state);
        if !found { Ok(whole) } else { Ok(plan::plan(graph, &known, machine, settings)?) }
    }

    /// Reads every block that a plan recalls from the store, which forgets those that are damaged: a run that came upon
    /// one needn't find the others one by one. O(bytes recalled).
    ///
    /// # Errors
    /// No memory for a block on the host; a store that fails for other reasons.
    pub(super) fn forget_damaged(&self, plan: &Plan, host: &dyn Device) -> Result<(), Error> {
        let Some(store) = self.store()? else { return Ok(()) };
        for (at, step) in plan.steps.iter().enumerate().filter(|(_, step)| step.kind == StepKind::Recall) {
            let Some(token) = plan.layers[step.layer as usize].block_token(step.block as usize) else {
                continue;
            };
            let (dtype, shape) = plan.value_layout(StepId::at(at));
            let layout = Layout::contiguous(dtype, shape);
            let block = Block { buffer: host.memory().allocate(layout.bytes())?, layout };
            match store.read(token, &block) {
                Err(error) if !error.is_lost_chunk() => return Err(error.into()),
                Ok(()) | Err(_) => {}
            }
        }
        Ok(())
    }

    /// Makes safe what was kept, whatever became of the run.
    ///
    /// # Errors
    /// The disk's.
    pub(super) fn flush(&self) -> Result<(), Error> {
        match self.store()? {
            Some(store) => Ok(store.flush()?),
            None => Ok(()),
        }
    }

    /// Removes what none of the session's plans could use, and returns how many chunks that were.
    ///
    /// # Errors
    /// The disk's.
    pub(super) fn remove_unused(&self) -> Result<usize, Error> {
        match self.store()? {
            Some(store) => Ok(store.remove_unused(&self.state().used)?),
            None => Ok(0),
        }
    }

    /// What a run that went well has to tell of the directory, once what it kept is safe. Where that can't be had the
    /// run's results stand, and a later run computes more of them again.
    ///
    /// # Errors
    /// As [`Resume::store`].
    pub(super) fn report(&self) -> Result<Option<ResumeReport>, Error> {
        let Some((folder, store)) = self.folder.as_deref().zip(self.store()?) else { return Ok(None) };
        let unsaved = store.flush().err().map(|error| error.to_string());
        let found = store.take_notes();
        let more =
            found.len().checked_sub(NOTES_MAX + 1).map(|more| format!("and {} more like these", more + 1));
        let notes =
            found.iter().take(NOTES_MAX).map(ToString::to_string).chain(more).chain(unsaved).collect();
        Ok(Some(ResumeReport { folder: folder.display().to_string(), notes }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
