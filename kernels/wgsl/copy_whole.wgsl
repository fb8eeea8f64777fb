    let at = i32(unit);
    if (constant) { output[to + at * param(piece + 9u)] = {{constant}}; }
    else { output[to + at * param(piece + 9u)] = read(from + at * step); }
