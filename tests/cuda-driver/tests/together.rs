//! What threads do together: reductions, shuffles, votes, histograms, atomics; and NVIDIA's functions with their calls.

mod card;

use card::{Card, Random, args, start};

const PTX: &str = include_str!("ptx/reduce.ptx");

fn open(ordinal: i32, text: &str) -> (Card, usize) {
    start(&[("OUTCROP_CUDA_DEVICES", "8")]);
    let card = Card::open(ordinal);
    let module = card.load(text).expect("a module");
    (card, module)
}

#[test]
fn a_sum_by_a_tree_in_shared_memory() {
    let (card, module) = open(0, PTX);
    let kernel = card.kernel(module, "sum_f64");
    let mut random = Random::new(1);
    for (n, blocks) in [(1usize, 1usize), (255, 1), (1000, 3), (5000, 2)] {
        let x: Vec<f64> = (0..n).map(|_| random.unit()).collect();
        let (input, out) = (card.upload(&x), card.fresh::<f64>(blocks));
        assert_eq!(
            card.launch(kernel, [blocks as u32, 1, 1], [256, 1, 1], 0, args![input, out, n as u32]),
            0
        );
        for (block, got) in card.download::<f64>(out, blocks).into_iter().enumerate() {
            let own = |t: usize| (block * 256 + t..n).step_by(blocks * 256).fold(0.0, |sum, i| sum + x[i]);
            let mut part: Vec<f64> = (0..256).map(own).collect();
            for half in [128, 64, 32, 16, 8, 4, 2, 1] {
                (0..half).for_each(|t| part[t] += part[t + half]);
            }
            assert_eq!(got.to_bits(), part[0].to_bits(), "{n} {block}");
        }
    }
}

#[test]
fn a_maximum_in_dynamic_shared_memory() {
    let (card, module) = open(1, PTX);
    let kernel = card.kernel(module, "max_dynamic");
    let mut random = Random::new(2);
    for n in [1usize, 64, 1000, 3001] {
        let x: Vec<i32> = (0..n).map(|_| random.next() as i32 - 5).collect();
        let (input, out) = (card.upload(&x), card.upload(&[i32::MIN]));
        let blocks = n.div_ceil(64) as u32;
        assert_eq!(card.launch(kernel, [blocks, 1, 1], [64, 1, 1], 256, args![input, out, n as u32]), 0);
        assert_eq!(card.download::<i32>(out, 1), [*x.iter().max().expect("some")]);
    }
}

#[test]
fn shuffles() {
    let (card, module) = open(2, PTX);
    let kernel = card.kernel(module, "sum_warp");
    let x: Vec<f32> = (0..96).map(|i| (i * i % 37) as f32).collect();
    let (input, out) = (card.upload(&x), card.fresh::<f32>(96));
    assert_eq!(card.launch(kernel, [1, 1, 1], [96, 1, 1], 0, args![input, out, 96u32]), 0);
    let got = card.download::<f32>(out, 96);
    for (i, got) in got.into_iter().enumerate() {
        // Whole numbers, so that any order of the sum is exact; each lane gets its neighbour's, from one below.
        let (warp, other) = (i / 32, i ^ 1);
        let sum: f32 = x[32 * warp..32 * warp + 32].iter().sum();
        let from = if other % 32 == 0 { other } else { other - 1 };
        assert_eq!(got, sum + from as f32, "{i}");
    }
}

#[test]
fn votes_and_barriers_that_count() {
    let (card, module) = open(3, PTX);
    let kernel = card.kernel(module, "votes");
    let mut random = Random::new(4);
    let x: Vec<i32> = (0..100).map(|_| (random.next() % 197) as i32 - 100).collect();
    let (input, out) = (card.upload(&x), card.fresh::<i32>(100));
    assert_eq!(card.launch(kernel, [1, 1, 1], [128, 1, 1], 0, args![input, out, 100u32]), 0);
    let padded: Vec<i32> = x.iter().copied().chain([0; 28]).collect();
    let count = padded.iter().filter(|v| **v > 0).count() as i32;
    for (i, got) in card.download::<i32>(out, 100).into_iter().enumerate() {
        let warp = &padded[i / 32 * 32..i / 32 * 32 + 32];
        let ballot = (0..16).fold(0, |bits, lane| bits | i32::from(warp[lane] > 0) << lane);
        let (all, any) = (warp.iter().all(|v| *v > -100), warp.iter().any(|v| *v > 95));
        assert_eq!(got, ballot + 65536 * i32::from(all) + 131072 * i32::from(any) + 262144 * count, "{i}");
    }
}

#[test]
fn a_histogram() {
    let (card, module) = open(4, PTX);
    let kernel = card.kernel(module, "histogram");
    let mut random = Random::new(5);
    let x: Vec<u8> = (0..10_000).map(|_| (random.unit() * random.unit() * 127.0 + 128.0) as u8).collect();
    let (input, bins) = (card.upload(&x), card.upload(&[0u32; 256]));
    assert_eq!(card.launch(kernel, [3, 1, 1], [100, 1, 1], 0, args![input, bins, 10_000u32]), 0);
    let mut want = vec![0u32; 256];
    x.iter().for_each(|bin| want[usize::from(*bin)] += 1);
    assert_eq!(card.download::<u32>(bins, 256), want);
}

#[test]
fn atomics_of_every_kind() {
    let (card, module) = open(5, PTX);
    let kernel = card.kernel(module, "atomics");
    let (threads, cells) = (150, card.upload(&[[5, 0, 0, -1, 0, 10].as_slice(), &[0; 150]].concat()));
    let (sum, wide_sum) = (card.upload(&[1.0f32]), card.upload(&[2.0f64]));
    let wide = card.upload(&[1u64, 2, 3, 4]);
    assert_eq!(card.launch(kernel, [3, 1, 1], [50, 1, 1], 0, args![cells, sum, wide_sum, wide]), 0);
    let cells = card.download::<i32>(cells, 156);
    let all = (0..threads).fold((0, 0, -1, 0), |(x, o, a, s), t| (x ^ 1 << (t & 31), o | t, a & !t, s - t));
    assert_eq!(cells[..6], [-(threads - 1), all.0, all.1, all.2, all.3, 10 + threads]);
    let mut tickets = cells[6..].to_vec();
    tickets.sort();
    assert_eq!(tickets, (10..10 + threads).collect::<Vec<_>>());
    assert_eq!(card.download::<f32>(sum, 1), [1.0 + 75.0]);
    assert_eq!(card.download::<f64>(wide_sum, 1), [2.0 + 37.5]);
    let total = (0..threads as u64).map(|t| t << 33).sum::<u64>();
    assert_eq!(card.download::<u64>(wide, 4), [1 + total, 2 + 450, 4, 77]);
}

#[test]
fn functions_as_nvidia_computes_them() {
    let (card, module) = open(6, include_str!("ptx/functions.ptx"));
    let mut random = Random::new(7);
    let x: Vec<f64> = (0..600).map(|i| random.unit() * if i % 20 == 0 { 1e7 } else { 20.0 }).collect();
    let narrow: Vec<f32> = x.iter().map(|x| *x as f32).collect();
    let (input, out) = (card.upload(&narrow), card.fresh::<f32>(8 * 600));
    card.map(card.kernel(module, "functions_f32"), 600, args![input, out, 600u32]);
    let close = |got: f64, want: f64, ulps: f64, unit: f64, what: &str, x: f64| {
        let fine = got == want || (got - want).abs() <= ulps * unit * want.abs().max(1e-30);
        assert!(fine, "{what}({x}): {got} for {want}");
    };
    let got = card.download::<f32>(out, 8 * 600);
    for (i, v) in narrow.iter().map(|v| f64::from(*v)).enumerate() {
        let a = v.abs();
        let want = [v.exp(), a.ln(), v.sin(), v.cos(), v.tanh(), a.powf(1.5), 1.0 / a.sqrt(), v.atan2(2.0)];
        for (at, name) in
            ["exp", "log", "sin", "cos", "tanh", "pow", "rsqrt", "atan2"].into_iter().enumerate()
        {
            close(f64::from(got[8 * i + at]), f64::from(want[at] as f32), 8.0, 1.2e-7, name, v);
        }
    }
    let (input, out) = (card.upload(&x), card.fresh::<f64>(8 * 600));
    card.map(card.kernel(module, "functions_f64"), 600, args![input, out, 600u32]);
    let got = card.download::<f64>(out, 8 * 600);
    for (i, v) in x.iter().copied().enumerate() {
        let a = v.abs();
        let want = [v.exp(), a.ln(), v.sin(), v.cos(), v.tanh(), a.powf(1.5), 1.0 / a.sqrt(), v.cbrt()];
        for (at, name) in ["exp", "log", "sin", "cos", "tanh", "pow", "rsqrt", "cbrt"].into_iter().enumerate()
        {
            close(got[8 * i + at], want[at], 4.0, 2.3e-16, name, v);
        }
    }
    let out = card.fresh::<f32>(4 * 600);
    let input = card.upload(&narrow);
    card.map(card.kernel(module, "fast_f32"), 600, args![input, out, 600u32]);
    let got = card.download::<f32>(out, 4 * 600);
    for (i, v) in narrow.iter().map(|v| f64::from(*v)).enumerate() {
        close(f64::from(got[4 * i + 3]), 1.0 / v, 2.0, 1.2e-7, "fdividef", v);
    }
}

#[test]
fn calls_that_call_themselves() {
    let (card, module) = open(7, include_str!("ptx/functions.ptx"));
    let kernel = card.kernel(module, "calls");
    let x: Vec<f64> = (0..40).map(f64::from).collect();
    let (input, out) = (card.upload(&x), card.fresh::<f64>(40));
    assert_eq!(card.launch(kernel, [1, 1, 1], [40, 1, 1], 0, args![input, out, 20i32]), 0);
    let want: Vec<f64> = x.iter().map(|x| x * 1048576.0).collect();
    assert_eq!(card.download::<f64>(out, 40), want);
    // Deeper than a thread's stack.
    assert_eq!(card.launch(kernel, [1, 1, 1], [1, 1, 1], 0, args![input, out, 100_000i32]), 0);
    assert_eq!(card.synchronize(), cuda_driver::result::LAUNCH_FAILED);
}
