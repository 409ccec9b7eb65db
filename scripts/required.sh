#!/usr/bin/env bash
# Prints which tests must not be skipped on this machine, as assignments for env(1): those of `make test`,
# or with the argument `rest` those of `make test-all`. It asks the kernel and not squall, so that a failing
# detection is noticed.
set -euo pipefail

has() {
    local flag
    for flag in "$@"; do
        grep -qw -m1 "$flag" /proc/cpuinfo || return 1
    done
}

engines=portable,chacha20
has aes ssse3 && engines+=,aesni
has aes vaes avx2 && engines+=,vaes256
has aes vaes avx512f avx512bw && engines+=,vaes512
echo "SQUALL_REQUIRE_ENGINES=$engines"

# Forced kernel reseeds need root, and not that of a user namespace; seeing them needs Linux 6.11 and its vDSO.
oldest=$(printf '%s\n' 6.11 "$(uname -r)" | sort -V | head -n 1)
read -r _ _ users < /proc/self/uid_map
if [ "$(id -u)" -eq 0 ] && [ "$users" = 4294967295 ] && [ "$oldest" = 6.11 ] && [ "$(uname -m)" = x86_64 ] &&
    grep -qF '[vdso]' /proc/self/maps; then
    echo "SQUALL_REQUIRE_GUARDS=1"
fi

# Loop devices need root, and the kernel's consent.
if [ "$(id -u)" -eq 0 ] && [ -w /dev/loop-control ] && command -v losetup > /dev/null; then
    echo "SQUALL_REQUIRE_LOOP=1"
fi

[ "${1:-quick}" = rest ] || exit 0
echo "SQUALL_TEST_ALL=1"

# The rest needs the downloads of scripts/deps.sh, which may have been offline, but not in CI.
if [ -n "${CI:-}" ] && command -v apt-get > /dev/null; then
    echo "SQUALL_REQUIRE_PROGRAMS=1"
    if [ "$(uname -m)" = x86_64 ]; then
        echo "SQUALL_REQUIRE_LAB=1"
        echo "SQUALL_REQUIRE_BROWSER=1"
    fi
fi
