// Python's `//` and `%`: quotients round down, remainders have the divisor's sign. And powers of integers.
OC float oc_truncated_rest(float a, float b) { return fmodf(a, b); }
OC double oc_truncated_rest(double a, double b) { return fmod(a, b); }

template <class T> OC T oc_remainder(T a, T b) {
    if constexpr (OcType<T>::is_float) {
        const T left = oc_truncated_rest(a, b);
        if (left == 0) {
            return b < 0 ? -(T)0 : (T)0;
        }
        return (left < 0) != (b < 0) && left == left ? left + b : left;
    } else {
        // The least value has no quotient by -1.
        if (b == 0 || (OcType<T>::least < 0 && b == (T)-1)) {
            return 0;
        }
        const T left = (T)(a % b);
        return left != 0 && (left < 0) != (b < 0) ? (T)(left + b) : left;
    }
}

template <class T> OC T oc_floor_divide(T a, T b) {
    if constexpr (OcType<T>::is_float) {
        // NumPy's steps: the quotient is made exact by taking the remainder off first.
        if (b == 0) {
            return a / b;
        }
        const T left = oc_truncated_rest(a, b);
        T quotient = (a - left) / b;
        if (left != 0 && (left < 0) != (b < 0)) {
            quotient = quotient - (T)1;
        }
        if (quotient == 0) {
            return a / b < 0 ? -(T)0 : (T)0;
        }
        const T floor = oc_floor(quotient);
        return quotient - floor > (T)0.5 ? floor + (T)1 : floor;
    } else {
        if (b == 0) {
            return 0;
        }
        if (OcType<T>::least < 0 && b == (T)-1) {
            return oc_negative(a);
        }
        const T quotient = (T)(a / b), left = (T)(a % b);
        return left != 0 && (left < 0) != (b < 0) ? (T)(quotient - 1) : quotient;
    }
}

// By squaring; 0 for a negative exponent.
template <class T> OC T oc_power_of_integer(T a, T b) {
    if (b < 0) {
        return 0;
    }
    T result = 1;
    for (; b != 0; b = (T)(b >> 1)) {
        if (b & 1) {
            result = oc_multiply(result, a);
        }
        a = oc_multiply(a, a);
    }
    return result;
}
OC unsigned char oc_power(unsigned char a, unsigned char b) { return oc_power_of_integer(a, b); }
OC short oc_power(short a, short b) { return oc_power_of_integer(a, b); }
OC int oc_power(int a, int b) { return oc_power_of_integer(a, b); }
OC unsigned int oc_power(unsigned int a, unsigned int b) { return oc_power_of_integer(a, b); }
OC long long oc_power(long long a, long long b) { return oc_power_of_integer(a, b); }
