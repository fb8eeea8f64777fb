// C99's special values of x to the y, where `value` is |x| to the y.
template <class T> OC T oc_power_sign(T x, T y, T value) {
    const T half = (T)0.5 * y;
    const bool is_integer = oc_round(y) == y;
    const bool is_odd = is_integer && oc_round(half) != half;
    value = oc_bits(x) >> (8 * sizeof(T) - 1) && is_odd ? -value : value;
    value = x < 0 && oc_abs(x) < oc_infinity(x) && !is_integer ? oc_infinity(x) - oc_infinity(x) : value;
    const bool is_one = y == 0 || x == 1 || (x == -1 && oc_abs(y) == oc_infinity(x));
    return is_one ? (T)1 : value;
}
