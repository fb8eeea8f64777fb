#!/usr/bin/env python3
"""Hillshade of a terrain in NumPy and JAX: the work of `cargo bench --bench hillshade`.

    python benches/peers/hillshade.py [SIDE]      needs: pip install numpy jax

One JSON line per tool: the best of some runs in a fresh process, in milliseconds. Compare ratios of one sitting.
"""
import json
import math
import os
import subprocess
import sys
import time

SIDE = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
ALTITUDE, AZIMUTH = math.radians(45), math.radians(315)


def shade(np, z):
    gy, gx = np.gradient(z, 92.7, 74.4)
    slope = np.arctan(np.hypot(gx, gy))
    aspect = np.arctan2(gx, gy)
    light = math.sin(ALTITUDE) * np.cos(slope) + math.cos(ALTITUDE) * np.sin(slope) * np.cos(AZIMUTH - aspect)
    return np.clip(light, 0, 1)


def one(tool):
    import numpy as np
    rng = np.random.default_rng(0)
    wave = np.sin(np.arange(SIDE, dtype="f4") * np.float32(0.013)) * np.float32(30)
    z = wave[:, None] * wave + rng.random((SIDE, SIDE), dtype="f4") * np.float32(40)
    if tool == "numpy":
        run = lambda: shade(np, z)
    else:
        import jax
        z = jax.numpy.asarray(z)
        compiled = jax.jit(lambda z: shade(jax.numpy, z))
        run = lambda: compiled(z).block_until_ready()
        run()
    best = math.inf
    for _ in range(2 if tool == "numpy" else 4):
        start = time.perf_counter()
        result = run()
        best = min(best, time.perf_counter() - start)
        assert result.dtype == np.float32, result.dtype
        del result
    print(json.dumps({"bench": "hillshade", "case": f"with angles {SIDE}x{SIDE}", "peer": tool,
                      "value": round(best * 1e3, 1), "unit": "ms"}), flush=True)


if __name__ == "__main__":
    if len(sys.argv) == 3:
        one(sys.argv[2])
    else:
        # These two slow a current NumPy down where they are set.
        env = {k: v for k, v in os.environ.items() if k not in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")}
        for tool in ("numpy", "jax"):
            subprocess.run([sys.executable, __file__, str(SIDE), tool], env=env, check=False)
