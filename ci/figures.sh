#!/usr/bin/env bash
# Every figure of the executor, each beside what is promised of it: tasks, budgets, the spill store, large kernels on two
# threads, the inventory. Then Dask's tasks and budgets in the same sitting, where Python has Dask (PYTHON names another Python).
# Takes some minutes; the machine should have nothing else to do. `--json` prints lines of JSON instead of tables.
set -euo pipefail
cd "$(dirname "$0")/.."

for bench in overhead memory spill split devices; do
    cargo bench --locked --quiet --bench "$bench" -- "$@"
done
python="${PYTHON:-python3}"
if "$python" -c "import dask.array" 2>/dev/null; then
    "$python" benches/peers/overhead.py
    "$python" benches/peers/memory.py
else
    echo "ci/figures.sh: SKIPPED Dask: $python has none (pip install 'dask[array]', or set PYTHON)" >&2
fi
