// Ported from the `libm` crate (MIT), which the host calls: FreeBSD's msun, by Sun Microsystems 1993 ("Permission to use,
// copy, modify, and distribute this software is freely granted, provided that this notice is preserved") and its children.
OC float oc_log_series(float f) {
    const float s = f / (2.0f + f), z = s * s, w = z * z;
    const float t1 = w * (0.40000972152f + w * 0.24279078841f), t2 = z * (0.66666662693f + w * 0.28498786688f);
    const float r = t2 + t1, half_square = 0.5f * f * f;
    return s * (half_square + r);
}
struct OcLogSingle {
    float high, low, k;
};
// The parts of log x that log2 and log10 are made of, for finite x > 0 other than 1.
OC OcLogSingle oc_log_parts(float x) {
    int k = 0;
    if (x < 0x1p-126f) {
        k = -25;
        x *= 0x1p25f;
    }
    unsigned int bits = oc_bits(x) + (0x3f800000u - 0x3f3504f3u);
    k += (int)(bits >> 23) - 0x7f;
    const float f = oc_single((bits & 0x007fffffu) + 0x3f3504f3u) - 1.0f;
    const float half_square = 0.5f * f * f;
    const float high = oc_single(oc_bits(f - half_square) & 0xfffff000u);
    return OcLogSingle{high, f - high - half_square + oc_log_series(f), (float)k};
}
// What logarithms of zero, negative numbers, infinity, NaN and 1 are.
OC bool oc_log_is_special(float x) { return !(x > 0.0f) || x == oc_infinity(x) || x == 1.0f; }
OC float oc_log_special(float x) {
    return x == 0.0f ? -oc_infinity(x) : x == 1.0f ? 0.0f : x < 0.0f ? oc_infinity(x) - oc_infinity(x) : x;
}
OC float oc_log2(float x) {
    if (oc_log_is_special(x)) {
        return oc_log_special(x);
    }
    const OcLogSingle p = oc_log_parts(x);
    return (p.low + p.high) * -1.7605285393e-04f + p.low * 1.4428710938e+00f + p.high * 1.4428710938e+00f + p.k;
}
OC float oc_log10(float x) {
    if (oc_log_is_special(x)) {
        return oc_log_special(x);
    }
    const OcLogSingle p = oc_log_parts(x);
    return p.k * 7.9034151668e-07f + (p.low + p.high) * -3.1689971365e-05f + p.low * 4.3432617188e-01f
        + p.high * 4.3432617188e-01f + p.k * 3.0102920532e-01f;
}
OC float oc_log1p(float x) {
    const unsigned int ix = oc_bits(x);
    int k = 1;
    float f = 0.0f, c = 0.0f;
    if (ix < 0x3ed413d0u || ix >> 31) {
        if (ix >= 0xbf800000u) {
            return x == -1.0f ? -oc_infinity(x) : oc_infinity(x) - oc_infinity(x);
        }
        if (ix << 1 < 0x33800000u << 1) {
            return x;
        }
        if (ix <= 0xbe95f619u) {
            k = 0;
            f = x;
        }
    } else if (ix >= 0x7f800000u) {
        return x;
    }
    if (k > 0) {
        const float u = 1.0f + x;
        const unsigned int bits = oc_bits(u) + (0x3f800000u - 0x3f3504f3u);
        k = (int)(bits >> 23) - 0x7f;
        c = k < 25 ? (k >= 2 ? 1.0f - (u - x) : x - (u - 1.0f)) / u : 0.0f;
        f = oc_single((bits & 0x007fffffu) + 0x3f3504f3u) - 1.0f;
    }
    const float half_square = 0.5f * f * f, dk = (float)k;
    return oc_log_series(f) + (dk * 9.0580006145e-06f + c) - half_square + f + dk * 6.9313812256e-01f;
}
OC float oc_expm1(float x) {
    const float ln2_high = 6.9313812256e-01f, ln2_low = 9.0580006145e-06f;
    const bool sign = oc_bits(x) >> 31;
    const unsigned int hx = oc_bits(x) & 0x7fffffffu;
    if (hx >= 0x4195b844u) {
        if (hx > 0x7f800000u) {
            return x;
        }
        if (sign) {
            return -1.0f;
        }
        if (hx > 0x42b17217u) {
            return x * 0x1p127f;
        }
    }
    int k = 0;
    float c = 0.0f;
    if (hx > 0x3eb17218u) {
        float high, low;
        if (hx < 0x3f851592u) {
            k = sign ? -1 : 1;
            high = sign ? x + ln2_high : x - ln2_high;
            low = sign ? -ln2_low : ln2_low;
        } else {
            k = (int)(1.4426950216e+00f * x + (sign ? -0.5f : 0.5f));
            high = x - (float)k * ln2_high;
            low = (float)k * ln2_low;
        }
        x = high - low;
        c = (high - x) - low;
    } else if (hx < 0x33000000u) {
        return x;
    }
    const float hfx = 0.5f * x, hxs = x * hfx;
    const float r1 = 1.0f + hxs * (-3.3333212137e-2f + hxs * 1.5807170421e-3f);
    const float t = 3.0f - r1 * hfx;
    float e = hxs * ((r1 - t) / (6.0f - x * t));
    if (k == 0) {
        return x - (x * e - hxs);
    }
    e = x * (e - c) - c;
    e -= hxs;
    if (k == -1) {
        return 0.5f * (x - e) - 0.5f;
    }
    if (k == 1) {
        return x < -0.25f ? -2.0f * (e - (x + 0.5f)) : 1.0f + 2.0f * (x - e);
    }
    const float two_to_k = oc_single((unsigned int)(0x7f + k) << 23);
    if (k < 0 || k > 56) {
        const float y = x - e + 1.0f;
        return (k == 128 ? y * 2.0f * 0x1p127f : y * two_to_k) - 1.0f;
    }
    const float two_to_minus_k = oc_single((unsigned int)(0x7f - k) << 23);
    return k < 23 ? (x - e + (1.0f - two_to_minus_k)) * two_to_k : (x - (e + two_to_minus_k) + 1.0f) * two_to_k;
}
OC float oc_scalbn(float x, int n) {
    if (n > 127) {
        x *= 0x1p127f;
        n -= 127;
        if (n > 127) {
            x *= 0x1p127f;
            n = n - 127 > 127 ? 127 : n - 127;
        }
    } else if (n < -126) {
        x *= 0x1p-126f * 0x1p24f;
        n += 126 - 24;
        if (n < -126) {
            x *= 0x1p-126f * 0x1p24f;
            n = n + 126 - 24 < -126 ? -126 : n + 126 - 24;
        }
    }
    return x * oc_single((unsigned int)(0x7f + n) << 23);
}
// libm's exponential, which its cosh and sinh are made of.
OC float oc_exp_of_libm(float x) {
    const bool sign = oc_bits(x) >> 31;
    const unsigned int hx = oc_bits(x) & 0x7fffffffu;
    if (hx >= 0x42aeac50u) {
        if (hx > 0x7f800000u) {
            return x;
        }
        if (hx >= 0x42b17218u && !sign) {
            return x * 0x1p127f;
        }
        if (sign && hx >= 0x42cff1b5u) {
            return 0.0f;
        }
    }
    int k = 0;
    float high = x, low = 0.0f;
    if (hx > 0x3eb17218u) {
        k = hx > 0x3f851592u ? (int)(1.4426950216e+00f * x + (sign ? -0.5f : 0.5f)) : sign ? -1 : 1;
        high = x - (float)k * 6.9314575195e-01f;
        low = (float)k * 1.4286067653e-06f;
        x = high - low;
    } else if (hx <= 0x39000000u) {
        return 1.0f + x;
    }
    const float xx = x * x;
    const float c = x - xx * (1.6666625440e-1f + xx * -2.7667332906e-3f);
    const float y = 1.0f + (x * c / (2.0f - c) - low + high);
    return k == 0 ? y : oc_scalbn(y, k);
}
// e^x / 2 where e^x overflows.
OC float oc_half_exp(float x) {
    const float scale = oc_single((0x7fu + 235 / 2) << 23);
    return oc_exp_of_libm(x - oc_single(0x4322e3bcu)) * scale * scale;
}
OC float oc_sinh(float x) {
    const float half = oc_bits(x) >> 31 ? -0.5f : 0.5f, a = oc_abs(x);
    const unsigned int w = oc_bits(a);
    if (w < 0x42b17217u) {
        const float t = oc_expm1(a);
        if (w < 0x3f800000u) {
            return w < 0x3f800000u - (12u << 23) ? x : half * (2.0f * t - t * t / (t + 1.0f));
        }
        return half * (t + t / (t + 1.0f));
    }
    return 2.0f * half * oc_half_exp(a);
}
OC float oc_cosh(float x) {
    const float a = oc_abs(x);
    const unsigned int w = oc_bits(a);
    if (w < 0x3f317217u) {
        if (w < 0x3f800000u - (12u << 23)) {
            return 1.0f;
        }
        const float t = oc_expm1(a);
        return 1.0f + t * t / (2.0f * (1.0f + t));
    }
    if (w < 0x42b17217u) {
        const float t = oc_exp_of_libm(a);
        return 0.5f * (t + 1.0f / t);
    }
    return oc_half_exp(a);
}
static __device__ const unsigned long long oc_exp2_single_table[16] = {
    0x3fe6a09e667f3bcdull, 0x3fe7a11473eb0187ull, 0x3fe8ace5422aa0dbull, 0x3fe9c49182a3f090ull,
    0x3feae89f995ad3adull, 0x3fec199bdd85529cull, 0x3fed5818dcfba487ull, 0x3feea4afa2a490daull,
    0x3ff0000000000000ull, 0x3ff0b5586cf9890full, 0x3ff172b83c7d517bull, 0x3ff2387a6e756238ull,
    0x3ff306fe0a31b715ull, 0x3ff3dea64c123422ull, 0x3ff4bfdad5362a27ull, 0x3ff5ab07dd485429ull,
};
OC float oc_exp2(float x) {
    const float redux = oc_single(0x4b400000u) / 16.0f;
    const unsigned int hx = oc_bits(x), ix = hx & 0x7fffffffu;
    if (ix > 0x42fc0000u) {
        if (ix > 0x7f800000u) {
            return x;
        }
        if (hx >= 0x43000000u && hx < 0x80000000u) {
            return x * 0x1p127f;
        }
        if (hx >= 0xc3160000u) {
            return 0.0f;
        }
    } else if (ix <= 0x33000000u) {
        return 1.0f + x;
    }
    const unsigned int bits = oc_bits(x + redux), i = bits + 8u;
    const double two_to_k = oc_double((unsigned long long)(0x3ffu + i / 16u) << 52);
    const double z = (double)(x - (oc_single(bits) - redux));
    const double t = oc_double(oc_exp2_single_table[i & 15u]);
    const double tz = t * z;
    const double r = t + tz * ((double)oc_single(0x3f317218u) + z * (double)oc_single(0x3e75fdf0u))
        + tz * (z * z) * ((double)oc_single(0x3d6359a4u) + z * (double)oc_single(0x3c1d964eu));
    return (float)(r * two_to_k);
}
