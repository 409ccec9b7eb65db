//! Runs Debian's programs. If one fails, the reason is given as one line.

use std::io::{self, Write};
use std::process::{Command, Output, Stdio};

use squall_tools::Failure;
use squall_tools::failure::cause;

/// The programs that are needed.
const PROGRAMS: [&str; 3] = ["apt-get", "apt-cache", "dpkg-deb"];

/// Fails with the name of a missing program.
pub fn check_installed() -> Result<(), Failure> {
    for program in PROGRAMS {
        output(command(program).arg("--version")).map_err(|fault| {
            Failure::Runtime(format!(
                "{fault}: install apt and dpkg, which fetch and unpack QEMU, the tools and the kernels"
            ))
        })?;
    }
    Ok(())
}

/// Reports a step on standard error.
pub fn step(text: &str) {
    let _ = io::stderr().write_all(format!("{text}\n").as_bytes());
}

/// A command for `program` without input, and with messages in English.
pub fn command(program: &str) -> Command {
    let mut command = Command::new(program);
    command.env("LC_ALL", "C").stdin(Stdio::null());
    command
}

/// Runs `command` and returns its output, or the reason why it failed.
pub fn output(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => format!("{name} is missing"),
        _ => format!("{name}: {}", cause(&error)),
    })?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(format!("{name}: {}", error_line(&output)))
    }
}

/// The most informative line of a failed program's errors.
fn error_line(output: &Output) -> String {
    let errors = String::from_utf8_lossy(&output.stderr);
    match cause_line(&errors) {
        Some(line) => line.to_owned(),
        None => output.status.to_string(),
    }
}

/// The line about a full disk, or else apt's last error, or else the last line.
fn cause_line(errors: &str) -> Option<&str> {
    let lines = || {
        errors
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty())
    };
    lines()
        .find(|line| is_full(line))
        .or_else(|| lines().rfind(|line| line.starts_with("E: ") && !is_summary(line)))
        .or_else(|| lines().next_back())
}

/// Whether the line reports a full disk.
pub fn is_full(line: &str) -> bool {
    line.contains("No space left on device")
}

/// Whether the line only summarises earlier ones.
fn is_summary(line: &str) -> bool {
    line.starts_with("E: Some index files failed to download")
        || line.starts_with("E: Unable to fetch some archives")
        || line.starts_with("E: Failed to fetch some archives")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cause_is_reported_instead_of_the_summary() {
        let update = "W: something\n\
            E: Failed to fetch FILE  Could not connect\n\
            E: Some index files failed to download. They have been ignored.\n";
        let expected = "E: Failed to fetch FILE  Could not connect";
        assert_eq!(cause_line(update), Some(expected));
    }

    #[test]
    fn a_full_disk_is_reported_instead_of_later_errors() {
        let unpacking = "tar: ./x: Cannot write: No space left on device\n\
            tar: Exiting with failure status due to previous errors\n\
            dpkg-deb: error: tar subprocess returned error exit status 2\n";
        let expected = "tar: ./x: Cannot write: No space left on device";
        assert_eq!(cause_line(unpacking), Some(expected));
    }

    #[test]
    fn the_last_line_is_the_fallback() {
        assert_eq!(cause_line("first\nsecond\n\n"), Some("second"));
        assert_eq!(cause_line("\n"), None);
    }

    #[test]
    fn a_silent_failure_is_reported_by_its_status() {
        let failed = output(command("sh").args(["-c", "exit 7"]));
        assert_eq!(failed, Err("sh: exit status: 7".to_owned()));
    }

    #[test]
    fn a_missing_program_is_reported_by_name() {
        let missing = output(&mut command("squall-lab-no-such-program"));
        assert_eq!(
            missing,
            Err("squall-lab-no-such-program is missing".to_owned())
        );
    }
}
