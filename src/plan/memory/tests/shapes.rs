//! What budgets cost in simulated time, on shapes of graphs that pipelines have.

use super::graphs::Sample;
use crate::plan::memory::portfolio::best;
use crate::plan::memory::scene::scene;
use crate::plan::memory::view::View;
use crate::plan::order;
use crate::simulate::play;
use crate::units::Bytes;

/// A block: the disk writes or reads it in 3.2 ms.
const BLOCK: u64 = 3_100_000;

/// Tasks: bytes, reads, milliseconds.
type Tasks = Vec<(u64, Vec<u32>, u64)>;

fn source(tasks: &mut Tasks) -> u32 {
    tasks.push((BLOCK, Vec::new(), 2));
    tasks.len() as u32 - 1
}

fn map(tasks: &mut Tasks, reads: &[u32]) -> u32 {
    tasks.push((BLOCK, reads.to_vec(), 4));
    tasks.len() as u32 - 1
}

fn sink(tasks: &mut Tasks, value: u32) {
    tasks.push((0, vec![value], 1));
}

fn map_reduce(blocks: usize) -> Tasks {
    let mut tasks = Tasks::new();
    let mapped = |tasks: &mut Tasks| {
        let read = source(tasks);
        map(tasks, &[read])
    };
    let mut level: Vec<u32> = (0..blocks).map(|_| mapped(&mut tasks)).collect();
    while level.len() > 1 {
        level = level.chunks(8).map(|reads| map(&mut tasks, reads)).collect();
    }
    sink(&mut tasks, level[0]);
    tasks
}

/// `k` rows of `k` blocks become `k` columns: rows are read whole, and so are columns.
fn rechunk(k: usize) -> Tasks {
    let mut tasks = Tasks::new();
    let rows: Vec<Vec<u32>> = (0..k).map(|_| (0..k).map(|_| source(&mut tasks)).collect()).collect();
    let cut = |row: &Vec<u32>| (0..k).map(|_| map(&mut tasks, row)).collect();
    let middle: Vec<Vec<u32>> = rows.iter().map(cut).collect();
    for column in 0..k {
        for _ in 0..k {
            let reads: Vec<u32> = middle.iter().map(|row| row[column]).collect();
            let value = map(&mut tasks, &reads);
            sink(&mut tasks, value);
        }
    }
    tasks
}

fn matmul(k: usize) -> Tasks {
    let mut tasks = Tasks::new();
    let a: Vec<u32> = (0..k * k).map(|_| source(&mut tasks)).collect();
    let b: Vec<u32> = (0..k * k).map(|_| source(&mut tasks)).collect();
    for row in 0..k {
        for column in 0..k {
            let mut sum = map(&mut tasks, &[a[row * k], b[column]]);
            for at in 1..k {
                sum = map(&mut tasks, &[sum, a[row * k + at], b[at * k + column]]);
            }
            sink(&mut tasks, sum);
        }
    }
    tasks
}

/// For each share of the peak without a limit, in per cent: how much longer the play takes.
fn slow_down(tasks: &Tasks, workers: u32, shares: &[u64]) -> Vec<f64> {
    let given: Vec<(u64, &[u32])> = tasks.iter().map(|(bytes, reads, _)| (*bytes, &reads[..])).collect();
    let mut sample = Sample::of(&given);
    sample.settings.threads = workers as usize;
    let priority = vec![0.0; tasks.len()];
    let order = order::order(&sample.tasks, &priority);
    let played = |sample: &Sample| {
        let mut view = View::new(&sample.tasks, &sample.terms, sample.scope());
        view.nanos = tasks.iter().map(|(_, _, millis)| millis * 1_000_000).collect();
        let (_, moves) = best(&view, &order, &priority, sample.scope()).expect("it fits");
        play(&scene(&view, &moves, &view.budgets, workers))
    };
    let free = played(&sample);
    let limited = |&share: &u64| {
        sample.settings.memory = Some(Bytes(free.peaks[0] * share / 100));
        let played = played(&sample);
        assert!(played.peaks[0] <= free.peaks[0] * share / 100);
        played.nanos as f64 / free.nanos as f64
    };
    shares.iter().map(limited).collect()
}

#[test]
fn budgets_cost_little_time_on_two_workers() {
    let shapes = [
        ("map-reduce", map_reduce(10_000), [1.0, 1.1, 1.2, 1.6]),
        ("rechunk", rechunk(32), [1.0, 1.1, 1.2, 1.3]),
        ("matmul", matmul(16), [1.05, 1.9, 2.3, 2.6]),
    ];
    for (name, tasks, most) in shapes {
        let slower = slow_down(&tasks, 2, &[100, 70, 50, 30]);
        assert!(slower.iter().zip(most).all(|(slower, most)| *slower <= most), "{name}: {slower:?}");
    }
}
