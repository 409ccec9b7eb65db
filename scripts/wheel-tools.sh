#!/usr/bin/env bash
# Makes a virtual environment, target/wheel-tools, with the programs that build and check Python packages,
# and prints its path. They come from PyPI; with PyPI out of reach, an environment that was made before serves.
set -euo pipefail
cd "$(dirname "$0")/.."

# zig is a C compiler whose linker knows the symbols of each glibc; 400 MB unpacked.
tools=(maturin==1.16.0 ziglang==0.17.1 auditwheel==6.8.2 twine==7.0.0)

fail() {
    echo "wheel-tools.sh: $*" >&2
    exit 1
}

source scripts/cargo.sh
folder=$target/wheel-tools
mkdir -p "${folder%/*}"
exec 9> "$folder.lock"
flock 9
[ "$(cat "$folder/made-of" 2> /dev/null)" != "${tools[*]}" ] || { echo "$folder"; exit; }
python3 -c 'import sys, ensurepip; sys.exit(sys.version_info < (3, 11))' 2> /dev/null \
    || fail "Python 3.11 or later with venv is missing: install python3 and python3-venv"
rm -rf "$folder"
echo "wheel-tools.sh: installs ${tools[*]} from PyPI into $folder: 500 MB unpacked, once" >&2
{ python3 -m venv "$folder" && "$folder/bin/pip" install --disable-pip-version-check "${tools[@]}"; } >&2 \
    || fail "pip could not install ${tools[*]}"
echo "${tools[*]}" > "$folder/made-of"
echo "$folder"
