#!/usr/bin/env bash
# Installs the system packages that the tests need: a Vulkan loader and lavapipe, Mesa's software Vulkan
# driver, on which the GPU tests run where there is no card. Says what is missing when it may not install.
set -euo pipefail

needed=(libvulkan1 mesa-vulkan-drivers)
missing=()
for package in "${needed[@]}"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then
    exit 0
fi

sudo=()
if [ "$(id -u)" -ne 0 ]; then
    if command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
        sudo=(sudo -n)
    else
        echo "ci/setup.sh: missing: ${missing[*]}; install them (apt-get install ${missing[*]})" >&2
        echo "ci/setup.sh: without them the GPU tests print SKIPPED, and fail under OUTCROP_REQUIRE=wgpu" >&2
        exit 0
    fi
fi
if ! command -v apt-get >/dev/null; then
    echo "ci/setup.sh: no apt-get here; install a Vulkan loader and Mesa's lavapipe by other means" >&2
    exit 0
fi
"${sudo[@]}" apt-get update -qq
DEBIAN_FRONTEND=noninteractive "${sudo[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}"
