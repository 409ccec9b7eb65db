# The program of `squall run` and its arguments are completed as without squall. The options of fish's function end at ''.
complete -c squall -n "__fish_squall_using_subcommand run" -x -a "(__fish_complete_subcommand --fcs-skip=2 '' --counters --library)"
# clap_complete offers no values for positional arguments.
complete -c squall -n "__fish_squall_using_subcommand completions" -x -a "bash zsh fish"
