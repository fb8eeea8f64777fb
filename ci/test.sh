#!/usr/bin/env bash
# The README's test command: system packages, format, lints, all tests. Fast checks first.
set -euo pipefail
cd "$(dirname "$0")/.."

ci/setup.sh
cargo fmt --check
cargo clippy --all-targets --locked -- -D warnings
RUSTDOCFLAGS="-D warnings" cargo doc --no-deps --locked --quiet
cargo test --locked
