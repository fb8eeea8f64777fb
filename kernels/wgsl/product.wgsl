// The 64-bit product, low word first, from 16-bit halves: WGSL has no high multiplication.
fn oc_product(a: u32, b: u32) -> vec2u {
    let al = a & 0xffffu;
    let ah = a >> 16u;
    let bl = b & 0xffffu;
    let bh = b >> 16u;
    let low = al * bl;
    let middle = ah * bl + (low >> 16u);
    let cross = al * bh + (middle & 0xffffu);
    return vec2u(a * b, ah * bh + (middle >> 16u) + (cross >> 16u));
}
