//! Strided copies, vectors, stencils, matrix products, local and constant memory, switches, random numbers, halves.

mod card;

use card::{Argument, Card, Random, args, start};

fn open(ordinal: i32, text: &str) -> (Card, usize) {
    start(&[("OUTCROP_CUDA_DEVICES", "9")]);
    let card = Card::open(ordinal);
    let module = card.load(text).expect("a module");
    (card, module)
}

const PTX: &str = include_str!("ptx/arrays.ptx");

/// `struct Strides { long long offset; int extent[4]; long long from[4]; }`
fn strides(offset: i64, extent: [i32; 4], from: [i64; 4]) -> Argument {
    let mut bytes = offset.to_le_bytes().to_vec();
    bytes.extend(extent.iter().flat_map(|value| value.to_le_bytes()));
    bytes.extend(from.iter().flat_map(|value| value.to_le_bytes()));
    Argument::from(bytes)
}

#[test]
fn copies_of_any_strides() {
    let (card, module) = open(0, PTX);
    let kernel = card.kernel(module, "copy_strided");
    let x: Vec<u16> = (0..5040).map(|value| value * 13).collect();
    let input = card.upload(&x);
    let shapes: [(i64, [i32; 4], [i64; 4]); 4] = [
        (0, [2, 3, 4, 5], [60, 20, 5, 1]),
        (0, [5, 4, 3, 7], [1, 5, 20, 60]),
        (5039, [1, 1, 70, 72], [0, 0, -72, -1]),
        (17, [3, 1, 9, 11], [0, 100, 400, 2]),
    ];
    for (offset, extent, from) in shapes {
        let total: i32 = extent.iter().product();
        let out = card.fresh::<u16>(total as usize);
        card.map(kernel, total as usize, &[input.into(), out.into(), strides(offset, extent, from)]);
        let got = card.download::<u16>(out, total as usize);
        for (i, got) in got.into_iter().enumerate() {
            let (mut rest, mut at) = (i as i64, offset);
            for d in (0..4).rev() {
                at += rest % i64::from(extent[d]) * from[d];
                rest /= i64::from(extent[d]);
            }
            assert_eq!(got, x[at as usize], "{extent:?} {i}");
        }
        card.free(out);
    }
}

#[test]
fn vectors() {
    let (card, module) = open(1, PTX);
    let kernel = card.kernel(module, "copy_vector");
    let x: Vec<[f32; 4]> = (0..257).map(|i| [0.5, 1.5, 2.5, 3.5].map(|part| part + i as f32)).collect();
    let (input, out, pairs) = (card.upload(&x), card.fresh::<[f32; 4]>(257), card.fresh::<[i32; 2]>(257));
    card.map(kernel, 257, args![input, out, pairs, 257u32]);
    let (out, pairs) = (card.download::<[f32; 4]>(out, 257), card.download::<[i32; 2]>(pairs, 257));
    for (i, [a, b, c, d]) in x.into_iter().enumerate() {
        assert_eq!((out[i], pairs[i]), ([d, c, b, a], [a.to_bits() as i32, i as i32]));
    }
}

#[test]
fn a_stencil_with_its_halo_in_shared_memory() {
    let (card, module) = open(2, PTX);
    let kernel = card.kernel(module, "stencil");
    let mut random = Random::new(3);
    for (rows, columns) in [(1usize, 1usize), (8, 32), (9, 33), (1, 100), (50, 3), (40, 70)] {
        let x: Vec<f32> = (0..rows * columns).map(|_| random.unit() as f32).collect();
        let (input, out) = (card.upload(&x), card.fresh::<f32>(rows * columns));
        let grid = [columns.div_ceil(32) as u32, rows.div_ceil(8) as u32, 1];
        let code = card.launch(kernel, grid, [32, 8, 1], 0, args![input, out, rows as i32, columns as i32]);
        assert_eq!(code, 0);
        let got = card.download::<f32>(out, rows * columns);
        for (i, got) in got.into_iter().enumerate() {
            let (r, c) = ((i / columns) as isize, (i % columns) as isize);
            let at = |r: isize, c: isize| {
                let (r, c) = (r.clamp(0, rows as isize - 1), c.clamp(0, columns as isize - 1));
                x[r as usize * columns + c as usize]
            };
            let sum = at(r - 1, c) + at(r + 1, c) + at(r, c - 1) + at(r, c + 1);
            let want = sum * 0.125 + at(r, c) * 0.5;
            assert_eq!(got.to_bits(), want.to_bits(), "{rows} x {columns} at {r}, {c}");
        }
    }
}

#[test]
fn a_register_blocked_matrix_product() {
    let (card, module) = open(3, PTX);
    let kernel = card.kernel(module, "matmul");
    let mut random = Random::new(4);
    for (m, n, k) in [(1usize, 1usize, 1usize), (64, 64, 16), (65, 63, 17), (3, 100, 40), (70, 5, 33)] {
        let a: Vec<f32> = (0..m * k).map(|_| random.unit() as f32).collect();
        let b: Vec<f32> = (0..k * n).map(|_| random.unit() as f32).collect();
        let (da, db, out) = (card.upload(&a), card.upload(&b), card.fresh::<f32>(m * n));
        let grid = [n.div_ceil(64) as u32, m.div_ceil(64) as u32, 1];
        let sizes = [m, n, k].map(|size| size as i32);
        let arguments = args![da, db, out, sizes[0], sizes[1], sizes[2]];
        assert_eq!(card.launch(kernel, grid, [16, 16, 1], 0, arguments), 0);
        let got = card.download::<f32>(out, m * n);
        for r in 0..m {
            for c in 0..n {
                // What is beyond the edge adds zero, which changes nothing but the sign of a zero.
                let want = (0..k).fold(0f32, |sum, q| a[r * k + q].mul_add(b[q * n + c], sum));
                assert_eq!(got[r * n + c], want, "{m} {n} {k}: {r}, {c}");
            }
        }
    }
}

#[test]
fn arrays_of_a_threads_own() {
    let (card, module) = open(4, PTX);
    let kernel = card.kernel(module, "local_sort");
    let mut random = Random::new(5);
    for length in [1usize, 2, 7, 16] {
        let mut x: Vec<i32> = (0..64 * length).map(|_| random.next() as i32 % 100).collect();
        let (input, out) = (card.upload(&x), card.fresh::<i32>(x.len()));
        let code = card.launch(kernel, [2, 1, 1], [32, 1, 1], 0, args![input, out, length as i32]);
        assert_eq!(code, 0);
        x.chunks_mut(length).for_each(<[i32]>::sort);
        assert_eq!(card.download::<i32>(out, x.len()), x, "{length}");
    }
}

#[test]
fn variables_of_the_module() {
    let (card, module) = open(5, PTX);
    let kernel = card.kernel(module, "constants");
    let (out, seen) = (card.fresh::<f32>(8), card.fresh::<i32>(3));
    for round in 0..2 {
        assert_eq!(card.launch(kernel, [1, 1, 1], [8, 1, 1], 0, args![out, seen]), 0);
        let weights = [0.5f32, -1.25, 2.0, 1e-3];
        assert_eq!(card.download::<f32>(out, 8), [weights, weights].concat());
        assert_eq!(
            card.download::<i32>(seen, 3),
            [7 + round, 8 + round, 9 + round],
            "they keep their values"
        );
    }
}

#[test]
fn a_switch() {
    let (card, module) = open(6, PTX);
    let kernel = card.kernel(module, "choose");
    let mut random = Random::new(6);
    let x: Vec<i32> = (0..500).map(|i| i % 9 - 1).collect();
    let y: Vec<i32> = (0..500).map(|_| random.next() as i32).collect();
    let (input, out) = (card.upload(&x), card.upload(&y));
    card.map(kernel, 500, args![input, out, 500u32]);
    for (i, got) in card.download::<i32>(out, 500).into_iter().enumerate() {
        let v = y[i];
        let cases =
            [v.wrapping_add(1), 77 ^ v, v.leading_zeros() as i32, v / 3, v << 2, v % 13, v.wrapping_neg()];
        let want = usize::try_from(x[i]).ok().and_then(|at| cases.get(at).copied()).unwrap_or(99);
        assert_eq!(got, want, "{} {v}", x[i]);
    }
}

#[test]
fn philox() {
    let (card, module) = open(7, include_str!("ptx/random.ptx"));
    let kernel = card.kernel(module, "philox");
    let (n, key) = (1000, 0x1234_5678_9abc_def0u64);
    let (words, uniform) = (card.fresh::<[u32; 4]>(n), card.fresh::<f32>(n));
    card.map(kernel, n, args![words, uniform, key, n as u32]);
    let (words, uniform) = (card.download::<[u32; 4]>(words, n), card.download::<f32>(uniform, n));
    for i in 0..n {
        let (mut c, mut k) = ([i as u32, 0, 5, 0], [key as u32, (key >> 32) as u32]);
        for _ in 0..10 {
            let (p, q) = (0xD2511F53u64 * u64::from(c[0]), 0xCD9E8D57u64 * u64::from(c[2]));
            c = [(q >> 32) as u32 ^ c[1] ^ k[0], q as u32, (p >> 32) as u32 ^ c[3] ^ k[1], p as u32];
            k = [k[0].wrapping_add(0x9E3779B9), k[1].wrapping_add(0xBB67AE85)];
        }
        assert_eq!(words[i], c, "{i}");
        assert_eq!(uniform[i], (c[0] >> 8) as f32 * 2f32.powi(-24));
    }
}

#[test]
fn halves() {
    let (card, module) = open(8, include_str!("ptx/half.ptx"));
    let (scale, fma) = (card.kernel(module, "half_scale"), card.kernel(module, "half_fma"));
    // Small integers: all results are exact, and known.
    let half = |value: i32| -> u16 {
        let bits = (value.abs() as f32).to_bits();
        let magnitude = if value == 0 { 0 } else { ((bits >> 13) - ((127 - 15) << 10)) as u16 };
        magnitude | if value < 0 { 0x8000 } else { 0 }
    };
    let x: Vec<u16> = (-16..16).map(half).collect();
    let y: Vec<u16> = (0..32).map(|i| half(i % 5 - 2)).collect();
    let (dx, dy, out) = (card.upload(&x), card.upload(&y), card.fresh::<u16>(32));
    card.map(fma, 32, args![dx, dy, out, 32u32]);
    for (i, got) in card.download::<u16>(out, 32).into_iter().enumerate() {
        let (a, b) = (i as i32 - 16, i as i32 % 5 - 2);
        let want = half((a * b + a) * a + b);
        // A sum that cancels is +0.
        assert_eq!(got, if want == 0x8000 { 0 } else { want }, "{a} {b}");
    }
    card.map(scale, 32, args![dx, out, 32u32]);
    let quarters = card.download::<u16>(out, 32);
    // 4 * 1.5 + 0.25 = 6.25 = 0x4640, -16 * 1.5 + 0.25 = -23.75 = 0xcdf0.
    assert_eq!((quarters[20], quarters[0]), (0x4640, 0xcdf0));
}
