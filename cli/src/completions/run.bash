
# The program of `squall run` and its arguments are completed as without squall.
_squall_run() {
    local word=2
    if [[ ${COMP_WORDS[1]} == run ]]; then
        while (( word < COMP_CWORD )); do
            case ${COMP_WORDS[word]} in
                --) (( word++ )); break ;;
                --counters | --library)
                    [[ ${COMP_WORDS[word + 1]} != "=" ]] || (( word++ ))
                    (( word += 2 ))
                    ;;
                -*) (( word++ )) ;;
                *) break ;;
            esac
        done
        if (( word < COMP_CWORD )) && declare -F _command_offset > /dev/null; then
            _command_offset "$word"
            return
        elif (( word == COMP_CWORD )) && [[ $2 != -* ]]; then
            COMPREPLY=($(compgen -c -- "$2"))
            return
        fi
    fi
    _squall "$@"
}
if [[ "${BASH_VERSINFO[0]}" -eq 4 && "${BASH_VERSINFO[1]}" -ge 4 || "${BASH_VERSINFO[0]}" -gt 4 ]]; then
    complete -F _squall_run -o nosort -o bashdefault -o default squall
else
    complete -F _squall_run -o bashdefault -o default squall
fi
