//! Runs a compiler, and reports a failure in one line.

use std::io;
use std::process::{Command, Stdio};

use squall_tools::Failure;
use squall_tools::failure::cause;

/// Builds `name` with `compiler`. `missing` is the message if there is no compiler; `complains` finds
/// the line of its output that says what is wrong.
pub fn build(
    compiler: &mut Command,
    name: &str,
    missing: &str,
    complains: impl Fn(&str) -> bool,
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
        Err(failed(complaint(&built.stderr, complains)))
    }
}

fn complaint(stderr: &[u8], complains: impl Fn(&str) -> bool) -> String {
    let text = String::from_utf8_lossy(stderr);
    let mut lines = text.lines().map(str::trim);
    let line = lines.find(|line| !line.is_empty() && complains(line));
    line.unwrap_or("no reason given").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_that_complains() {
        let said = b"x.c: In function 'main':\n\nx.c:3:2: error: no x\nx.c:4:2: error: no y\n";
        let is_error = |line: &str| line.contains("error:");
        assert_eq!(complaint(said, is_error), "x.c:3:2: error: no x");
        assert_eq!(complaint(b"", is_error), "no reason given");
        assert_eq!(complaint(said, |_| true), "x.c: In function 'main':");
    }
}
