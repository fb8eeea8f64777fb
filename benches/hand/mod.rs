//! Hand-written fused loops with the host's own functions, to race against.

use outcrop::kernel::math::Float;

/// Defines a hand loop under the machine's best instruction set of those that the host uses.
macro_rules! hand_loop {
    ($($visibility:vis fn $name:ident($($argument:ident: $type:ty),*) $body:block)*) => {
        $(#[allow(dead_code)] // each bench uses some of them
        $visibility fn $name($($argument: $type),*) {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2,fma,avx512f,avx512dq,avx512bw,avx512vl")]
                fn avx512($($argument: $type),*) $body
                #[target_feature(enable = "avx2,fma")]
                fn avx2($($argument: $type),*) $body
                if is_x86_feature_detected!("avx512vl") && is_x86_feature_detected!("avx512dq") && is_x86_feature_detected!("avx512bw") {
                    // SAFETY: the machine has these instructions.
                    return unsafe { avx512($($argument),*) };
                }
                if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                    // SAFETY: the machine has these instructions.
                    return unsafe { avx2($($argument),*) };
                }
            }
            fn portable($($argument: $type),*) $body
            portable($($argument),*)
        })*
    };
}

/// The light on a slope: cosines and sines of its angles, as the formula is written.
#[inline(always)]
fn shade(gx: f32, gy: f32) -> f32 {
    let (sin_alt, cos_alt, azimuth) = (0.70710677f32, 0.70710677f32, 5.497787f32);
    let slope = Float::atan(Float::hypot(gx, gy));
    let aspect = Float::atan2(gx, gy);
    let light = sin_alt * Float::cos(slope) + cos_alt * Float::sin(slope) * Float::cos(azimuth - aspect);
    Float::minimum(Float::maximum(light, 0.0), 1.0)
}

/// The same light without angles: 1/cos² = 1 + tan², and the gradient's components are the aspect's sine
/// and cosine times its length.
#[inline(always)]
fn shade_algebraic(gx: f32, gy: f32) -> f32 {
    let (sin_alt, to_x, to_y) = (0.70710677f32, -0.5f32, 0.5f32);
    let light = (sin_alt + (gx * to_x + gy * to_y)) / Float::sqrt(gx * gx + gy * gy + 1.0);
    Float::minimum(Float::maximum(light, 0.0), 1.0)
}

macro_rules! hillshade_loop {
    ($name:ident, $shade:ident) => {
        hand_loop! {
            pub fn $name(z: &[f32], width: usize, rows: std::ops::Range<usize>, out: &mut [f32]) {
                let height = z.len() / width;
                for (row, out) in rows.zip(out.chunks_exact_mut(width)) {
                    let (up, down) = (row.saturating_sub(1), (row + 1).min(height - 1));
                    let dy = if row == 0 || row + 1 == height { 92.7f32 } else { 185.4 };
                    let line = |row: usize| &z[row * width..][..width];
                    let (above, below, here) = (line(up), line(down), line(row));
                    let gy = |i: usize| (below[i] - above[i]) / dy;
                    out[0] = $shade((here[1] - here[0]) / 74.4, gy(0));
                    let inner = &mut out[1..width - 1];
                    let n = inner.len();
                    let (left, right) = (&here[..n], &here[2..][..n]);
                    let (above, below) = (&above[1..][..n], &below[1..][..n]);
                    for i in 0..n {
                        inner[i] = $shade((right[i] - left[i]) / 148.8, (below[i] - above[i]) / dy);
                    }
                    out[width - 1] = $shade((here[width - 1] - here[width - 2]) / 74.4, gy(width - 1));
                }
            }
        }
    };
}

hillshade_loop!(hillshade, shade);
hillshade_loop!(hillshade_algebraic, shade_algebraic);
