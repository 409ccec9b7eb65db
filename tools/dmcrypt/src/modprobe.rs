//! Loads kernel modules with modprobe(8).

use std::io;
use std::process::{Command, Output};

/// Where modprobe may be; a user's search path often lacks the sbin directories.
const PROGRAMS: [&str; 3] = ["modprobe", "/usr/sbin/modprobe", "/sbin/modprobe"];

/// Runs modprobe with `args`; the error is of kind NotFound if modprobe is not installed.
pub fn modprobe(args: &[&str]) -> io::Result<Output> {
    first_of(&PROGRAMS, args)
}

/// Runs the first of `programs` that exists.
fn first_of(programs: &[&str], args: &[&str]) -> io::Result<Output> {
    for program in programs {
        match Command::new(program).args(args).output() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            ended => return ended,
        }
    }
    Err(io::ErrorKind::NotFound.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_existing_program_is_run() {
        let said = |programs: &[&str]| first_of(programs, &["a word"]);
        let output = said(&["/nowhere/echo", "echo", "false"]).expect("there is an echo");
        assert_eq!(output.stdout, b"a word\n");
        let error = said(&["/nowhere/echo"]).expect_err("there is none");
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}
