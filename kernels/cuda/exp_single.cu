OC float oc_exp(float x) {
    x = x > 89.0f ? 89.0f : x;
    return oc_exp_clamped(x < -104.0f ? -104.0f : x, 0.0f);
}
