//! The portfolio keeps what must be kept.

use super::graphs::sample;
use crate::plan::memory::{fit, memories, peak};
use crate::plan::terms::Assigned;
use crate::units::Bytes;

#[test]
fn whatever_order_is_chosen_fits_and_keeps_priorities() {
    let mut fitted = 0;
    for seed in 30_000..30_400 {
        let mut sample = sample(seed, 1);
        let mut order = sample.order();
        let urgent = |task: u32| if task.is_multiple_of(3) { 1.0 } else { 0.0 };
        let priority: Vec<f64> = (0..order.len() as u32).map(urgent).collect();
        order = crate::plan::order::keeping_priority(&sample.tasks, &order, &priority);
        let mut memories = memories(sample.scope());
        peak::measure(&sample.tasks, &sample.terms, &order, &mut memories);
        sample.settings.memory = Some(Bytes(memories[0].peak.0 * 3 / 4));
        let mut tasks = sample.tasks.clone();
        let mut assigned = Assigned { terms: sample.terms.clone(), priority: priority.clone() };
        let Ok(done) = fit(&mut tasks, &mut assigned, order, sample.scope()) else { continue };
        fitted += 1;
        assert!(done.memories[0].peak <= done.memories[0].budget.expect("set"), "seed {seed}");
        let real: Vec<u32> =
            done.order.iter().copied().filter(|&task| (task as usize) < priority.len()).collect();
        assert_eq!(
            crate::plan::order::keeping_priority(&sample.tasks, &real, &priority),
            real,
            "seed {seed}"
        );
    }
    assert!(fitted > 50, "{fitted}");
}
