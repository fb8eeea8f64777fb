#!/usr/bin/env python3
"""A rechunk and a reduction in Dask's threaded scheduler: the work of `cargo bench --bench memory rechunk`.

    python benches/peers/memory.py      needs: pip install 'dask[array]'; PEERS_MIB sets another size of the array

One JSON line: seconds from the graph to the result, best of some runs in this process, and the most MB by which the
process's memory grew (Linux). The scheduler has no budget and doesn't spill. Compare ratios of one sitting.
"""
import json
import os
import time

import dask
import dask.array as da
import numpy as np

MIB = int(os.environ.get("PEERS_MIB", 256))
THREADS = 2
REPETITIONS = 3
BLOCK = (4 << 20) // 8
COLUMNS = 4096


def status(field):
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) / 1000 for line in lines if line.startswith(field))


def turned(elements):
    rows = elements // COLUMNS
    x = da.random.default_rng(2).normal(size=(rows, COLUMNS), chunks=(BLOCK // COLUMNS, COLUMNS))
    made = np.exp(np.log(np.sin(x) + 2.0) * np.cos(x)) + np.tanh(x)
    return made.rechunk((rows, BLOCK // rows)).std(axis=0)


def main():
    best, grown = float("inf"), 0.0
    for _ in range(REPETITIONS):
        array = turned((MIB << 20) // 8)
        with open("/proc/self/clear_refs", "w") as clear:
            clear.write("5")
        before = status("VmRSS")
        started = time.perf_counter()
        with dask.config.set(scheduler="threads", num_workers=THREADS):
            array.compute()
        best = min(best, time.perf_counter() - started)
        grown = max(grown, status("VmHWM") - before)
    case = f"rechunk of {MIB} MiB and std"
    for what, value, unit in [("seconds", best, "s"), ("memory grew by", grown, "MB")]:
        print(json.dumps({"bench": "memory", "peer": f"dask {dask.__version__}", "case": f"{case}: {what}",
                          "value": round(value, 3), "unit": unit}))


main()
