# Prints what zsh offers after the line $2, with the completions in the folder $1: each word after `offered:`.
zmodload zsh/zpty
zpty inner zsh -f -i
zpty -w inner 'PS1=; fpath=('${(q)1}' $fpath); autoload -Uz compinit; compinit -D -u
offer() {
    compadd() {
        case " $* " in
            *" -"[OAD]" "*) builtin compadd "$@" ;;
            *) local -a offered; builtin compadd -A offered "$@"; print -rl -- offered:$^offered ;;
        esac
    }
    _main_complete
    print -r -- offered-all
    exit
}
zle -C offer complete-word offer; bindkey "^I" offer; print "is"-ready'
zpty -r inner shown '*is-ready*'
zpty -w -n inner "$2"$'\t'
zpty -r inner shown '*offered-all*'
print -r -- "$shown"
