#!/usr/bin/env bash
# Proves properties of squall.c and squall_aes.h by CBMC, a model checker for C: proof.c says which, and kernel.h what
# is assumed. If one does not hold, prints the failed assertions, and the steps and values that lead to the first.
#
#     kernel/proof/run.sh                          the proofs
#     kernel/proof/run.sh --control                each of the faults below, which must make an assertion fail
#     kernel/proof/run.sh --control "key stays"    the faults whose names have these words, with steps and values
#
# Needs x86-64 and gcc; scripts/lab-deps.sh fetches CBMC.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../.."
source scripts/ignored.sh
if [ $# -gt 2 ] || { [ $# -gt 0 ] && [ "$1" != --control ]; }; then
    echo "usage: run.sh [--control [WORDS]]" >&2
    exit 2
fi
words=${2:-}

what="proofs of squall's kernel module"
[ "$(uname -m)" = x86_64 ] || {
    ignored "$what" "CBMC is the one for x86-64"
    exit
}
command -v gcc > /dev/null || {
    missing "$what" "they need gcc"
    exit
}
tree=$(scripts/lab-deps.sh cbmc 2>&1) || {
    missing "$what" "scripts/lab-deps.sh cbmc: ${tree##*$'\n'}"
    exit
}
tree=${tree##*$'\n'}
tree=${tree% *}
work=$(mktemp -d)
: > "$work/held"
trap 'rm -rf "$work"' EXIT

# tool NAME ARGUMENTS...
tool() {
    local libraries=$tree/usr/lib/x86_64-linux-gnu
    "$libraries/ld-linux-x86-64.so.2" --library-path "$libraries:$tree/usr/lib" "$tree/usr/bin/$1" "${@:2}"
}

declare -A machines=(
    [x86-64]="-mno-sse -U__SSE__ -DCONFIG_X86_64 -DCONFIG_KVM_GUEST -DLINUX_VERSION_CODE=0x060c00"
    [arm64]="-DCONFIG_ARM64 -DLINUX_VERSION_CODE=0x060c00"
    [arm64-6.19]="-DCONFIG_ARM64 -DLINUX_VERSION_CODE=0x061300"
)

# copy FOLDER [EXPRESSION]: the sources, changed by sed, with empty headers of Linux. The two loops of reads begin by
# proof.c's macros.
copy() {
    local header
    mkdir "$1"
    cp "$here"/../squall{.c,_aes.h,_vmgenid.h} "$1"
    sed -n 's/^#include <\(.*\)>$/\1/p' "$1"/squall* | sort -u | while read -r header; do
        mkdir -p "$1/empty/${header%/*}"
        : > "$1/empty/$header"
    done
    if [ -n "${2:-}" ]; then
        sed -i "$2" "$1"/squall{.c,_aes.h}
        ! cmp -s "$1/squall.c" "$here/../squall.c" || ! cmp -s "$1/squall_aes.h" "$here/../squall_aes.h" || {
            echo "run.sh: the change does not apply" > "$1/log"
            return 1
        }
    fi
    sed -i '
        s/^\twhile (iov_iter_count(to)) {$/\tfor (ANY_PIECE(); iov_iter_count(to); NEXT_PIECE()) {/
        s/^\tfor (attempt = 1;; attempt++) {$/\tfor (attempt = 1, ANY_ATTEMPT();; attempt++, NEXT_ATTEMPT()) {/
    ' "$1/squall.c"
    [ "$(grep -cE 'ANY_(PIECE|ATTEMPT)' "$1/squall.c")" = 2 ] || {
        echo "run.sh: a loop of squall.c is not where it was" > "$1/log"
        return 1
    }
}

# compile FOLDER MACHINE HARNESS
compile() {
    local sub_word=any_word
    [ "$3" = reads ] || sub_word=any_s_box
    # shellcheck disable=SC2086
    tool goto-cc ${machines[$2]} -I"$1" -I"$1/empty" --function "proof_of_$3" -o "$1/compiled" "$here/proof.c" &&
        tool goto-instrument --replace-calls "sub_word:$sub_word" "$1/compiled" "$1/program"
} > "$1/log" 2>&1

# check FOLDER [KIND]: whether all assertions hold, or those whose text begins so
check() {
    local assertions=()
    if [ -n "${2:-}" ]; then
        mapfile -t assertions < <(tool cbmc --show-properties "$1/program" | awk -v "kind=^  $2" '
            /^Property / { at = NR; name = substr($2, 1, length($2) - 1) }
            NR == at + 2 && $0 ~ kind { print "--property"; print name }')
    fi
    tool cbmc --trace --slice-formula --unwind 61 --unwindset read_long.0:2,read_random.0:2 --unwinding-assertions \
        "${assertions[@]}" "$1/program" > "$1/verdict" 2>&1
}

# Prints what failed, without the tool's name for it.
failures() { sed -n 's/^\[.*\] line [0-9]* \(.*\): FAILURE$/\1/p' "$1/verdict" | sort -u; }

# Prints a counterexample: the module's lines that set a variable, and what the model of the kernel sets. Assertions
# between two runs of a loop say least: they come last.
counterexample() {
    awk '
        /: FAILURE$/ && (!failed || is_loop) { failed = substr($1, 2, length($1) - 2) ":"; is_loop = / loop: / }
        /^Trace for / { on = $3 == failed }
        !on { next }
        /^State / { path = file = $4; sub(/.*\//, "", file); routine = $6; line = $8; next }
        /^Violated/ { ends = 3 }
        ends && !--ends { sub(/^ +/, ""); print "    but not: " $0; exit }
        ends || !/^  [^ ]*=/ { next }
        {
            name = value = substr($0, 3)
            sub(/=.*/, "", name)
            sub(/^[^=]*=/, "", value)
            sub(/ \([01{}, ]+\)$/, "", value)
            if (value ~ /^-?[0-9]/) sub(/[ul]+$/, "", value)
        }
        name ~ /^(goto_symex|tmp_)|nondet/ || (routine == "havoc" && value ~ /^(0|FALSE|NULL)$/) { next }
        file !~ /^squall/ && name !~ /^ghost\./ && routine !~ /^proof_of/ { next }
        {
            if (sub(/^return_value_/, "", name)) name = name "()"
            gsub(/.*\$\$|\$[0-9]+/, "", name)
            if (file ":" line != last) {
                last = file ":" line
                for (i = 0; i < line && (getline text < path) > 0; i++) ;
                close(path)
                sub(/^[ \t]+/, "", text)
                printf "    %-17s%s\n", last, text
            }
            print "                         " name " = " value
        }' "$1/verdict"
}

held() { echo "held: $*" | tee -a "$work/held"; }

# prove MACHINE HARNESS
prove() {
    local folder=$work/$1-$2
    if copy "$folder" && compile "$folder" "$1" "$2" && check "$folder"; then
        held "$1: $2: $(grep -c ': SUCCESS$' "$folder/verdict") assertions"
    else
        echo "FAILED: $1: $2"
        if grep -q ': FAILURE$' "$folder/verdict" 2> /dev/null; then
            failures "$folder" | sed 's/^/    /'
            counterexample "$folder"
        else
            tail -n 5 "$folder"/{log,verdict} 2> /dev/null
        fi
    fi
}

# try ASSERTION WHAT EXPRESSION [MACHINE [HARNESS]]: whether that assertion fails in a copy that sed has changed
try() {
    local folder
    folder=$(mktemp -d -p "$work")/copy
    if copy "$folder" "$3" && compile "$folder" "${4:-x86-64}" "${5:-reads}" && ! check "$folder" "$1" &&
        [ -n "$(failures "$folder")" ]; then
        held "control: $2: $(failures "$folder" | head -n 1)"
        [ -z "$words" ] || counterexample "$folder"
    else
        echo "FAILED: control: $2: no failure of $1"
        tail -n 5 "$folder"/{log,verdict} 2> /dev/null
    fi
    rm -r "$folder"
}

# at_once COMMAND...: as many at the same time as there are CPUs
at_once() {
    while [ "$(jobs -rp | wc -l)" -ge "$(nproc)" ]; do wait -n; done
    started=$((started + 1))
    "$@" &
}

# fault ...: tries it, if it has the words
fault() {
    [[ $2 != *"$words"* ]] || at_once try "$@"
}

started=0
if [ $# = 0 ]; then
    for machine in x86-64 arm64 arm64-6.19; do at_once prove "$machine" reads; done
    at_once prove x86-64 expand_key
else
    copied='done <= 0 || !is_over(number)'

    fault memory: "the buffer has no whole strides" 's/kmalloc(round_up(size, AES_STRIDE)/kmalloc(size/'
    fault memory: "the buffer is not freed" '/^\tkfree_sensitive(bytes);/d'
    fault 'free argument' "the buffer is freed twice" 's/^\tkfree_sensitive(bytes);/&\n&/'
    fault memory: "an allocation that failed is used" 's/if (!bytes)$/if (false)/'
    fault 'array .words. upper bound' "a word more than there is place for" 's/#define SHORT 64/#define SHORT 65/'
    fault memory: "a word that was not drawn" 's/i = 0; i \* 8 < len/i = 1; i * 8 < len + 8/'
    fault 'array .keys. upper bound' "the instruction's words exceed the key" \
        's/i < 8 && !IS_ENABLED/i < 80 \&\& !IS_ENABLED/'

    fault erasure: "the key stays" '/^\tmemzero_explicit(&state, /d'
    fault erasure: "a pointer's size of the key is erased" 's/sizeof(state));/sizeof(\&state));/'
    fault erasure: "the key is erased by what the compiler may omit" 's/memzero_explicit(&state, /memset(\&state, 0, /'
    fault erasure: "a fault returns at once" \
        's/copied < len || is_over(number)/copied < len) return done; if (is_over(number)/'
    fault erasure: "freed memory has keystream" 's/kfree_sensitive/kfree/'
    fault erasure: "words stay" '/^\tmemzero_explicit(words, /d'
    fault erasure: "a byte of the words stays" 's/memzero_explicit(words, len)/memzero_explicit(words, len - 1)/'
    fault erasure: "a word of the random instruction stays" '/^\tmemzero_explicit(&word, /d'
    fault erasure: "saved vector registers stay" 's/memzero_explicit(&saved, sizeof(saved));//' arm64-6.19

    fault count: "a short copy counts as a long one" 's/done += copied/done += len/'
    fault count: "discarded bytes stay in the iterator" '/iov_iter_revert/d'
    fault count: "less is reverted than was copied" 's/iov_iter_revert(to, done)/iov_iter_revert(to, done - 1)/'
    fault count: "a fault at the first byte is the end" 's/return done ?: -EFAULT/return done/'
    fault count: "an old piece is copied after a new one" \
        's/copy_to_iter(bytes, len, to)/copy_to_iter(bytes, size, to)/'
    fault count: "an error after bytes" 's/if (copied < len || /if (copied < len) done = 0; if (/'

    fault waits: "a reader that must not wait allocates" 's/waits ? GFP_KERNEL :/true ? GFP_KERNEL :/'
    fault waits: "a reader that must not wait reseeds" 's/catch_up(waits)/catch_up(true)/'
    fault waits: "a reader that must not wait waits for the RNG" 's/if (!waits || kiocb/if (kiocb/'

    fault key: "a key makes twice as much" 's/#define KEY_LIFE (16/#define KEY_LIFE (32/'
    fault key: "a key lives for two reads" \
        's/^\tstruct aes_ctr state;/\tstatic&/; s/needs_key = done % KEY_LIFE == 0/needs_key = !state.keys[0]/'
    fault key: "a block number that is not 0" '/^\tmemset(state, 0, /d'
    fault key: "a key is not expanded" 's/if (has_new_key)/if (false)/'
    fault key: "16 bytes of the kernel's RNG" 's/get_random_bytes(state->keys, 32)/get_random_bytes(state->keys, 16)/'
    fault key: "round keys without the last word" 's/i < AES_WORDS; i++/i < AES_WORDS - 1; i++/' x86-64 expand_key
    fault dereference "round keys with one word more" 's/i < AES_WORDS; i++/i <= AES_WORDS; i++/' x86-64 expand_key
    fault key: "a rotation the other way" 's/ror32(sub_word(word), 8)/ror32(sub_word(word), 24)/' x86-64 expand_key

    fault clones: "nothing is compared" "s/$copied/true/"
    fault clones: "compared before the copy" \
        "s/^\t\tnumber = atomic.*/&\n\t\tbool over = is_over(number);/; s/$copied/done <= 0 || !over/"
    fault clones: "the number is read after the bytes" \
        "s/^\t\tnumber = atomic.*/\t\tnumber = 0;/; s/^\t\tif ($copied/\t\tnumber = atomic_long_read(\&reseeds);\n&/"
    fault clones: "the number is not compared" 's/return !is_noted || .*/return !is_noted;/'
    fault clones: "the signal is not compared" 's/return !is_noted || /return /'
    fault clones: "vmgenid's ID is not a signal" 's/signal ^= READ_ONCE.*/;/'
    fault clones: "kvm-clock's record is not a signal" 's/signal = record_here()/signal = 0/'
    fault clones: "noted before the reseed" '/^\tflush_work/d'
    fault clones: "noted before the reseed is counted" \
        '/^static bool catch_up/,/^}/{/atomic_long_inc/{h;d};/smp_store_release/G}'
    fault clones: "a reseed is not counted" '/^static bool catch_up/,/^}/{/atomic_long_inc/d}'
    fault clones: "a reseed without the signal" '/^\tadd_device_randomness/d'

    fault context: "the CPU may change between signal and note" '/preempt_disable();/d; /preempt_enable();/d'
    fault context: "preemption stays disabled" '/^\tput_cpu_ptr/d'
    fault context: "AES without the vector registers" '/^\taes_begin();/d; /^\taes_end();/d'
    fault context: "vector registers are used for 8 KiB" \
        's/#define PIECE 4096/#define PIECE 8192/; s/(16 \* PIECE)/(8 * PIECE)/'
    fault context: "vector registers are kept" '/^\taes_end();/d'

    fault load: "an open file is kept" 's/goto close;/goto put;/'
    fault load: "the notifier is kept" 's/goto unregister;/goto close;/'
    fault load: "unloading keeps the file" '/^static void __exit/,/^}/{/fput/d;/if (urandom)/d}'
    [ "$started" -gt 0 ] || {
        echo "run.sh: no fault has these words: $words" >&2
        exit 2
    }
fi
wait
[ "$(wc -l < "$work/held")" = "$started" ]
