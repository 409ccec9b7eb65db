//! `squall completions`: prints the script that completes squall's commands, options and values in a shell.

use clap::builder::PossibleValue;
use clap::{Arg, Args, Command, ValueHint};
use clap_complete::{Shell, generate};
use squall_tool_base::{Failure, output};

#[derive(Args)]
#[command(
    after_help = "`make install` and the Debian package install these scripts. By hand:

  squall completions bash > ~/.local/share/bash-completion/completions/squall
  squall completions zsh > ~/.zfunc/_squall
      a folder that is in fpath (~/.zshrc)
  squall completions fish > ~/.config/fish/completions/squall.fish"
)]
pub struct CompletionsArguments {
    /// The shell
    #[arg(value_name = "SHELL", value_enum)]
    pub shell: SupportedShell,
}

/// The shells that completions are installed for.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub enum SupportedShell {
    Bash,
    Zsh,
    Fish,
}

/// Prints the completions of `command`, which is squall, for `shell`.
pub fn print(shell: SupportedShell, command: Command) -> Result<(), Failure> {
    // clap_complete completes positional arguments only for zsh.
    let (shell, positional) = match shell {
        SupportedShell::Bash => (Shell::Bash, include_str!("completions/run.bash")),
        SupportedShell::Zsh => (Shell::Zsh, ""),
        SupportedShell::Fish => (Shell::Fish, include_str!("completions/arguments.fish")),
    };
    let mut script = Vec::new();
    let mut command = with_values(command);
    generate(shell, &mut command, "squall", &mut script);
    output::print(&(String::from_utf8_lossy(&script) + positional))
}

/// Says what the values of each argument are.
fn with_values(command: Command) -> Command {
    command
        .mut_args(|arg| match values(&arg) {
            values if values.is_empty() => {
                let hint = hint(&arg);
                arg.value_hint(hint)
            }
            values => arg.value_parser(values),
        })
        .mut_subcommands(with_values)
}

/// The values that `arg` takes; empty if they are no fixed list.
fn values(arg: &Arg) -> Vec<PossibleValue> {
    let values = arg.get_possible_values().into_iter();
    let values = values.map(|value| match value.get_help().map(ToString::to_string) {
        // clap_complete does not escape quotation marks.
        Some(help) => value.help(help.replace('"', "'")),
        None => value,
    });
    values.collect()
}

/// The kind of value that `arg` takes, by the value's name in the help.
fn hint(arg: &Arg) -> ValueHint {
    let name = arg.get_value_names().and_then(<[_]>::first);
    match name.map_or("", |name| name) {
        "FILE" | "PATH" | "TARGET" | "DEVICE" | "DRIVE" | "REPORT" => ValueHint::FilePath,
        "DIR" | "DIRECTORY" => ValueHint::DirPath,
        "PROGRAM" => ValueHint::CommandWithArguments,
        _ => ValueHint::Other,
    }
}
