//! One bar for each layer that is under way, where stderr is a terminal.

use std::sync::{Mutex, PoisonError};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use crate::steps::Plan;

/// The bars; dropping them clears the terminal.
pub(super) struct Progress {
    bars: MultiProgress,
    layers: Vec<(String, u64)>,
}

impl Progress {
    pub(super) fn of(plan: &Plan) -> Self {
        let mut layers: Vec<(String, u64)> =
            plan.layers.iter().map(|layer| (layer.name.clone(), 0)).collect();
        for step in plan.steps.iter() {
            layers[step.layer as usize].1 += 1;
        }
        Progress { bars: MultiProgress::new(), layers }
    }

    /// Takes the number of finished steps of each layer.
    pub(super) fn watcher(&self) -> impl Fn(&[u64]) + Send + 'static {
        let width = self.layers.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
        let template = format!("{{prefix:{width}}} {{bar:32}} {{pos}}/{{len}} {{eta}}");
        let style = ProgressStyle::with_template(&template).unwrap_or_else(|_| ProgressStyle::default_bar());
        let (bars, layers) = (self.bars.clone(), self.layers.clone());
        let shown: Mutex<Vec<Option<ProgressBar>>> = Mutex::new(vec![None; layers.len()]);
        move |finished: &[u64]| {
            let mut shown = shown.lock().unwrap_or_else(PoisonError::into_inner);
            for (((name, total), slot), done) in layers.iter().zip(shown.iter_mut()).zip(finished) {
                match slot {
                    Some(bar) if done == total => {
                        bar.finish_and_clear();
                        *slot = None;
                    }
                    Some(bar) => bar.set_position(*done),
                    None if *done > 0 && done < total => {
                        let bar = bars.add(ProgressBar::new(*total).with_style(style.clone()));
                        bar.set_prefix(name.clone());
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
