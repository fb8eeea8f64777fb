    let at = i32(unit);
    if (constant) { output[target_at + at * param(piece + 9u)] = {{constant}}; }
    else { output[target_at + at * param(piece + 9u)] = element(source + at * step); }
