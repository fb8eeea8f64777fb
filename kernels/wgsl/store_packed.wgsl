        // This invocation owns a whole word, so nobody else writes to it.
        var word = 0u;
        for (var lane = 0u; lane < {{lanes}}u; lane++) {
            let at = item * {{lanes}}u + lane;
            if (at < params[1]) {
                let s = item_at(at);
                word |= {{bits}} << (lane * {{width}}u);
            }
        }
        output[item] = word;
