#!/usr/bin/env bash
# The README's test command: system packages, format, lints, documentation, all tests, those of the
# third party below tests/ included. Fast checks first.
# Where rustfmt or clippy isn't installed it says so and goes on; in CI that is a failure.
set -euo pipefail
cd "$(dirname "$0")/.."

have() {
    cargo "$1" --version >/dev/null 2>&1 && return 0
    echo "ci/test.sh: SKIPPED $1: not installed (rustup component add $2)" >&2
    [ -z "${CI:-}" ] || exit 1
    return 1
}

ci/setup.sh
if have fmt rustfmt; then cargo fmt --all --check; fi
if have clippy clippy; then
    cargo clippy --workspace --all-targets --locked -- -D warnings
    cargo clippy --lib --tests --features interleavings --locked -- -D warnings
fi
RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked --quiet
cargo test --workspace --locked
# Once more, to show how many cases ran on each device.
cargo test --locked --test conformance -- --nocapture
# Unit tests of their own build: threads in orders that a seed decides (src/exec/interleavings.rs).
cargo test --locked --lib --features interleavings interleavings
