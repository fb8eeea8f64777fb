#!/usr/bin/env bash
# On a machine with a real card: the device tests must run on that card, the examples too, and a table shows what the card
# reaches, each figure beside its bound. CUDA's part runs where there is an NVIDIA driver, and needs NVRTC (see ci/cuda.sh).
set -euo pipefail
cd "$(dirname "$0")/.."

if cargo run --release --locked --quiet -- devices | tee /dev/stderr | grep -q 'through cuda'; then
    OUTCROP_REQUIRE=cuda cargo test --release --locked --test conformance cuda -- --nocapture
else
    echo "ci/test_gpu.sh: SKIPPED CUDA: no card that can be used through it" >&2
fi
OUTCROP_REQUIRE=wgpu cargo test --release --locked --test wgpu_kernels -- --nocapture
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
for example in hillshade brain; do
    cargo run --release --locked -- run "examples/$example.toml" --out "$out" --deny-fallback
done
cargo bench --locked --bench card
