#!/usr/bin/env bash
# Removes the files that install.sh has installed below a folder, with the same DESTDIR and LIBDIR:
#   uninstall.sh PREFIX
# Folders stay: others may use them.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/installed.sh

installed | while read -r file; do
    rm -f "${DESTDIR:-}$file"
done
