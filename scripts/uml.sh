#!/usr/bin/env bash
# Puts user-mode Linux, Debian sid's kernel that runs as a process, into ~/.cache/squall-uml, with its modules and
# the C library that it needs. Prints that directory. If it fails, the last line on standard error says why.
set -euo pipefail

cache=${XDG_CACHE_HOME:-$HOME/.cache}/squall-uml
part=$cache.part
libraries=$cache/usr/lib/x86_64-linux-gnu

if [ "$(uname -m)" != x86_64 ]; then
    echo "user-mode Linux is made for x86-64" >&2
    exit 1
fi
for tool in apt-get dpkg-deb patchelf; do
    if ! command -v "$tool" > /dev/null; then
        echo "user-mode Linux needs $tool, which is not installed" >&2
        exit 1
    fi
done

fetch() {
    mkdir -p "$part/lists/partial"
    cd "$part"
    # shellcheck disable=SC2016 # apt's own
    mirror=$(apt-get indextargets --format '$(REPO_URI)' "Codename: $(. /etc/os-release && echo "$VERSION_CODENAME")" \
        "Component: main" "Created-By: Packages" | sed -n 1p)
    [ -n "$mirror" ]
    echo "deb $mirror sid main" > sources.list
    apt=(apt-get -q -o "Dir::Etc::SourceList=$part/sources.list" -o Dir::Etc::SourceParts=/dev/null
        -o "Dir::State::Lists=$part/lists" -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache=
        -o APT::Sandbox::User= -o Acquire::Languages=none)
    "${apt[@]}" update
    "${apt[@]}" download user-mode-linux libc6 busybox-static
    for package in *.deb; do dpkg-deb -x "$package" .; done
    patchelf --set-interpreter "$libraries/ld-linux-x86-64.so.2" --set-rpath "$libraries" usr/bin/linux.uml
    rm -r -- *.deb lists
    mv -T "$part" "$cache"
}

exec 9> "$cache.lock"
flock 9
if [ ! -x "$cache/usr/bin/linux.uml" ]; then
    rm -rf "$part" "$cache"
    # In the background, because bash ignores `set -e` on the left of `||`.
    fetch > "$cache.log" 2>&1 &
    if ! wait "$!"; then
        echo "user-mode Linux cannot be fetched: $(grep '^E:' "$cache.log" | tail -n 1)" >&2
        exit 1
    fi
fi
echo "$cache"
