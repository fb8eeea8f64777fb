    let words = (target_at + length - 1) / {{lanes}} - target_at / {{lanes}} + 1;
    for (var nth = unit; nth < u32(words); nth += units) {
        let word = target_at / {{lanes}} + i32(nth);
        var bits = 0u;
        var mask = 0u;
        for (var lane = 0; lane < {{lanes}}; lane++) {
            let at = word * {{lanes}} + lane - target_at;
            if (at >= 0 && at < length) {
                let shift = u32(lane) * {{width}}u;
                mask |= {{full}}u << shift;
                var value = params[piece + 7u];
                if (!constant) { value = element(source + at * step); }
                bits |= value << shift;
            }
        }
        if (mask == 0xffffffffu) { atomicStore(&output[word], bits); }
        else {
            atomicAnd(&output[word], ~mask);
            atomicOr(&output[word], bits);
        }
    }
