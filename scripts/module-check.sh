# For scripts that check native modules of wheel-build.sh. They define a function `fail`.

# check_module MODULE: fails unless the module runs with glibc 2.17, unwinds with libgcc_s, with which glibc ends threads,
# needs none of the loader's reserve for variables of threads, is stripped, and contains no path of this machine.
check_module() {
    local module=$1 newest
    newest=$(readelf --version-info --wide "$module" | grep -o 'GLIBC_[0-9.]*' | sort -Vu | tail -n 1)
    [ "$(printf '%s\n' "$newest" GLIBC_2.17 | sort -V | tail -n 1)" = GLIBC_2.17 ] || fail "$module needs $newest"
    # The output is read to its end: with pipefail, an early end of grep would be a failure.
    readelf --dyn-syms --wide "$module" | grep -F ' UND _Unwind_Resume@GCC_' > /dev/null \
        || fail "$module does not unwind with libgcc_s"
    ! readelf --dynamic --wide "$module" | grep -F STATIC_TLS || fail "$module needs static TLS: few copies fit in a process"
    ! readelf --sections --wide "$module" | grep -E '\.(symtab|debug_info)' || fail "$module is not stripped"
    ! grep -qaF -e "$PWD" -e "${CARGO_HOME:-$HOME/.cargo}" "$module" || fail "$module names folders of this machine"
}
