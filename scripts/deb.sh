#!/usr/bin/env bash
# Builds Debian packages of the command and its libraries into a folder:
#   deb.sh FOLDER
set -euo pipefail

if [ $# -ne 1 ]; then
    echo "usage: deb.sh FOLDER" >&2
    exit 2
fi
packages=$(realpath -m "$1")
cd "$(dirname "$0")/.."
source scripts/cargo.sh
make_folder "$packages"
if ! command -v dh > /dev/null; then
    echo "deb.sh: debhelper is missing: install the package debhelper" >&2
    exit 1
fi
trap 'debian/rules clean > /dev/null 2>&1' EXIT
PACKAGES=$packages debian/rules binary
