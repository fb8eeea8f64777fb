// The functions that are the same for float and double but for their constants. Arguments as in src/kernel/math.
// The sine of r + quadrant * pi/2, from those of r.
template <class T> struct OcAngle {
    T sin, cos;
    unsigned int quadrant;
};
template <class T> OC T oc_turned(OcAngle<T> angle, unsigned int turn) {
    const unsigned int quadrant = angle.quadrant + turn;
    const T value = quadrant & 1 ? angle.cos : angle.sin;
    return quadrant & 2 ? -value : value;
}
// After Cody and Waite, pi/2 in three parts.
template <class T> OC OcAngle<T> oc_angle(T x) {
    const T k_magic = oc_fma(x, (T)0.636619772367581343076, OcConstants<T>::magic);
    const T minus_k = OcConstants<T>::magic - k_magic;
    const T exact = oc_fma(minus_k, OcConstants<T>::half_pi[0], x);
    const T second = minus_k * OcConstants<T>::half_pi[1];
    const T second_error = oc_fma(minus_k, OcConstants<T>::half_pi[1], -second);
    const T r = exact + second;
    const T low = oc_fma(minus_k, OcConstants<T>::half_pi[2], ((exact - r) + second) + second_error);
    const T z = r * r;
    const T near_one = oc_fma(z, (T)-0.5, (T)1);
    const T error = oc_fma(z, (T)-0.5, (T)1 - near_one);
    const T cos = near_one + (error + oc_fma(z * z, oc_cos_poly(z), -(r * low)));
    const T sin = r + oc_fma(z * r, oc_sin_poly(z), low * near_one);
    return OcAngle<T>{sin, cos, (unsigned int)oc_bits(k_magic)};
}
// Up to the limit of the reduction.
template <class T> OC T oc_sin_near(T x) {
    const T y = oc_turned(oc_angle(x), 0);
    return x == 0 ? x : y;
}
template <class T> OC T oc_cos_near(T x) { return oc_turned(oc_angle(x), 1); }
template <class T> OC T oc_tan_near(T x) {
    const OcAngle<T> angle = oc_angle(x);
    const bool is_odd = angle.quadrant & 1;
    const T y = (is_odd ? -angle.cos : angle.sin) / (is_odd ? angle.sin : angle.cos);
    return x == 0 ? x : y;
}

template <class T> OC T oc_log(T x) {
    const OcPair<T> parts = oc_split(x);
    const T k = parts.low;
    const T f = parts.high - (T)1;
    const T s = f / ((T)2 + f);
    const T z = s * s;
    const T half_square = (T)0.5 * f * f;
    const T r = z * oc_log_poly(z);
    const T y = oc_fma(k, OcConstants<T>::log_ln2_high, (oc_fma(s, half_square + r,
            k * OcConstants<T>::log_ln2_low) - half_square) + f);
    const T edge = x == 0 ? -oc_infinity(x) : oc_infinity(x) - oc_infinity(x);
    const T finite = x > 0 ? y : edge;
    return x == oc_infinity(x) ? x : finite;
}

// (s, q) with asin s' = s + q, where s' is |x| up to 1/2 and the root of (1 - |x|) / 2 beyond.
template <class T> OC OcPair<T> oc_asin_parts(T a, bool is_big) {
    const T z = is_big ? (T)0.5 - (T)0.5 * a : a * a;
    const T root = oc_sqrt(z);
    const T residue = root > 0 ? oc_fma(-root, root, z) / ((T)2 * root) : (T)0;
    const T s = is_big ? root : a;
    return OcPair<T>{s, oc_asin_tail(z, s, is_big ? residue : (T)0)};
}
template <class T> OC T oc_asin(T x) {
    const T half_pi = (T)1.57079632679489661923;
    const T a = oc_abs(x);
    const bool is_big = a > (T)0.5;
    const OcPair<T> parts = oc_asin_parts(a, is_big);
    const T s = parts.high, q = parts.low;
    const T head = half_pi - (T)2 * s;
    const T tail = (half_pi - head) - (T)2 * s;
    const T far = head + (tail + (OcConstants<T>::half_pi[1] - (T)2 * q));
    return oc_signed(is_big ? far : s + q, x);
}
template <class T> OC T oc_acos(T x) {
    const T half_pi = (T)1.57079632679489661923;
    const T a = oc_abs(x);
    const bool is_big = a > (T)0.5;
    const OcPair<T> parts = oc_asin_parts(a, is_big);
    const T s = parts.high, q = parts.low;
    const T sided = oc_signed(s, x);
    const T head = half_pi - sided;
    const T tail = (half_pi - head) - sided;
    const T middle = head + (tail + (OcConstants<T>::half_pi[1] - oc_signed(q, x)));
    const T right = (T)2 * (s + q);
    const T left = (T)2 * (half_pi - (s + (q - OcConstants<T>::half_pi[1])));
    return is_big ? (x < 0 ? left : right) : middle;
}

// y * 2^k in two steps: 2^k alone may overflow where the product needn't.
template <class T> OC T oc_scaled(T y, T k) {
    const T half_magic = oc_fma(k, (T)0.5, OcConstants<T>::magic);
    const T rest_magic = (k - (half_magic - OcConstants<T>::magic)) + OcConstants<T>::magic;
    return y * oc_exp2_of_magic(half_magic) * oc_exp2_of_magic(rest_magic);
}
// (e^r - 1, k + magic) of x + low.
template <class T> OC OcPair<T> oc_exp_m1_reduced(T x, T low) {
    const T k_magic = oc_fma(x, (T)1.44269504088896340736, OcConstants<T>::magic);
    const T k = k_magic - OcConstants<T>::magic;
    const T r = oc_fma(-k, OcConstants<T>::exp_ln2_low, oc_fma(-k, OcConstants<T>::exp_ln2_high, x)) + low;
    return OcPair<T>{oc_fma(oc_exp_poly(r) * r, r, r), k_magic};
}
template <class T> OC T oc_exp_clamped(T x, T low) {
    const OcPair<T> parts = oc_exp_m1_reduced(x, low);
    return oc_scaled(parts.high + (T)1, parts.low - OcConstants<T>::magic);
}
template <class T> OC T oc_tanh(T x) {
    const T most = OcConstants<T>::tanh_is_one;
    T a = oc_abs(x);
    a = a > most ? most : a;
    const OcPair<T> parts = oc_exp_m1_reduced((T)2 * a, (T)0);
    const T scale = oc_exp2_of_magic(parts.low);
    const T e = oc_fma(parts.high, scale, scale - (T)1);
    return oc_signed(e / (e + (T)2), x);
}
