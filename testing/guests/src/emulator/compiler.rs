//! Runs a compiler, and reports a failure in one line.

use std::io;
use std::process::{Command, Stdio};

use squall_tools::Failure;
use squall_tools::failure::cause;

/// Builds `name` with `compiler`. `missing` is the message if there is no compiler; `is_error` finds
/// the line of its output that says what is wrong.
pub fn build(
    compiler: &mut Command,
    name: &str,
    missing: &str,
    is_error: impl Fn(&str) -> bool,
) -> Result<(), Failure> {
    let failed = |why: String| Failure::Runtime(format!("{name} cannot be built: {why}"));
    let built = compiler
        .stdin(Stdio::null())
        .output()
        .map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => failed(missing.to_owned()),
            _ => failed(cause(&error)),
        })?;
    if built.status.success() {
        Ok(())
    } else {
        Err(failed(error_line(&built.stderr, is_error)))
    }
}

fn error_line(stderr: &[u8], is_error: impl Fn(&str) -> bool) -> String {
    let text = String::from_utf8_lossy(stderr);
    let mut lines = text.lines().map(str::trim);
    let line = lines.find(|line| !line.is_empty() && is_error(line));
    line.unwrap_or("no reason given").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_error_line_is_reported() {
        let output = b"x.c: In function 'main':\n\nx.c:3:2: error: no x\nx.c:4:2: error: no y\n";
        let is_error = |line: &str| line.contains("error:");
        assert_eq!(error_line(output, is_error), "x.c:3:2: error: no x");
        assert_eq!(error_line(b"", is_error), "no reason given");
        assert_eq!(error_line(output, |_| true), "x.c: In function 'main':");
    }
}
