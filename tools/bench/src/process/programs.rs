//! Programs that write random bytes to standard output, where they are installed.

use std::path::Path;
use std::process::{Command, Stdio};

use super::child::PROGRAM;

/// A program that writes random bytes to standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// dd of /dev/urandom.
    Dd,
    /// OpenSSL's AES-128 in counter mode over zeros.
    Openssl,
    /// This program as `squall stream`.
    Squall,
}

impl Program {
    pub const ALL: [Program; 3] = [Program::Dd, Program::Openssl, Program::Squall];

    /// Its name as a source.
    pub fn name(self) -> &'static str {
        match self {
            Program::Dd => "dd-urandom",
            Program::Openssl => "openssl-enc",
            Program::Squall => "squall-stream",
        }
    }

    fn file(self) -> &'static str {
        match self {
            Program::Dd => "dd",
            Program::Openssl => "openssl",
            Program::Squall => PROGRAM,
        }
    }

    /// Whether it is there: in a directory of PATH, or this program where it is `squall`.
    pub fn is_installed(self) -> bool {
        match self {
            Program::Squall => {
                let program = std::env::current_exe().unwrap_or_default();
                program.file_name().is_some_and(|name| name == "squall")
            }
            _ => is_in_path(self.file()),
        }
    }

    /// What writes without end, in blocks of `len` where that can be said.
    pub fn command(self, len: usize) -> Command {
        let mut command = Command::new(self.file());
        match self {
            Program::Dd => {
                command.args(["if=/dev/urandom", "status=none"]);
                command.arg(format!("bs={len}"));
            }
            Program::Openssl => {
                command.args(["enc", "-aes-128-ctr", "-nosalt", "-in", "/dev/zero"]);
                command.args(["-K", &"5a".repeat(16), "-iv", &"00".repeat(16)]);
                command.args(["-bufsize", &len.to_string()]);
            }
            Program::Squall => {
                command.arg("stream");
            }
        }
        command.stdin(Stdio::null());
        command
    }
}

fn is_in_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| Path::join(&directory, program).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_in_the_path() {
        assert!(is_in_path("sh"));
        assert!(!is_in_path("no-such-program"));
        // A test is not `squall`, and its arguments are not `squall stream`'s.
        assert!(!Program::Squall.is_installed());
    }
}
