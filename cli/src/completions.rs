//! `squall completions`: prints the script that completes squall's commands and options in a shell.

use clap::CommandFactory;
use clap_complete::{Shell, generate};
use squall_tools::{Failure, output};

use crate::args::{Arguments, CompletedShell};

/// Prints the completions for `shell`.
///
/// # Errors
/// Standard output cannot be written.
pub fn print(shell: CompletedShell) -> Result<(), Failure> {
    let shell = match shell {
        CompletedShell::Bash => Shell::Bash,
        CompletedShell::Zsh => Shell::Zsh,
        CompletedShell::Fish => Shell::Fish,
    };
    let mut script = Vec::new();
    generate(shell, &mut Arguments::command(), "squall", &mut script);
    output::print(&String::from_utf8_lossy(&script))
}
