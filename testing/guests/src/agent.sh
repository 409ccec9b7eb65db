#!/usr/bin/busybox sh
# The first program of a guest: prepares the system, and executes the requests of the lab. Its shell is busybox's,
# which has its utilities built in: to start a program takes long on an emulated machine.
#
# Requests come over QEMU's virtio port, or the file that the kernel's parameter `agent` names, as lines
# `WORD NUMBER VALUE`, one at a time. Each is answered by a line
# `yes VALUE` or `no REASON`:
#
#   put LENGTH PATH   LENGTH bytes follow: they become the file
#   add LENGTH PATH   LENGTH bytes follow: they are appended to the file
#   get 0 PATH        VALUE is the file's length; its bytes follow
#   start JOB LENGTH  LENGTH bytes follow: a command, which runs in its own session and, in the background, ignores
#                     SIGINT
#   poll JOB          waits for the job's end for at most a second. VALUE is empty if it still runs; or else its exit
#                     status and the lengths of its output and its errors, which follow, and it is forgotten
#   kill JOB          ends it
#   forget JOB        removes its output

# Without udev, device mapper's programs make its devices' files. With it, jobs leave that to it.
export PATH=/usr/sbin:/usr/bin HOME=/root LC_ALL=C DM_DISABLE_UDEV=1
jobs=/run/jobs

mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mkdir -p "$jobs"
# A job that has ended writes a line to it.
mkfifo /run/ended
exec 4<>/run/ended
modules=$(cat /etc/modules)
# shellcheck disable=SC2086 # words
[ -z "$modules" ] || /usr/sbin/modprobe -a $modules

# Sends the line in $1. A job's end interrupts the shell's write to a serial line (SIGCHLD, EINTR), which has then sent
# nothing.
say() {
    until printf '%s\n' "$1" >&3; do :; done 2>/dev/null
}

yes() {
    say "yes $1"
}

# Answers yes if the exit status in $1 is 0, or else no with the error output in `said`.
answer() {
    if [ "$1" = 0 ]; then
        yes ''
    else
        say "no $(printf %s "$said" | tr '\n' ' ')"
    fi
}

put() {
    head -c "$number" <&3 >/run/put
    said=$({ cat /run/put >"$value"; } 2>&1)
    answer $?
}

add() {
    head -c "$number" <&3 >/run/put
    said=$({ cat /run/put >>"$value"; } 2>&1)
    answer $?
}

# Files in /proc show no length, and others may grow: what it sends is a copy.
get() {
    if cat "$value" 2>/run/said >/run/get; then
        stat -c 'yes %s' /run/get >&3
        cat /run/get >&3
    else
        said=$(cat /run/said)
        answer 1
    fi
}

start() {
    head -c "$value" <&3 >"$job.command"
    run "$job" 3>&- &
    yes ''
}

# busybox's setsid would prefer its own shell, which prefers its own utilities.
run() {
    cd /root || exit
    [ ! -S /run/udev/control ] || unset DM_DISABLE_UDEV
    # shellcheck disable=SC2016 # expanded by the session
    setsid /bin/sh -c 'echo $$ >"$1.session"; exec /bin/sh "$1.command"' sh "$1" \
        </dev/null >"$1.stdout" 2>"$1.stderr" 4>&-
    status=$?
    # Or else it was forgotten.
    [ ! -e "$1.command" ] || echo "$status" >"$1.status"
    echo >&4
}

poll() {
    until [ -s "$job.status" ]; do
        # shellcheck disable=SC3045 # busybox has it
        if ! read -t 1 -r _ <&4; then
            yes ''
            return
        fi
    done
    read -r status <"$job.status"
    if ! said=$(stat -c %s "$job.stdout" "$job.stderr" 2>&1); then
        answer 1
        return
    fi
    # shellcheck disable=SC2086 # words
    set -- $said
    yes "$status $1 $2"
    # What it left running may still write.
    head -c "$1" "$job.stdout" >&3
    head -c "$2" "$job.stderr" >&3
    forget
}

forget() {
    rm -f "$job".*
}

kill_job() {
    said=$({ kill -KILL "-$(cat "$job.session")"; } 2>&1)
    answer $?
}

# The port appears shortly after the kernel has started, and its file shortly before the driver lets anyone open it
# (ENXIO: add_port in drivers/char/virtio_console.c). `command` keeps a failed redirection from ending
# the shell. Until the host has opened the port, reading it finds an end.
[ -z "${agent-}" ] || stty -F "$agent" raw -echo
# shellcheck disable=SC2086 # a pattern
until set -- ${agent:-/dev/vport*}; [ -e "$1" ] && command exec 3<>"$1"; do
    sleep 0.01
done
yes ready
while :; do
    if ! read -r word number value <&3; then
        sleep 0.01
        continue
    fi
    job=$jobs/$number
    case $word in
    put | add | get | start | poll) "$word" ;;
    kill) kill_job ;;
    forget)
        forget
        yes ''
        ;;
    *)
        said="unknown request: $word"
        answer 1
        ;;
    esac
done
