# What the hooks share. A name with a dot is no hook's.

# fail MESSAGE: says what could not be done, and ends the hook.
fail() {
    echo "$1" >&2
    exit 1
}

# keep_if_uncertain THING...: ends the hook if the machine may not have been cloned: then it keeps its identity.
keep_if_uncertain() {
    [ "${SQUALL_CLONE_CERTAIN-}" = 0 ] || return 0
    echo "$* kept: the kernel's log has lost messages, and none that was read tells of a clone"
    exit 0
}

# is_alive PROCESS: whether it has not ended. One that nobody has waited for yet (Z) has.
is_alive() {
    grep -q '^State:[[:space:]]*[^Z]' "/proc/$1/status" 2> /dev/null
}

# processes PROGRAM: the IDs of the processes that run it, without those in containers.
processes() {
    # The kernel keeps 15 characters.
    wanted=$(printf %.15s "$1")
    for process in /proc/[0-9]*; do
        if { read -r name < "$process/comm"; } 2> /dev/null && [ "$name" = "$wanted" ] \
            && [ "$process/ns/pid" -ef /proc/self/ns/pid ] && is_alive "${process#/proc/}"; then
            echo "${process#/proc/}"
        fi
    done
}

# title PROCESS: its command line, or what it shows in place of that; nothing if it has ended.
title() {
    { tr '\0' ' ' < "/proc/$1/cmdline"; } 2> /dev/null || true
}

is_by_systemd() {
    [ -d /run/systemd/system ]
}

# service reload|restart|revive SERVICE: has the service manager do that. What does not run is neither reloaded nor
# restarted, but revived: restarted as if it ran. What cannot reload is restarted.
service() {
    if is_by_systemd; then
        case $1 in
        reload) systemctl try-reload-or-restart -- "$2" ;;
        restart) systemctl try-restart -- "$2" ;;
        revive) systemctl restart -- "$2" ;;
        esac
        return
    fi
    # OpenRC and System V init.
    script=/etc/init.d/${2%.service}
    if ! [ -x "$script" ]; then
        echo "$2: cannot $1 it, because neither systemd runs nor is there $script: restart it" >&2
        return 1
    fi
    case $1 in
    reload | restart)
        # 3 means that it does not run (Linux Standard Base).
        "$script" status > /dev/null 2>&1 || [ $? -ne 3 ] || return 0
        ;;
    revive) set -- restart "$2" ;;
    esac
    "$script" "$1" || { [ "$1" = reload ] && "$script" restart; }
}
