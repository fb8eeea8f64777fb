//! Every instruction set gives the same bits.

use super::super::Float;
use super::{Bits, EDGES, F32, F64, Function};

#[test]
fn f32_results_have_the_same_bits_on_every_instruction_set() {
    let mut bits = Bits(11);
    let mut pairs: Vec<(f32, f32)> =
        EDGES.iter().flat_map(|&a| EDGES.map(|b| (a as f32, b as f32))).collect();
    for _ in 0..20_000 {
        pairs.push((f32::from_bits(bits.next() as u32), f32::from_bits(bits.next() as u32)));
        pairs.push(((bits.unit() * 20.0 - 10.0) as f32, (bits.unit() * 20.0 - 10.0) as f32));
    }
    check(F32, pairs, |v| u64::from(v.to_bits()));
}

#[test]
fn f64_results_have_the_same_bits_on_every_instruction_set() {
    let mut bits = Bits(13);
    let mut pairs: Vec<(f64, f64)> = EDGES.iter().flat_map(|&a| EDGES.map(|b| (a, b))).collect();
    for _ in 0..20_000 {
        pairs.push((f64::from_bits(bits.next()), f64::from_bits(bits.next())));
        pairs.push((bits.unit() * 20.0 - 10.0, bits.unit() * 20.0 - 10.0));
    }
    check(F64, pairs, f64::to_bits);
}

fn check<T: Float>(table: &[Function<T>], pairs: Vec<(T, T)>, to_bits: fn(T) -> u64) {
    let (a, b): (Vec<T>, Vec<T>) = pairs.into_iter().unzip();
    for function in table {
        let mut portable = vec![T::from_f64(0.0); a.len()];
        (function.portable)(&a, &b, &mut portable);
        for (set, is_there, gated) in function.gated {
            if !is_there() {
                println!("{}: this CPU lacks {set}", function.name);
                continue;
            }
            let mut out = vec![T::from_f64(0.0); a.len()];
            // SAFETY: the CPU has the build's instruction set: asked just now.
            unsafe { gated(&a, &b, &mut out) };
            for i in 0..a.len() {
                let (p, g) = (portable[i].to_f64(), out[i].to_f64());
                let is_same = to_bits(portable[i]) == to_bits(out[i]) || (p.is_nan() && g.is_nan());
                let (x, y) = (a[i].to_f64(), b[i].to_f64());
                assert!(is_same, "{}({x:e}, {y:e}): portable {p:e}, {set} {g:e}", function.name);
            }
        }
    }
}
