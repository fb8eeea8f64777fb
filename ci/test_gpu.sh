#!/usr/bin/env bash
# On a machine with a real card: the device tests must run, on that card, and the examples too.
set -euo pipefail
cd "$(dirname "$0")/.."

export OUTCROP_REQUIRE=wgpu
cargo run --release --locked -- devices
cargo test --release --locked --test wgpu_kernels -- --nocapture
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
for example in hillshade brain; do
    cargo run --release --locked -- run "examples/$example.toml" --out "$out" --deny-fallback
done
