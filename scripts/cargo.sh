# For scripts that build: `target` is the folder that cargo builds in, and without cargo the script ends.
command -v cargo > /dev/null || {
    echo "${0##*/}: there is no cargo on the PATH: run make as the user who has Rust, not by sudo" \
        "(make install SUDO=sudo builds as you and copies as root)" >&2
    exit 1
}
target=$(cargo metadata --no-deps --format-version 1 | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')

# make_folder FOLDER: for what is built. The script ends if it cannot write there.
make_folder() {
    mkdir -p "$1" 2> /dev/null && [ -w "$1" ] && return
    echo "${0##*/}: $1 cannot be written to" >&2
    exit 1
}
