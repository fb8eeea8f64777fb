#!/usr/bin/env bash
# Installs what the tests need: a Vulkan loader and lavapipe, Mesa's software Vulkan driver, on which the GPU tests run
# where there is no card, and NVIDIA's compilers from PyPI for the emulated CUDA driver. Says what is missing when it may
# not install.
set -euo pipefail
cd "$(dirname "$0")/.."

compilers() {
    ci/cuda.sh && return
    echo "ci/setup.sh: without NVIDIA's compilers the CUDA tests print SKIPPED, and fail under" >&2
    echo "ci/setup.sh: OUTCROP_REQUIRE=cuda-emulated" >&2
}

needed=(libvulkan1 mesa-vulkan-drivers)
python3 -m pip --version >/dev/null 2>&1 || needed+=(python3-pip)
missing=()
for package in "${needed[@]}"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then
    compilers
    exit 0
fi

sudo=()
if [ "$(id -u)" -ne 0 ]; then
    if command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
        sudo=(sudo -n)
    else
        echo "ci/setup.sh: missing: ${missing[*]}; install them (apt-get install ${missing[*]})" >&2
        echo "ci/setup.sh: without them the GPU tests print SKIPPED, and fail under OUTCROP_REQUIRE=wgpu" >&2
        compilers
        exit 0
    fi
fi
if ! command -v apt-get >/dev/null; then
    echo "ci/setup.sh: no apt-get here; install a Vulkan loader and Mesa's lavapipe by other means" >&2
    compilers
    exit 0
fi
"${sudo[@]}" apt-get update -qq
DEBIAN_FRONTEND=noninteractive "${sudo[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}"
compilers
