#!/usr/bin/env bash
# Measures in user space how fast the kernel's own ChaCha20 is, from a tree of Linux's source: the portable
# chacha20_block(), and chacha_crypt() with the assembly of lib/crypto/x86. Takes ten seconds.
# Needs gcc 12 or later.
#
#     kernel/upstream/harness/run.sh SOURCE
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "${1:?usage: run.sh SOURCE}" && pwd)
[ "$(uname -m)" = x86_64 ] || {
    echo "ignored: harness: it assembles lib/crypto/x86, for x86-64"
    exit 0
}
version=$(gcc -dumpversion)
[ "${version%%.*}" -ge 12 ] || {
    echo "run.sh: gcc 12 or later is needed for -ftrivial-auto-var-init, this is $version" >&2
    exit 1
}
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
chacha=$source/lib/crypto
files=("$chacha"/{chacha.c,chacha-block-generic.c,x86/chacha.h,x86/chacha-*.S} "$source/include/crypto/chacha.h")
sed -nE 's/^#include <(.*)>$/\1/p' "${files[@]}" | grep -v '^crypto/chacha.h$' | sort -u | while read -r header; do
    mkdir -p "$build/empty/$(dirname "$header")"
    : > "$build/empty/$header"
done
mkdir -p "$build/crypto"
cp "$source/include/crypto/chacha.h" "$build/crypto"
# The kernel's own flags where they matter to speed: its C code has no vector instructions, and Debian's kernel clears
# variables on the stack.
kernel=(-O2 -g0 -fno-strict-aliasing -fno-pie -mno-80387 -mno-mmx -mno-sse -mno-sse2 -mno-avx -mpreferred-stack-boundary=3
    -ftrivial-auto-var-init=zero)
include=(-I"$build" -I"$build/empty" -I"$chacha/x86" -include "$here/kernel.h")
objects=()
for file in "$chacha"/{chacha.c,chacha-block-generic.c} "$chacha"/x86/chacha-*.S; do
    object=$build/$(basename "$file").o
    case $file in
    *.S) gcc -D__ASSEMBLY__ "${include[@]}" -c "$file" -o "$object" ;;
    *) gcc "${kernel[@]}" -DCONFIG_CRYPTO_LIB_CHACHA_ARCH "${include[@]}" -c "$file" -o "$object" ;;
    esac
    objects+=("$object")
done
gcc -O2 -Wall -Wextra -fno-stack-protector -fno-pie -no-pie -z noexecstack "${include[@]}" "$here/main.c" "${objects[@]}" -o "$build/harness"
"$build/harness"
