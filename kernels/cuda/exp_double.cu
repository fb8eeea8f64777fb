// Of x + low, |low| at most half an ulp of x.
OC double oc_exp_sum(double x, double low) {
    x = x > 710.0 ? 710.0 : x;
    return oc_exp_clamped(x < -746.0 ? -746.0 : x, low);
}
OC double oc_exp(double x) { return oc_exp_sum(x, 0.0); }
