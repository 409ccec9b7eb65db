#!/usr/bin/env bash
# Removes the files that install.sh has installed below a folder, with the same DESTDIR, LIBDIR and SUDO:
#   uninstall.sh PREFIX
# Folders stay: others may use them.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/installed.sh

# Prints those of the installed files that are there.
present() {
    installed | while read -r file; do
        if change test -e "${DESTDIR:-}$file" -o -L "${DESTDIR:-}$file"; then echo "$file"; fi
    done
}

present | check_folders
present | while read -r file; do
    change rm -f "${DESTDIR:-}$file"
done
update_linker_cache
