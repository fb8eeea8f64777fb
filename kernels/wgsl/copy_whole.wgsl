    let hop = param(piece + 9u);
    let fixed = {{constant}};
    let length_u = u32(length);
    for (var nth = unit; nth < length_u; nth += units) {
        let at = i32(nth);
        var value = fixed;
        if (!constant) { value = element(source + at * step); }
        output[target_at + at * hop] = value;
    }
