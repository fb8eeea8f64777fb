//! Hillshade of a 20,000 × 20,000 terrain, end to end through a session, against hand-written fused loops on
//! as many threads, and against the time in which the memory could be read and written once.
//! `cargo bench --bench hillshade [-- --json]`; `OUTCROP_BENCH_SIDE` sets another side.
//!
//! Two forms of the same formula: as it is written, with angles, which is bound by arithmetic, and without
//! angles, which is bound by memory. NumPy and JAX do the same work in `benches/peers/hillshade.py`.

#[macro_use]
mod hand;

use std::ops::Range;
use std::time::Instant;

use outcrop::block::Block;
use outcrop::collections::Array;
use outcrop::session::Session;
use outcrop::settings::Config;

const REPETITIONS: usize = 5;
const THREADS: usize = 2;

type Loop = fn(&[f32], usize, Range<usize>, &mut [f32]);

hand_loop! {
    fn copy(z: &[f32], width: usize, rows: Range<usize>, out: &mut [f32]) {
        out.copy_from_slice(&z[rows.start * width..rows.end * width]);
    }
}

fn main() {
    let is_json = std::env::args().any(|argument| argument == "--json");
    let side = std::env::var("OUTCROP_BENCH_SIDE").ok().and_then(|side| side.parse().ok()).unwrap_or(20_000);
    let z = terrain(side);
    let block = Block::from_slice([side, side], &z).expect("as many values as elements");
    let array = Array::from_block(block);
    let session = Session::new(Config { threads: Some(THREADS), cpu_only: Some(true), ..Config::default() });
    let mut out = vec![1.0f32; side * side];
    let forms: [(&str, Array, Loop); 2] = [
        ("with angles", with_angles(&array), hand::hillshade),
        ("without angles", without_angles(&array), hand::hillshade_algebraic),
    ];
    if !is_json {
        println!(
            "{:16} {:>8} {:>8} {:>8} {:>7} {:>15}",
            "hillshade", "ms", "hand ms", "copy ms", "ratio", "hand/bandwidth"
        );
    }
    for (form, shaded, hand) in forms {
        let (mut ours, mut by_hand, mut copied) = (f64::MAX, f64::MAX, f64::MAX);
        for repetition in 0..REPETITIONS {
            let started = Instant::now();
            let result = session.compute(&shaded).expect("it runs");
            ours = ours.min(started.elapsed().as_secs_f64());
            by_hand = by_hand.min(threaded(hand, &z, side, &mut out));
            if repetition == 0 {
                compare(&result, &out);
            }
            drop(result);
            copied = copied.min(threaded(copy, &z, side, &mut out));
        }
        let (ratio, reach) = (ours / by_hand, copied / by_hand);
        let [ours, by_hand, copied] = [ours, by_hand, copied].map(|seconds| seconds * 1e3);
        if is_json {
            println!(
                "{{\"bench\":\"hillshade\",\"case\":\"{form} {side}x{side}\",\"value\":{ours:.1},\"unit\":\"ms\",\
                 \"reach\":{copied:.1},\"peer\":\"hand loop\",\"ratio\":{ratio:.3}}}"
            );
        } else {
            println!("{form:16} {ours:8.0} {by_hand:8.0} {copied:8.0} {ratio:7.2} {reach:15.2}");
        }
    }
}

fn with_angles(z: &Array) -> Array {
    let (gx, gy) = (z.gradient(74.4, 1), z.gradient(92.7, 0));
    let slope = gx.hypot(&gy).atan();
    let aspect = gx.atan2(&gy);
    let level = 0.70710677 * slope.cos();
    let facing = 0.70710677 * slope.sin() * (5.497787 - aspect).cos();
    (level + facing).clip(0.0, 1.0)
}

fn without_angles(z: &Array) -> Array {
    let (gx, gy) = (z.gradient(74.4, 1), z.gradient(92.7, 0));
    let light = 0.70710677 + (&gx * -0.5 + &gy * 0.5);
    (light / (&gx * &gx + &gy * &gy + 1.0).sqrt()).clip(0.0, 1.0)
}

/// Runs a loop over all rows, on [`THREADS`] threads; seconds.
fn threaded(work: Loop, z: &[f32], side: usize, out: &mut [f32]) -> f64 {
    let started = Instant::now();
    let rows = side.div_ceil(THREADS);
    std::thread::scope(|scope| {
        for (part, out) in out.chunks_mut(rows * side).enumerate() {
            let from = part * rows;
            scope.spawn(move || work(z, side, from..from + out.len() / side, out));
        }
    });
    started.elapsed().as_secs_f64()
}

fn compare(ours: &Block, hand: &[f32]) {
    let ours: Vec<f32> = ours.to_vec().expect("f32 on the host");
    let differing = ours.iter().zip(hand).filter(|(a, b)| a.to_bits() != b.to_bits()).count();
    assert_eq!(differing, 0, "results differ from the hand loop's");
}

fn terrain(side: usize) -> Vec<f32> {
    let wave: Vec<f32> = (0..side).map(|i| (i as f32 * 0.013).sin() * 30.0).collect();
    let mut state = 1u32;
    let mut noise = move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / 8_388_608.0
    };
    (0..side * side).map(|i| wave[i / side] * wave[i % side] + 40.0 * noise()).collect()
}
