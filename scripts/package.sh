#!/usr/bin/env bash
# Packages the crates that can be published, and builds each from its package: the library, the C
# library, and the command with its parts. Crates that are not published yet are found in each other's packages.
set -euo pipefail
cd "$(dirname "$0")/.."

packages=()
for crate in squall-drbg squall squall-binding-base squall-c squall-getrandom squall-rustls squall-tool-base squall-drives squall-bench squall-wipe \
    squall-dmcrypt squall-cli; do
    packages+=(-p "$crate")
done
exec cargo package "${packages[@]}" "$@"
