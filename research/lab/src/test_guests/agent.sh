#!/bin/sh
# The first program of a guest: prepares the system, and executes the requests of the lab.
#
# Requests come over the virtio port as lines `WORD NUMBER PATH`, one at a time. Each is answered by a line
# `yes VALUE` or `no REASON`:
#
#   put LENGTH PATH   LENGTH bytes follow: they become the file
#   get 0 PATH        VALUE is the file's length; its bytes follow
#   start JOB         runs /run/command, which an earlier `put` has written, in its own session
#   poll JOB          VALUE is the job's exit status once it has ended, or else nothing
#   kill JOB          ends it
#   forget JOB        removes its output

# Without udev, device mapper's programs make its devices' files. With it, jobs leave that to it.
export PATH=/usr/sbin:/usr/bin HOME=/root LC_ALL=C DM_DISABLE_UDEV=1
jobs=/run/jobs

mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mkdir -p "$jobs"
modules=$(cat /etc/modules)
# shellcheck disable=SC2086 # words
[ -z "$modules" ] || modprobe -a $modules

yes() {
    printf 'yes %s\n' "$1" >&3
}

# Answers yes if the exit status in $1 is 0, or else no with the error output in `said`.
answer() {
    if [ "$1" = 0 ]; then
        yes ''
    else
        printf 'no %s\n' "$(printf %s "$said" | tr '\n' ' ')" >&3
    fi
}

put() {
    head -c "$number" <&3 >/run/put
    said=$({ cat /run/put >"$path"; } 2>&1)
    answer $?
}

get() {
    if said=$({ cat "$path" >/run/get; } 2>&1); then
        yes "$(stat -c %s /run/get)"
        cat /run/get >&3
    else
        answer 1
    fi
}

start() {
    mkdir "$jobs/$number" && mv /run/command "$jobs/$number"
    run "$jobs/$number" 3>&- &
    yes ''
}

# busybox's setsid would prefer its own shell, which prefers its own utilities.
run() {
    cd /root || exit
    [ ! -S /run/udev/control ] || unset DM_DISABLE_UDEV
    # shellcheck disable=SC2016 # expanded by the session
    setsid /bin/sh -c 'echo $$ >"$1/session"; exec /bin/sh "$1/command"' sh "$1" \
        </dev/null >"$1/stdout" 2>"$1/stderr"
    echo $? >"$1/status"
}

poll() {
    status=
    [ ! -s "$jobs/$number/status" ] || read -r status <"$jobs/$number/status"
    yes "$status"
}

kill_job() {
    said=$({ kill -s KILL -- "-$(cat "$jobs/$number/session")"; } 2>&1)
    answer $?
}

# The port appears shortly after the kernel has started, and its file shortly before the driver lets anyone open it
# (ENXIO: add_port in drivers/char/virtio_console.c). `command` keeps a failed redirection from ending
# the shell. Until the host has opened the port, reading it finds an end.
until set -- /dev/vport*; [ -e "$1" ] && command exec 3<>"$1"; do
    sleep 0.01
done
yes ready
while :; do
    if ! read -r word number path <&3; then
        sleep 0.01
        continue
    fi
    case $word in
    put | get | start | poll) "$word" ;;
    kill) kill_job ;;
    forget)
        rm -rf "${jobs:?}/$number"
        yes ''
        ;;
    *)
        said="unknown request: $word"
        answer 1
        ;;
    esac
done
