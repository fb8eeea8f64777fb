// Polynomials and bits. The functions give the bits of src/kernel/math: a fused multiply-add is part of a function's
// definition, and nothing else is contracted.
template <class T> OC T oc_poly(T, T sum) { return sum; }
// Horner's rule with fused steps; the highest coefficient first.
template <class T, class... Rest> OC T oc_poly(T x, T sum, T next, Rest... rest) {
    return oc_poly(x, oc_fma(sum, x, next), rest...);
}
OC unsigned int oc_bits(float x) { return __float_as_uint(x); }
OC float oc_single(unsigned int bits) { return __uint_as_float(bits); }
OC unsigned long long oc_bits(double x) { return (unsigned long long)__double_as_longlong(x); }
OC double oc_double(unsigned long long bits) { return __longlong_as_double((long long)bits); }
OC float oc_signed(float x, float sign) { return copysignf(x, sign); }
OC double oc_signed(double x, double sign) { return copysign(x, sign); }
template <class T> struct OcPair {
    T high, low;
};
// Constants of a type: pi/2 in three parts, ln 2 in two for logarithms and in two for exponentials.
template <class T> struct OcConstants;
