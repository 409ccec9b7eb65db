#!/usr/bin/env bash
# Builds target/java/squall.jar, with native libraries for x86-64 and aarch64, and tests it with each JDK that it finds:
#
#     scripts/java.sh
#     scripts/java.sh bench    compares the speed with the JDK's own generators instead
#     scripts/java.sh jar      stops at the jar, and prints its path
#
# What cannot be built or run here is ignored with the reason.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/ignored.sh
source scripts/module-check.sh

fail() {
    echo "error: java.sh: $*" >&2
    exit 1
}

source scripts/cargo.sh
if ! command -v javac > /dev/null || [ "$(javac -version 2>&1 | sed 's/javac \([0-9]*\).*/\1/')" -lt 11 ]; then
    ignored "squall for Java" "there is no JDK of Java 11 or later"
    exit
fi
if ! tools=$(scripts/wheel-tools.sh); then
    missing "squall for Java" "zig, which links its libraries, could not be installed"
    exit
fi
source scripts/wheel-build.sh

here=$target/java
classes=$here/classes tests=$here/tests generated=$here/source/org/squallrng
rm -rf "$here"
mkdir -p "$classes" "$tests" "$generated"

# build CPU OS_ARCH COMPILER [RUN...]: builds the library for a CPU, which Java's os.arch calls OS_ARCH, by RUN.
build() {
    local module=$classes/org/squallrng/linux-$2/libsquall_java.so
    build_native squall-java "$module" "$1" "${@:3}"
    check_module "$module"
}

machine=$(uname -m)
case $machine in
x86_64)
    build x86_64 amd64 cc
    if [ "$(id -u)" -ne 0 ] || ! scripts/arm64-root.sh --made > /dev/null 2>&1; then
        ignored "the library for Java on aarch64" "it is built in a root directory that make test-arm64 makes, as root"
    else
        cargo fetch --quiet --locked
        PATH=/usr/sbin:/usr/bin:/sbin:/bin:$PATH \
            build aarch64 aarch64 "scripts/arm64.sh aarch64-linux-gnu-gcc" scripts/arm64.sh
    fi
    ;;
aarch64) build aarch64 aarch64 cc ;;
*)
    ignored "squall for Java" "there are libraries for x86-64 and aarch64 only"
    exit
    ;;
esac

version=$(sed -n '/^\[workspace.package\]/,/^$/s/^version = "\(.*\)"/\1/p' Cargo.toml)
cat > "$generated/Version.java" << END
package org.squallrng;

/** The version of squall, which scripts/java.sh takes from Cargo.toml. */
final class Version {
    static final String VERSION = "$version";

    private Version() {}
}
END
find bindings/java/java "$here/source" -name '*.java' -exec javac --release 11 -Xlint:all -Werror -d "$classes" {} +
cp -r bindings/java/java/META-INF "$classes"
cp LICENSE-* "$classes/META-INF"
echo 'Premain-Class: org.squallrng.Agent' > "$here/manifest"
jar --create --file "$here/squall.jar" --manifest "$here/manifest" -C "$classes" .
if [ "${1:-}" = jar ]; then
    echo "$here/squall.jar"
    exit
fi
javac --release 11 -Xlint:all -Werror -cp "$here/squall.jar" -d "$tests" bindings/java/test/org/squallrng/*.java

# The compilers of the JDK in PATH and of Debian's packages.
compilers() { printf '%s\n' "$(command -v javac)" /usr/lib/jvm/*/bin/javac | xargs -n 1 readlink -e | sort -u; }

for compiler in $(compilers); do
    home=${compiler%/bin/javac}
    java=("$home/bin/java" -cp "$tests:$here/squall.jar")
    "$home/bin/java" -version 2>&1 | head -n 1
    [ "$("$home/bin/java" -XshowSettings:properties -version 2>&1 | sed -n 's/ *java.specification.version = \([0-9]*\).*/\1/p')" -lt 24 ] \
        || java+=(--enable-native-access=ALL-UNNAMED)
    if [ "${1:-}" = bench ]; then
        "${java[@]}" org.squallrng.Bench
    elif command -v cc > /dev/null; then
        cc -Wl,-z,now -I"$home/include" -I"$home/include/linux" -o "$here/wiped" bindings/java/test/wiped.c -ldl -lpthread
        "$here/wiped" "$classes/org/squallrng/linux-${machine/x86_64/amd64}/libsquall_java.so" \
            || fail "the native library leaves random bytes on the stack"
        cc -shared -fPIC -o "$here/libfailing_library.so" bindings/java/test/failing_library.c
        "${java[@]}" org.squallrng.SquallTest "$here/squall.jar" "$tests" "$here/libfailing_library.so"
    else
        missing "squall for Java" "there is no C compiler"
    fi
done
