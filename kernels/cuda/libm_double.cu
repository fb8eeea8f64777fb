// Ported from the `libm` crate (MIT), which the host calls: FreeBSD's msun, by Sun Microsystems 1993 ("Permission to use,
// copy, modify, and distribute this software is freely granted, provided that this notice is preserved") and its children.
OC double oc_log_series(double f) {
    const double s = f / (2.0 + f), z = s * s, w = z * z;
    const double t1 = w * (3.999999999940941908e-01 + w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01));
    const double t2 = z
        * (6.666666666666735130e-01
           + w * (2.857142874366239149e-01 + w * (1.818357216161805012e-01 + w * 1.479819860511658591e-01)));
    const double r = t2 + t1, half_square = 0.5 * f * f;
    return s * (half_square + r);
}
struct OcLogDouble {
    double high, low, k;
};
OC unsigned int oc_high_word(double x) { return (unsigned int)(oc_bits(x) >> 32); }
// x = m * 2^k with m in [sqrt(1/2), sqrt(2)): m - 1.
OC double oc_reduced(double x, int &k) {
    const unsigned int high = oc_high_word(x) + (0x3ff00000u - 0x3fe6a09eu);
    k += (int)(high >> 20) - 0x3ff;
    const unsigned int mantissa = (high & 0x000fffffu) + 0x3fe6a09eu;
    return oc_double((unsigned long long)mantissa << 32 | (oc_bits(x) & 0xffffffffull)) - 1.0;
}
// The parts of log x that log2 and log10 are made of, for finite x > 0 other than 1.
OC OcLogDouble oc_log_parts(double x) {
    int k = 0;
    if (x < 0x1p-1022) {
        k = -54;
        x *= 0x1p54;
    }
    const double f = oc_reduced(x, k);
    const double half_square = 0.5 * f * f;
    const double high = oc_double(oc_bits(f - half_square) & 0xffffffff00000000ull);
    return OcLogDouble{high, f - high - half_square + oc_log_series(f), (double)k};
}
// What logarithms of zero, negative numbers, infinity, NaN and 1 are.
OC bool oc_log_is_special(double x) { return !(x > 0.0) || x == oc_infinity(x) || x == 1.0; }
OC double oc_log_special(double x) {
    return x == 0.0 ? -oc_infinity(x) : x == 1.0 ? 0.0 : x < 0.0 ? oc_infinity(x) - oc_infinity(x) : x;
}
OC double oc_log2(double x) {
    if (oc_log_is_special(x)) {
        return oc_log_special(x);
    }
    const OcLogDouble p = oc_log_parts(x);
    const double high = p.high * 1.44269504072144627571e+00;
    double low = (p.low + p.high) * 1.67517131648865118353e-10 + p.low * 1.44269504072144627571e+00;
    const double sum = p.k + high;
    low += (p.k - sum) + high;
    return low + sum;
}
OC double oc_log10(double x) {
    if (oc_log_is_special(x)) {
        return oc_log_special(x);
    }
    const OcLogDouble p = oc_log_parts(x);
    const double high = p.high * 4.34294481878168880939e-01, y = p.k * 3.01029995663611771306e-01;
    double low = p.k * 3.69423907715893078616e-13 + (p.low + p.high) * 2.50829467116452752298e-11
        + p.low * 4.34294481878168880939e-01;
    const double sum = y + high;
    low += (y - sum) + high;
    return low + sum;
}
OC double oc_log1p(double x) {
    const unsigned int hx = oc_high_word(x);
    int k = 1;
    double f = 0.0, c = 0.0;
    if (hx < 0x3fda827au || hx >> 31) {
        if (hx >= 0xbff00000u) {
            return x == -1.0 ? -oc_infinity(x) : oc_infinity(x) - oc_infinity(x);
        }
        if (hx << 1 < 0x3ca00000u << 1) {
            return x;
        }
        if (hx <= 0xbfd2bec4u) {
            k = 0;
            f = x;
        }
    } else if (hx >= 0x7ff00000u) {
        return x;
    }
    if (k > 0) {
        const double u = 1.0 + x;
        k = 0;
        f = oc_reduced(u, k);
        c = k < 54 ? (k >= 2 ? 1.0 - (u - x) : x - (u - 1.0)) / u : 0.0;
    }
    const double half_square = 0.5 * f * f, dk = (double)k;
    return oc_log_series(f) + (dk * 1.90821492927058770002e-10 + c) - half_square + f
        + dk * 6.93147180369123816490e-01;
}
OC double oc_expm1(double x) {
    const double ln2_high = 6.93147180369123816490e-01, ln2_low = 1.90821492927058770002e-10;
    const unsigned int hx = oc_high_word(x) & 0x7fffffffu;
    const bool sign = oc_bits(x) >> 63;
    if (hx >= 0x4043687au) {
        if (x != x) {
            return x;
        }
        if (sign) {
            return -1.0;
        }
        if (x > 7.09782712893383973096e+02) {
            return x * 0x1p1023;
        }
    }
    int k = 0;
    double c = 0.0;
    if (hx > 0x3fd62e42u) {
        double high, low;
        if (hx < 0x3ff0a2b2u) {
            k = sign ? -1 : 1;
            high = sign ? x + ln2_high : x - ln2_high;
            low = sign ? -ln2_low : ln2_low;
        } else {
            k = (int)(1.44269504088896338700e+00 * x + (sign ? -0.5 : 0.5));
            high = x - (double)k * ln2_high;
            low = (double)k * ln2_low;
        }
        x = high - low;
        c = (high - x) - low;
    } else if (hx < 0x3c900000u) {
        return x;
    }
    const double hfx = 0.5 * x, hxs = x * hfx;
    const double r1 = 1.0
        + hxs
            * (-3.33333333333331316428e-02
               + hxs
                   * (1.58730158725481460165e-03
                      + hxs
                          * (-7.93650757867487942473e-05
                             + hxs * (4.00821782732936239552e-06 + hxs * -2.01099218183624371326e-07))));
    const double t = 3.0 - r1 * hfx;
    double e = hxs * ((r1 - t) / (6.0 - x * t));
    if (k == 0) {
        return x - (x * e - hxs);
    }
    e = x * (e - c) - c;
    e -= hxs;
    if (k == -1) {
        return 0.5 * (x - e) - 0.5;
    }
    if (k == 1) {
        return x < -0.25 ? -2.0 * (e - (x + 0.5)) : 1.0 + 2.0 * (x - e);
    }
    const double two_to_k = oc_double((unsigned long long)(0x3ff + k) << 52);
    if (k < 0 || k > 56) {
        const double y = x - e + 1.0;
        return (k == 1024 ? y * 2.0 * 0x1p1023 : y * two_to_k) - 1.0;
    }
    const double two_to_minus_k = oc_double((unsigned long long)(0x3ff - k) << 52);
    return k < 20 ? (x - e + (1.0 - two_to_minus_k)) * two_to_k : (x - (e + two_to_minus_k) + 1.0) * two_to_k;
}
// libm's exponential, which its cosh and sinh are made of.
OC double oc_exp_of_libm(double x) {
    const unsigned int hx = oc_high_word(x) & 0x7fffffffu;
    const bool sign = oc_bits(x) >> 63;
    if (hx >= 0x4086232bu) {
        if (x != x) {
            return x;
        }
        if (x > 709.782712893383973096) {
            return x * 0x1p1023;
        }
        if (x < -745.13321910194110842) {
            return 0.0;
        }
    }
    int k = 0;
    double high = x, low = 0.0;
    if (hx > 0x3fd62e42u) {
        k = hx >= 0x3ff0a2b2u ? (int)(1.44269504088896338700e+00 * x + (sign ? -0.5 : 0.5)) : sign ? -1 : 1;
        high = x - (double)k * 6.93147180369123816490e-01;
        low = (double)k * 1.90821492927058770002e-10;
        x = high - low;
    } else if (hx <= 0x3e300000u) {
        return 1.0 + x;
    }
    const double xx = x * x;
    const double c = x
        - xx
            * (1.66666666666666019037e-01
               + xx
                   * (-2.77777777770155933842e-03
                      + xx
                          * (6.61375632143793436117e-05
                             + xx * (-1.65339022054652515390e-06 + xx * 4.13813679705723846039e-08))));
    const double y = 1.0 + (x * c / (2.0 - c) - low + high);
    return k == 0 ? y : oc_scalbn(y, k);
}
// e^x / 2 where e^x overflows.
OC double oc_half_exp(double x) {
    const double scale = oc_double((unsigned long long)(0x3ffu + 2043 / 2) << 52);
    return oc_exp_of_libm(x - oc_double(0x40962066151add8bull)) * scale * scale;
}
OC double oc_sinh(double x) {
    const double half = oc_bits(x) >> 63 ? -0.5 : 0.5, a = oc_abs(x);
    const unsigned int w = oc_high_word(a);
    if (w < 0x40862e42u) {
        const double t = oc_expm1(a);
        if (w < 0x3ff00000u) {
            return w < 0x3ff00000u - (26u << 20) ? x : half * (2.0 * t - t * t / (t + 1.0));
        }
        return half * (t + t / (t + 1.0));
    }
    return 2.0 * half * oc_half_exp(a);
}
OC double oc_cosh(double x) {
    const double a = oc_abs(x);
    const unsigned int w = oc_high_word(a);
    if (w < 0x3fe62e42u) {
        if (w < 0x3ff00000u - (26u << 20)) {
            return 1.0;
        }
        const double t = oc_expm1(a);
        return 1.0 + t * t / (2.0 * (1.0 + t));
    }
    if (w < 0x40862e42u) {
        const double t = oc_exp_of_libm(a);
        return 0.5 * (t + 1.0 / t);
    }
    return oc_half_exp(a);
}
// 2^(i/256 - 1/2 + eps) and eps.
static __device__ const unsigned long long oc_exp2_double_table[512] = {
    0x3fe6a09e667f3d5dull, 0x3d39880000000000ull, 0x3fe6b052fa751744ull, 0x3cd8000000000000ull,
    0x3fe6c012750bd9feull, 0xbd28780000000000ull, 0x3fe6cfdcddd476bfull, 0x3d1ec00000000000ull,
    0x3fe6dfb23c651a29ull, 0xbcd8000000000000ull, 0x3fe6ef9298593ae3ull, 0xbcbc000000000000ull,
    0x3fe6ff7df9519386ull, 0xbd2fd80000000000ull, 0x3fe70f7466f42da3ull, 0xbd2c880000000000ull,
    0x3fe71f75e8ec5fc3ull, 0x3d13c00000000000ull, 0x3fe72f8286eacf05ull, 0xbd38300000000000ull,
    0x3fe73f9a48a58152ull, 0xbd00c00000000000ull, 0x3fe74fbd35d7ccfcull, 0x3d2f880000000000ull,
    0x3fe75feb564267f1ull, 0x3d03e00000000000ull, 0x3fe77024b1ab6d48ull, 0xbd27d00000000000ull,
    0x3fe780694fde5d38ull, 0xbcdd000000000000ull, 0x3fe790b938ac1d00ull, 0x3ce3000000000000ull,
    0x3fe7a11473eb0178ull, 0xbced000000000000ull, 0x3fe7b17b0976d060ull, 0x3d20400000000000ull,
    0x3fe7c1ed0130c133ull, 0x3ca0000000000000ull, 0x3fe7d26a62ff8636ull, 0xbd26900000000000ull,
    0x3fe7e2f336cf4e3bull, 0xbd02e00000000000ull, 0x3fe7f3878491c3e8ull, 0xbd24580000000000ull,
    0x3fe80427543e1b4eull, 0x3d33000000000000ull, 0x3fe814d2add1071aull, 0x3d0f000000000000ull,
    0x3fe82589994ccd7eull, 0xbd21c00000000000ull, 0x3fe8364c1eb942d0ull, 0x3d29d00000000000ull,
    0x3fe8471a4623cab5ull, 0x3d47100000000000ull, 0x3fe857f4179f5bbcull, 0x3d22600000000000ull,
    0x3fe868d99b4491afull, 0xbd32c40000000000ull, 0x3fe879cad931a395ull, 0xbd23000000000000ull,
    0x3fe88ac7d98a65b8ull, 0xbd2a800000000000ull, 0x3fe89bd0a4785800ull, 0xbced000000000000ull,
    0x3fe8ace5422aa223ull, 0x3d33280000000000ull, 0x3fe8be05bad619faull, 0x3d42b40000000000ull,
    0x3fe8cf3216b54383ull, 0xbd2ed00000000000ull, 0x3fe8e06a5e08664cull, 0xbd20500000000000ull,
    0x3fe8f1ae99157807ull, 0x3d28280000000000ull, 0x3fe902fed0282c0eull, 0xbd1cb00000000000ull,
    0x3fe9145b0b91ff96ull, 0xbd05e00000000000ull, 0x3fe925c353aa2ff9ull, 0x3cf5400000000000ull,
    0x3fe93737b0cdc64aull, 0x3d17200000000000ull, 0x3fe948b82b5f98aeull, 0xbd09000000000000ull,
    0x3fe95a44cbc852cbull, 0x3d25680000000000ull, 0x3fe96bdd9a766f21ull, 0xbd36d00000000000ull,
    0x3fe97d829fde4e2aull, 0xbd01000000000000ull, 0x3fe98f33e47a23a3ull, 0x3d2d000000000000ull,
    0x3fe9a0f170ca0604ull, 0xbd38a40000000000ull, 0x3fe9b2bb4d53ff89ull, 0x3d355c0000000000ull,
    0x3fe9c49182a3f15bull, 0x3d26b80000000000ull, 0x3fe9d674194bb8c5ull, 0xbcec000000000000ull,
    0x3fe9e86319e3238eull, 0x3d17d00000000000ull, 0x3fe9fa5e8d07f302ull, 0x3d16400000000000ull,
    0x3fea0c667b5de54dull, 0xbcf5000000000000ull, 0x3fea1e7aed8eb8f6ull, 0x3d09e00000000000ull,
    0x3fea309bec4a2e27ull, 0x3d2ad80000000000ull, 0x3fea42c980460a5dull, 0xbd1af00000000000ull,
    0x3fea5503b23e259bull, 0x3d0b600000000000ull, 0x3fea674a8af46213ull, 0x3d38880000000000ull,
    0x3fea799e1330b3a7ull, 0x3d11200000000000ull, 0x3fea8bfe53c12e8dull, 0x3d06c00000000000ull,
    0x3fea9e6b5579fcd2ull, 0xbd29b80000000000ull, 0x3feab0e521356fb8ull, 0x3d2b700000000000ull,
    0x3feac36bbfd3f381ull, 0x3cd9000000000000ull, 0x3fead5ff3a3c2780ull, 0x3ce4000000000000ull,
    0x3feae89f995ad2a3ull, 0xbd2c900000000000ull, 0x3feafb4ce622f367ull, 0x3d16500000000000ull,
    0x3feb0e07298db790ull, 0x3d2fd40000000000ull, 0x3feb20ce6c9a89a9ull, 0x3d12700000000000ull,
    0x3feb33a2b84f1a4bull, 0x3d4d470000000000ull, 0x3feb468415b747e7ull, 0xbd38380000000000ull,
    0x3feb59728de5593aull, 0x3c98000000000000ull, 0x3feb6c6e29f1c56aull, 0x3d0ad00000000000ull,
    0x3feb7f76f2fb5e50ull, 0x3cde800000000000ull, 0x3feb928cf22749b2ull, 0xbd04c00000000000ull,
    0x3feba5b030a10603ull, 0xbd0d700000000000ull, 0x3febb8e0b79a6f66ull, 0x3d0d900000000000ull,
    0x3febcc1e904bc1ffull, 0x3d02a00000000000ull, 0x3febdf69c3f3a16full, 0xbd1f780000000000ull,
    0x3febf2c25bd71db8ull, 0xbd10a00000000000ull, 0x3fec06286141b2e9ull, 0xbd11400000000000ull,
    0x3fec199bdd8552e0ull, 0x3d0be00000000000ull, 0x3fec2d1cd9fa64eeull, 0xbd09400000000000ull,
    0x3fec40ab5fffd02full, 0xbd0ed00000000000ull, 0x3fec544778fafd15ull, 0x3d39660000000000ull,
    0x3fec67f12e57d0cbull, 0xbd1a100000000000ull, 0x3fec7ba88988c1b6ull, 0xbd58458000000000ull,
    0x3fec8f6d9406e733ull, 0xbd1a480000000000ull, 0x3feca3405751c4dfull, 0x3ccb000000000000ull,
    0x3fecb720dcef9094ull, 0x3d01400000000000ull, 0x3feccb0f2e6d1689ull, 0x3cf0200000000000ull,
    0x3fecdf0b555dc412ull, 0x3cf3600000000000ull, 0x3fecf3155b5bab3bull, 0xbd06900000000000ull,
    0x3fed072d4a0789bcull, 0x3d09a00000000000ull, 0x3fed1b532b08c8faull, 0xbd15e00000000000ull,
    0x3fed2f87080d8a85ull, 0x3d1d280000000000ull, 0x3fed43c8eacaa203ull, 0x3d01a00000000000ull,
    0x3fed5818dcfba491ull, 0x3cdf000000000000ull, 0x3fed6c76e862e6a1ull, 0xbd03a00000000000ull,
    0x3fed80e316c9834eull, 0xbd0cd80000000000ull, 0x3fed955d71ff6090ull, 0x3cf4c00000000000ull,
    0x3feda9e603db32aeull, 0x3cff900000000000ull, 0x3fedbe7cd63a8325ull, 0x3ce9800000000000ull,
    0x3fedd321f301b445ull, 0xbcf5200000000000ull, 0x3fede7d5641c05bfull, 0xbd1d700000000000ull,
    0x3fedfc97337b9aecull, 0xbd16140000000000ull, 0x3fee11676b197d5eull, 0x3d0b480000000000ull,
    0x3fee264614f5a3e7ull, 0x3d40ce0000000000ull, 0x3fee3b333b16ee5cull, 0x3d0c680000000000ull,
    0x3fee502ee78b3fb4ull, 0xbd09300000000000ull, 0x3fee653924676d68ull, 0xbce5000000000000ull,
    0x3fee7a51fbc74c44ull, 0xbd07f80000000000ull, 0x3fee8f7977cdb726ull, 0xbcf3700000000000ull,
    0x3feea4afa2a490e8ull, 0x3ce5d00000000000ull, 0x3feeb9f4867ccae4ull, 0x3d161a0000000000ull,
    0x3feecf482d8e680dull, 0x3cf5500000000000ull, 0x3feee4aaa2188514ull, 0x3cc6400000000000ull,
    0x3feefa1bee615a13ull, 0xbcee800000000000ull, 0x3fef0f9c1cb64106ull, 0xbcfa880000000000ull,
    0x3fef252b376bb963ull, 0xbd2c900000000000ull, 0x3fef3ac948dd7275ull, 0x3caa000000000000ull,
    0x3fef50765b6e4524ull, 0xbcf4f00000000000ull, 0x3fef6632798844fdull, 0x3cca800000000000ull,
    0x3fef7bfdad9cbe38ull, 0x3cfabc0000000000ull, 0x3fef91d802243c82ull, 0xbcd4600000000000ull,
    0x3fefa7c1819e908eull, 0xbd0b0c0000000000ull, 0x3fefbdba3692d511ull, 0xbcc0e00000000000ull,
    0x3fefd3c22b8f7194ull, 0xbd10de8000000000ull, 0x3fefe9d96b2a23eeull, 0x3cee430000000000ull,
    0x3ff0000000000000ull, 0x0ull, 0x3ff00b1afa5abcbeull, 0xbcb3400000000000ull,
    0x3ff0163da9fb3303ull, 0xbd12170000000000ull, 0x3ff02168143b0282ull, 0x3cba400000000000ull,
    0x3ff02c9a3e77806cull, 0x3cef980000000000ull, 0x3ff037d42e11bbcaull, 0xbcc7400000000000ull,
    0x3ff04315e86e7f89ull, 0x3cd8300000000000ull, 0x3ff04e5f72f65467ull, 0xbd1a3f0000000000ull,
    0x3ff059b0d315855aull, 0xbd02840000000000ull, 0x3ff0650a0e3c1f95ull, 0x3cf1600000000000ull,
    0x3ff0706b29ddf71aull, 0x3d15240000000000ull, 0x3ff07bd42b72a82dull, 0xbce9a00000000000ull,
    0x3ff0874518759bd0ull, 0x3ce6400000000000ull, 0x3ff092bdf66607c8ull, 0xbd00780000000000ull,
    0x3ff09e3ecac6f383ull, 0xbc98000000000000ull, 0x3ff0a9c79b1f3930ull, 0x3cffa00000000000ull,
    0x3ff0b5586cf988fcull, 0xbcfac80000000000ull, 0x3ff0c0f145e46c8aull, 0x3cd9c00000000000ull,
    0x3ff0cc922b724816ull, 0x3d05200000000000ull, 0x3ff0d83b23395dd8ull, 0xbcfad00000000000ull,
    0x3ff0e3ec32d3d1f3ull, 0x3d1bac0000000000ull, 0x3ff0efa55fdfa9a6ull, 0xbd04e80000000000ull,
    0x3ff0fb66affed2f0ull, 0xbd0d300000000000ull, 0x3ff1073028d7234bull, 0x3cf1500000000000ull,
    0x3ff11301d0125b5bull, 0x3cec000000000000ull, 0x3ff11edbab5e2af9ull, 0x3d16bc0000000000ull,
    0x3ff12abdc06c31d5ull, 0x3ce8400000000000ull, 0x3ff136a814f2047dull, 0xbd0ed00000000000ull,
    0x3ff1429aaea92de9ull, 0x3ce8e00000000000ull, 0x3ff14e95934f3138ull, 0x3ceb400000000000ull,
    0x3ff15a98c8a58e71ull, 0x3d05300000000000ull, 0x3ff166a45471c3dfull, 0x3d03380000000000ull,
    0x3ff172b83c7d5211ull, 0x3d28d40000000000ull, 0x3ff17ed48695bb9full, 0xbd05d00000000000ull,
    0x3ff18af9388c8d93ull, 0xbd1c880000000000ull, 0x3ff1972658375d66ull, 0x3d11f00000000000ull,
    0x3ff1a35beb6fcba7ull, 0x3d10480000000000ull, 0x3ff1af99f81387e3ull, 0xbd47390000000000ull,
    0x3ff1bbe084045d54ull, 0x3d24e40000000000ull, 0x3ff1c82f95281c43ull, 0xbd0a200000000000ull,
    0x3ff1d4873168b9b2ull, 0x3ce3800000000000ull, 0x3ff1e0e75eb44031ull, 0x3ceac00000000000ull,
    0x3ff1ed5022fcd938ull, 0x3d01900000000000ull, 0x3ff1f9c18438cdf7ull, 0xbd1b780000000000ull,
    0x3ff2063b88628d8full, 0x3d2d940000000000ull, 0x3ff212be3578a81eull, 0x3cd8000000000000ull,
    0x3ff21f49917ddd41ull, 0x3d2b340000000000ull, 0x3ff22bdda2791323ull, 0x3d19f80000000000ull,
    0x3ff2387a6e7561e7ull, 0xbd19c80000000000ull, 0x3ff2451ffb821427ull, 0x3d02300000000000ull,
    0x3ff251ce4fb2a602ull, 0xbd13480000000000ull, 0x3ff25e85711eceb0ull, 0x3d12700000000000ull,
    0x3ff26b4565e27d16ull, 0x3d11d00000000000ull, 0x3ff2780e341de00full, 0x3d31ee0000000000ull,
    0x3ff284dfe1f5633eull, 0xbd14c00000000000ull, 0x3ff291ba7591bb30ull, 0xbd13d80000000000ull,
    0x3ff29e9df51fdf09ull, 0x3d08b00000000000ull, 0x3ff2ab8a66d10e9bull, 0xbd227c0000000000ull,
    0x3ff2b87fd0dada3aull, 0x3d2a340000000000ull, 0x3ff2c57e39771af9ull, 0xbd10800000000000ull,
    0x3ff2d285a6e402d9ull, 0xbd0ed00000000000ull, 0x3ff2df961f641579ull, 0xbcf4200000000000ull,
    0x3ff2ecafa93e2ecfull, 0xbd24980000000000ull, 0x3ff2f9d24abd8822ull, 0xbd16300000000000ull,
    0x3ff306fe0a31b625ull, 0xbd32360000000000ull, 0x3ff31432edeea50bull, 0xbd70df8000000000ull,
    0x3ff32170fc4cd7b8ull, 0xbd22480000000000ull, 0x3ff32eb83ba8e9a2ull, 0xbd25980000000000ull,
    0x3ff33c08b2641766ull, 0x3d1ed00000000000ull, 0x3ff3496266e3fa27ull, 0xbcdc000000000000ull,
    0x3ff356c55f929f0full, 0xbd30d80000000000ull, 0x3ff36431a2de88b9ull, 0x3d22c80000000000ull,
    0x3ff371a7373aaa39ull, 0x3d20600000000000ull, 0x3ff37f26231e74feull, 0xbd16600000000000ull,
    0x3ff38cae6d05d838ull, 0xbd0ae00000000000ull, 0x3ff39a401b713ec3ull, 0xbd44720000000000ull,
    0x3ff3a7db34e5a020ull, 0x3d08200000000000ull, 0x3ff3b57fbfec6e95ull, 0x3d3e800000000000ull,
    0x3ff3c32dc313a8f2ull, 0x3cef800000000000ull, 0x3ff3d0e544ede122ull, 0xbd17a00000000000ull,
    0x3ff3dea64c1234bbull, 0x3d26300000000000ull, 0x3ff3ec70df1c4eccull, 0xbd48a60000000000ull,
    0x3ff3fa4504ac7e8cull, 0xbd3cdc0000000000ull, 0x3ff40822c367a0bbull, 0x3d25b80000000000ull,
    0x3ff4160a21f72e95ull, 0x3d1ec00000000000ull, 0x3ff423fb27094646ull, 0xbd13600000000000ull,
    0x3ff431f5d950a920ull, 0x3d23980000000000ull, 0x3ff43ffa3f84b9ebull, 0x3cfa000000000000ull,
    0x3ff44e0860618919ull, 0xbcf6c00000000000ull, 0x3ff45c2042a7d201ull, 0xbd0bc00000000000ull,
    0x3ff46a41ed1d0016ull, 0xbd12800000000000ull, 0x3ff4786d668b3326ull, 0x3d30e00000000000ull,
    0x3ff486a2b5c13c00ull, 0xbd2d400000000000ull, 0x3ff494e1e192af04ull, 0x3d0c200000000000ull,
    0x3ff4a32af0d7d372ull, 0xbd1e500000000000ull, 0x3ff4b17dea6db801ull, 0x3d07800000000000ull,
    0x3ff4bfdad53629e1ull, 0xbd13800000000000ull, 0x3ff4ce41b817c132ull, 0x3d00800000000000ull,
    0x3ff4dcb299fddddbull, 0x3d2c700000000000ull, 0x3ff4eb2d81d8ab96ull, 0xbd1ce00000000000ull,
    0x3ff4f9b2769d2d02ull, 0x3d19200000000000ull, 0x3ff508417f4531c1ull, 0xbd08c00000000000ull,
    0x3ff516daa2cf662aull, 0xbcfa000000000000ull, 0x3ff5257de83f51eaull, 0x3d4a080000000000ull,
    0x3ff5342b569d4edaull, 0xbd26d80000000000ull, 0x3ff542e2f4f6ac1aull, 0xbd32440000000000ull,
    0x3ff551a4ca5d94dbull, 0x3d483c0000000000ull, 0x3ff56070dde9116bull, 0x3d24b00000000000ull,
    0x3ff56f4736b529deull, 0x3d415a0000000000ull, 0x3ff57e27dbe2c40eull, 0xbd29e00000000000ull,
    0x3ff58d12d497c76full, 0xbd23080000000000ull, 0x3ff59c0827ff0b4cull, 0x3d4dec0000000000ull,
    0x3ff5ab07dd485427ull, 0xbcc4000000000000ull, 0x3ff5ba11fba87af4ull, 0x3d30080000000000ull,
    0x3ff5c9268a59460bull, 0xbd26c80000000000ull, 0x3ff5d84590998e3full, 0x3d469a0000000000ull,
    0x3ff5e76f15ad20e1ull, 0xbd1b400000000000ull, 0x3ff5f6a320dcebcaull, 0x3d17700000000000ull,
    0x3ff605e1b976dcb8ull, 0x3d26f80000000000ull, 0x3ff6152ae6cdf715ull, 0x3d01000000000000ull,
    0x3ff6247eb03a5531ull, 0xbd15d00000000000ull, 0x3ff633dd1d1929b5ull, 0xbd12d00000000000ull,
    0x3ff6434634ccc313ull, 0xbcea800000000000ull, 0x3ff652b9febc8efaull, 0xbd28600000000000ull,
    0x3ff6623882553397ull, 0x3d71fe0000000000ull, 0x3ff671c1c708328eull, 0xbd37200000000000ull,
    0x3ff68155d44ca97eull, 0x3ce6800000000000ull, 0x3ff690f4b19e9471ull, 0xbd29780000000000ull,
};
OC double oc_exp2(double x) {
    const double redux = oc_double(0x4338000000000000ull) / 256.0;
    const unsigned int ix = oc_high_word(x) & 0x7fffffffu;
    const bool sign = oc_bits(x) >> 63;
    if (ix >= 0x408ff000u) {
        if (ix >= 0x40900000u && !sign) {
            return x * 0x1p1023;
        }
        if (ix >= 0x7ff00000u) {
            return -1.0 / x;
        }
        if (x <= -1075.0) {
            return 0.0;
        }
    } else if (ix < 0x3c900000u) {
        return 1.0 + x;
    }
    const unsigned long long bits = oc_bits(x + redux);
    const unsigned int i = (unsigned int)bits + 128u;
    const int k = (int)(i / 256u * 256u) / 256;
    const double t = oc_double(oc_exp2_double_table[2u * (i % 256u)]);
    const double z = (x - (oc_double(bits) - redux)) - oc_double(oc_exp2_double_table[2u * (i % 256u) + 1u]);
    const double p1 = oc_double(0x3fe62e42fefa39efull), p2 = oc_double(0x3fcebfbdff82c575ull);
    const double p3 = oc_double(0x3fac6b08d704a0a6ull), p4 = oc_double(0x3f83b2ab88f70400ull);
    const double p5 = oc_double(0x3f55d88003875c74ull);
    return oc_scalbn(t + t * z * (p1 + z * (p2 + z * (p3 + z * (p4 + z * p5)))), k);
}
