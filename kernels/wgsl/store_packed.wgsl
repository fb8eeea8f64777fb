    // This invocation owns a whole word, so nobody else writes to it.
    var word = 0u;
    let first = item * {{lanes}}u;
    for (var lane = 0u; lane < {{lanes}}u; lane++) {
        if (first + lane < params[1]) {
            let s = item_at(first + lane);
            word |= {{bits}} << (lane * {{width}}u);
        }
    }
    if (first < params[1]) { output[item] = word; }
