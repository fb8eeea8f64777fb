#!/usr/bin/env bash
# The long versions of tests that are short in CI: 50 kills of a run that resumes, 2,000 seeded runs with faults, 3,000
# random graphs that are failed and cancelled, 40,000 orders of threads for each of some small runs, and a soak of some
# minutes (OUTCROP_SOAK_MINUTES, ten by default) in one process.
set -euo pipefail
cd "$(dirname "$0")/.."

export OUTCROP_SOAK=1
export OUTCROP_SOAK_MINUTES="${OUTCROP_SOAK_MINUTES:-10}"

cargo test --locked --test resume
cargo test --locked --test faults
cargo test --locked --lib --features interleavings interleavings
cargo test --locked --test cases case_b02
cargo test --locked --test soak -- --nocapture
