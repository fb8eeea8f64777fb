#!/usr/bin/env bash
# Installs NVIDIA's runtime compiler from its PyPI wheel into target/nvrtc, once, and prints the library's path.
# Usage: ci/nvrtc.sh [VERSION]
set -euo pipefail
cd "$(dirname "$0")/.."

version=${1:-12.9.86}
folder=${CARGO_TARGET_DIR:-target}/nvrtc
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
library=$folder/nvidia/cuda_nvrtc/lib/libnvrtc.so.12

if [ ! -e "$library" ] || [ "$(cat "$folder/version" 2>/dev/null)" != "$version" ]; then
    python=${PYTHON:-python3}
    if ! "$python" -m pip --version >/dev/null 2>&1; then
        echo "ci/nvrtc.sh: $python has no pip; install it (apt-get install python3-pip)" >&2
        exit 1
    fi
    "$python" -m pip install --quiet --disable-pip-version-check --no-deps --upgrade --target "$folder" \
        --root-user-action ignore "nvidia-cuda-nvrtc-cu12==$version" >&2
    echo "$version" >"$folder/version"
fi
echo "$library"
