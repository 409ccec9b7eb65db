#!/usr/bin/env bash
# Tests squall for Node.js: builds the npm package target/node/squall-VERSION.tgz with modules for x64 and arm64,
# installs it in an empty folder, without a compiler and offline, and runs bindings/node/test with that.
# What cannot be built or run here is ignored with the reason.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/ignored.sh
source scripts/module-check.sh

fail() {
    echo "error: node.sh: $*" >&2
    exit 1
}

source scripts/cargo.sh
if ! command -v npm > /dev/null || ! node -e 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)'; then
    ignored "squall for Node.js" "there is no Node.js 20 or later with npm"
    exit
fi
if ! tools=$(scripts/wheel-tools.sh); then
    missing "squall for Node.js" "zig, which links its modules, could not be installed"
    exit
fi
source scripts/wheel-build.sh

here=$target/node
package=$here/package installed=$here/installed
rm -rf "$here"
mkdir -p "$package" "$installed/test"

# build CPU ARCH COMPILER [RUN...]: builds the module for a CPU, which process.arch calls ARCH, by RUN.
build() {
    local module=$package/squall.linux-$2.node
    build_native squall-node "$module" "$1" "${@:3}"
    check_module "$module"
}

case $(uname -m) in
x86_64) build x86_64 x64 cc ;;
aarch64) build aarch64 arm64 cc ;;
*)
    ignored "squall for Node.js" "there are modules for x64 and arm64 only"
    exit
    ;;
esac
if [ "$(uname -m)" = x86_64 ]; then
    if [ "$(id -u)" -ne 0 ] || ! scripts/arm64-root.sh --made > /dev/null 2>&1; then
        ignored "the module for Node.js on arm64" "it is built in a root directory that make test-arm64 makes, as root"
    else
        cargo fetch --quiet --locked
        PATH=/usr/sbin:/usr/bin:/sbin:/bin:$PATH \
            build aarch64 arm64 "scripts/arm64.sh aarch64-linux-gnu-gcc" scripts/arm64.sh
    fi
fi

# Bundlers, which the tests try, from npm: 70 MB.
packages=(esbuild@0.28.2 webpack@5.113.0 @vercel/ncc@0.45.0 node-loader@2.1.0)
bundlers=$target/bundlers
if [ "$(cat "$bundlers/made-of" 2> /dev/null)" != "${packages[*]}" ]; then
    rm -rf "$bundlers"
    mkdir "$bundlers"
    npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$bundlers" "${packages[@]}" \
        && echo "${packages[*]}" > "$bundlers/made-of"
fi
if [ -e "$bundlers/made-of" ]; then
    export SQUALL_BUNDLERS=$bundlers
else
    missing "bundles with squall for Node.js" "npm could not install ${packages[*]}"
fi

cp LICENSE-* bindings/node/{*.js,*.d.ts,package.json,README.md} "$package"
npm pack --silent --pack-destination "$here" "$package"
(
    cd "$installed"
    npm install --silent --offline --ignore-scripts --no-audit --no-fund "$here"/squall-*.tgz
    cp "$OLDPWD"/bindings/node/test/*.{js,c} test
    node --version
    node --test --test-reporter=spec test/*.test.js
)
