//! One bar for each layer that is under way, where stderr is a terminal.

use std::sync::{Mutex, PoisonError};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use crate::steps::{Plan, StepKind};

/// The bars; dropping them clears the terminal.
pub(super) struct Progress {
    bars: MultiProgress,
    layers: Vec<Layer>,
}

/// What a bar shows.
#[derive(Clone)]
struct Layer {
    name: String,
    steps: u64,
    /// How many of the steps move its values to disk and back.
    moves: u64,
}

impl Progress {
    pub(super) fn of(plan: &Plan) -> Self {
        let bar = |name: &String| Layer { name: name.clone(), steps: 0, moves: 0 };
        let mut layers: Vec<Layer> = plan.layers.iter().map(|layer| bar(&layer.name)).collect();
        for step in plan.steps.iter() {
            let layer = &mut layers[step.layer as usize];
            layer.steps += 1;
            layer.moves += u64::from(matches!(step.kind, StepKind::Spill | StepKind::Reload));
        }
        Progress { bars: MultiProgress::new(), layers }
    }

    /// Takes the number of finished steps of each layer.
    pub(super) fn watcher(&self) -> impl Fn(&[u64]) + Send + 'static {
        let width = self.layers.iter().map(|layer| layer.name.chars().count()).max().unwrap_or(0);
        let template = format!("{{prefix:{width}}} {{bar:32}} {{pos}}/{{len}} {{eta}}{{msg}}");
        let style = ProgressStyle::with_template(&template).unwrap_or_else(|_| ProgressStyle::default_bar());
        let (bars, layers) = (self.bars.clone(), self.layers.clone());
        let shown: Mutex<Vec<Option<ProgressBar>>> = Mutex::new(vec![None; layers.len()]);
        move |finished: &[u64]| {
            let mut shown = shown.lock().unwrap_or_else(PoisonError::into_inner);
            for ((layer, slot), done) in layers.iter().zip(shown.iter_mut()).zip(finished) {
                match slot {
                    Some(bar) if *done == layer.steps => {
                        bar.finish_and_clear();
                        *slot = None;
                    }
                    Some(bar) => bar.set_position(*done),
                    None if *done > 0 && *done < layer.steps => {
                        let bar = bars.add(ProgressBar::new(layer.steps).with_style(style.clone()));
                        bar.set_prefix(layer.name.clone());
                        if layer.moves > 0 {
                            bar.set_message(format!(", {} to disk and back", layer.moves));
                        }
                        bar.set_position(*done);
                        *slot = Some(bar);
                    }
                    None => {}
                }
            }
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        let _ = self.bars.clear();
    }
}
