#!/usr/bin/env python3
"""Graphs in Dask: the work of `cargo bench --bench graph`, where Dask has it.

    python benches/peers/graph.py      needs: pip install "dask[array]"

One JSON line a case: the best of some runs in this process. Compare ratios of one sitting.
"""
import json
import time

import dask
import dask.array as da
from dask.blockwise import optimize_blockwise
from dask.graph_manipulation import bind, checkpoint, clone

CALLS = 100_000


def best(run, times=5):
    took = []
    for _ in range(times):
        start = time.perf_counter()
        kept = run()
        took.append(time.perf_counter() - start)
        del kept
    return min(took)


def pyramid():
    x = da.zeros(100_000_000, dtype="f4", chunks=1000)
    for i in range(1, 9):
        x = x + i
    return da.sqrt(x.rechunk(999))


def maps(count):
    x = da.zeros(1024, chunks=1024)
    for i in range(count):
        x = x + float(i)
    return x


def cull(array):
    graph = array.__dask_graph__()
    return best(lambda: graph.cull({(array.name, 50_000)}), 2)


def independent_calls():
    step = dask.delayed(lambda n: n + 1, pure=False)
    return [step(at) for at in range(CALLS)]


def show(case, value, unit):
    row = {"bench": "graph", "case": case, "value": round(value, 4), "unit": unit, "tool": "dask"}
    print(json.dumps(row), flush=True)


show("build 11 layers, 1.1 M tasks", best(pyramid, 3) * 1e3, "ms")
show("cull 11 layers, 1.1 M tasks to one block", cull(pyramid()) * 1e3, "ms")
chain = maps(1000)
fuse = lambda: optimize_blockwise(chain.__dask_graph__(), keys=chain.__dask_keys__())
show("fuse a chain of 1,000 maps", best(fuse, 2) * 1e3, "ms")
show("clone 1,000 layers", best(lambda: clone(chain), 3) * 1e3, "ms")
parent = dask.delayed(1)
show("bind 1,000 layers", best(lambda: bind(chain, parent), 3) * 1e3, "ms")
array = pyramid()
show("checkpoint 1.1 M tasks", best(lambda: checkpoint(array), 1) * 1e3, "ms")
show("a delayed call", best(independent_calls, 3) * 1e6 / CALLS, "us")
