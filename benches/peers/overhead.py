#!/usr/bin/env python3
"""Small tasks in Dask: the work of `cargo bench --bench overhead` by its local schedulers.

    python benches/peers/overhead.py [shape]      needs: pip install dask; PEERS_TASKS sets another number of tasks

One JSON line for each shape and scheduler: nanoseconds a task from the graph to the result, ordering and all, the
best of some runs in this process. Compare ratios of one sitting.
"""
import itertools
import json
import os
import sys
import time

import dask
import dask.threaded

TASKS = int(os.environ.get("PEERS_TASKS", 100_000))
THREADS = 2

counter = itertools.count()


def bump(*_):
    next(counter)


def independent(count):
    return {("t", i): (bump,) for i in range(count)}, [("t", i) for i in range(count)]


def grid(count):
    side = int(count ** 0.5)

    def task(row, column):
        reads = [("t", row - 1, column)] if row else []
        return (bump, *reads, *([("t", row, column - 1)] if column else []))

    graph = {("t", row, column): task(row, column) for row in range(side) for column in range(side)}
    return graph, [("t", side - 1, side - 1)]


def tree(count):
    def task(node):
        return (bump, *(("t", child) for child in (2 * node + 1, 2 * node + 2) if child < count))

    return {("t", node): task(node) for node in range(count)}, [("t", 0)]


def chain(count):
    return {("t", i): (bump, ("t", i - 1)) if i else (bump,) for i in range(count)}, [("t", count - 1)]


def best(run, times=2):
    took = []
    for _ in range(times):
        start = time.perf_counter()
        run()
        took.append(time.perf_counter() - start)
    return min(took)


for shape in (independent, grid, tree, chain):
    if sys.argv[1:] and shape.__name__ not in sys.argv[1:]:
        continue
    graph, keys = shape(TASKS)
    schedulers = {
        "dask threads": lambda: dask.threaded.get(graph, keys, num_workers=THREADS),
        "dask sync": lambda: dask.get(graph, keys),
    }
    for tool, run in schedulers.items():
        before = next(counter)
        ns = best(run) * 1e9 / len(graph)
        assert (next(counter) - before - 1) % len(graph) == 0, "every task runs once"
        row = {"bench": "overhead", "case": f"{shape.__name__}: plan and run", "value": round(ns), "unit": "ns", "tool": tool}
        print(json.dumps(row), flush=True)
