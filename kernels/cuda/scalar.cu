// Arithmetic, comparisons and conversions of every element type, with the host's semantics: integers wrap, a divisor of
// zero gives 0, quotients round down, floats out of an integer's range saturate, NaN becomes 0, bool adds by "or".
#define OC __device__ __forceinline__

template <class T> struct OcType {
    static constexpr bool is_float = false;
};
template <> struct OcType<float> {
    static constexpr bool is_float = true;
};
template <> struct OcType<double> {
    static constexpr bool is_float = true;
};
// The unsigned type in which T's arithmetic is done, and T's range: `past` is the least float that is too large.
#define OC_INTEGER(T, U, LEAST, GREATEST, PAST)              \
    template <> struct OcType<T> {                           \
        typedef U Wide;                                      \
        static constexpr bool is_float = false;              \
        static constexpr T least = LEAST, greatest = GREATEST; \
        static constexpr double low = (double)(LEAST), past = PAST; \
    };
OC_INTEGER(unsigned char, unsigned int, 0, 255, 256.0)
OC_INTEGER(short, unsigned int, -32768, 32767, 32768.0)
OC_INTEGER(int, unsigned int, -2147483647 - 1, 2147483647, 2147483648.0)
OC_INTEGER(unsigned int, unsigned int, 0, 4294967295u, 4294967296.0)
OC_INTEGER(long long, unsigned long long, -9223372036854775807ll - 1, 9223372036854775807ll, 9223372036854775808.0)

template <class To, class From> OC To oc_cast(From x) {
    if constexpr (OcType<From>::is_float && !OcType<To>::is_float) {
        return x != x ? (To)0
            : x <= (From)OcType<To>::low ? OcType<To>::least
            : x >= (From)OcType<To>::past ? OcType<To>::greatest
                                          : (To)x;
    } else {
        return (To)x;
    }
}
// f16 is its 16 bits, and only converted.
template <> OC float oc_cast<float, unsigned short>(unsigned short x) {
    float y;
    asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x));
    return y;
}
template <> OC unsigned short oc_cast<unsigned short, float>(float x) {
    unsigned short y;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y) : "f"(x));
    return y;
}
template <> OC unsigned short oc_cast<unsigned short, double>(double x) {
    unsigned short y;
    asm("cvt.rn.f16.f64 %0, %1;" : "=h"(y) : "d"(x));
    return y;
}
template <> OC bool oc_cast<bool, float>(float x) { return x != 0.0f; }
template <> OC bool oc_cast<bool, double>(double x) { return x != 0.0; }

#define OC_WRAPPING(NAME, SYMBOL)                                                                   \
    template <class T> OC T oc_##NAME(T a, T b) {                                                   \
        if constexpr (OcType<T>::is_float) {                                                        \
            return a SYMBOL b;                                                                      \
        } else {                                                                                    \
            return (T)((typename OcType<T>::Wide)a SYMBOL(typename OcType<T>::Wide) b);             \
        }                                                                                           \
    }
OC_WRAPPING(add, +)
OC_WRAPPING(subtract, -)
OC_WRAPPING(multiply, *)
template <> OC bool oc_add<bool>(bool a, bool b) { return a || b; }
template <> OC bool oc_multiply<bool>(bool a, bool b) { return a && b; }
template <class T> OC T oc_divide(T a, T b) { return a / b; }

template <class T> OC bool oc_equal(T a, T b) { return a == b; }
template <class T> OC bool oc_not_equal(T a, T b) { return a != b; }
template <class T> OC bool oc_less(T a, T b) { return a < b; }
template <class T> OC bool oc_less_equal(T a, T b) { return a <= b; }
template <class T> OC bool oc_greater(T a, T b) { return a > b; }
template <class T> OC bool oc_greater_equal(T a, T b) { return a >= b; }
// NaN if either is; of equal values the second.
template <class T> OC T oc_minimum(T a, T b) { return a < b || a != a ? a : b; }
template <class T> OC T oc_maximum(T a, T b) { return a > b || a != a ? a : b; }

template <class T> OC T oc_bitwise_and(T a, T b) { return (T)(a & b); }
template <class T> OC T oc_bitwise_or(T a, T b) { return (T)(a | b); }
template <class T> OC T oc_bitwise_xor(T a, T b) { return (T)(a ^ b); }
template <class T> OC T oc_not(T a) { return (T)~a; }
template <> OC bool oc_not<bool>(bool a) { return !a; }

template <class T> OC T oc_negative(T a) {
    if constexpr (OcType<T>::is_float) {
        return -a;
    } else {
        return oc_subtract<T>(0, a);
    }
}
template <class T> OC T oc_abs(T a) { return a < 0 ? oc_negative(a) : a; }
template <> OC bool oc_abs<bool>(bool a) { return a; }
template <> OC float oc_abs<float>(float a) { return fabsf(a); }
template <> OC double oc_abs<double>(double a) { return fabs(a); }
// 0 for both zeros, NaN for NaN.
template <class T> OC T oc_sign(T a) { return a != a ? a : a > 0 ? (T)1 : a < 0 ? (T)-1 : (T)0; }

#define OC_ROUNDING(NAME, SINGLE, DOUBLE)                  \
    template <class T> OC T oc_##NAME(T a) { return a; }   \
    template <> OC float oc_##NAME<float>(float a) { return SINGLE(a); } \
    template <> OC double oc_##NAME<double>(double a) { return DOUBLE(a); }
OC_ROUNDING(floor, floorf, floor)
OC_ROUNDING(ceil, ceilf, ceil)
OC_ROUNDING(round, rintf, rint)
OC_ROUNDING(trunc, truncf, trunc)

OC float oc_sqrt(float a) { return __fsqrt_rn(a); }
OC double oc_sqrt(double a) { return __dsqrt_rn(a); }
OC float oc_infinity(float) { return __uint_as_float(0x7f800000u); }
OC double oc_infinity(double) { return __longlong_as_double(0x7ff0000000000000ll); }

template <class T> OC bool oc_isnan(T a) { return a != a; }
template <class T> OC bool oc_isinf(T a) {
    if constexpr (OcType<T>::is_float) {
        return oc_abs(a) == oc_infinity(a);
    } else {
        return false;
    }
}
template <class T> OC bool oc_isfinite(T a) {
    if constexpr (OcType<T>::is_float) {
        return oc_abs(a) < oc_infinity(a);
    } else {
        return true;
    }
}

OC float oc_fma(float a, float b, float c) { return __fmaf_rn(a, b, c); }
OC double oc_fma(double a, double b, double c) { return __fma_rn(a, b, c); }
