#!/usr/bin/env bash
# Installs NVIDIA's compilers from their PyPI wheels into target/cuda, once: NVRTC, with which the CUDA tests compile
# kernels for the emulated driver, and ptxas, which assembles them for real cards. Needs no card and no toolkit.
set -euo pipefail
cd "$(dirname "$0")/.."

wheels=(nvidia-cuda-nvrtc-cu12==12.9.86 nvidia-cuda-nvcc-cu12==12.9.86)
folder=${CARGO_TARGET_DIR:-target}/cuda
if [ "$(cat "$folder/wheels" 2>/dev/null)" = "${wheels[*]}" ]; then
    exit 0
fi
python=${PYTHON:-python3}
if ! "$python" -m pip --version >/dev/null 2>&1; then
    echo "ci/cuda.sh: $python has no pip; install it (apt-get install python3-pip)" >&2
    exit 1
fi
mkdir -p "$folder"
"$python" -m pip install --quiet --disable-pip-version-check --no-deps --upgrade --target "$folder" \
    --root-user-action ignore "${wheels[@]}"
echo "${wheels[*]}" >"$folder/wheels"
