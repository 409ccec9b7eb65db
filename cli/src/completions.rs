//! `squall completions`: prints the script that completes squall's commands and options in a shell.

use clap::CommandFactory;
use clap_complete::{Shell, generate};
use squall_tools::{Failure, output};

use crate::args::{Arguments, SupportedShell};

/// Prints the completions for `shell`.
///
/// # Errors
/// Standard output cannot be written.
pub fn print(shell: SupportedShell) -> Result<(), Failure> {
    let shell = match shell {
        SupportedShell::Bash => Shell::Bash,
        SupportedShell::Zsh => Shell::Zsh,
        SupportedShell::Fish => Shell::Fish,
    };
    let mut script = Vec::new();
    generate(shell, &mut Arguments::command(), "squall", &mut script);
    output::print(&String::from_utf8_lossy(&script))
}
