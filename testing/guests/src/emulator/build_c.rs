//! Builds C programs for guests that have a C library.

use std::path::Path;
use std::process::Command;

use squall_tools::Failure;

use super::compiler;

/// The directory of the programs' sources.
const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/programs");

/// The compiler's options.
pub(super) const FLAGS: [&str; 4] = ["-O2", "-Wall", "-Wextra", "-Werror"];

/// The path of the source of the program `name`.
pub(super) fn source(name: &str) -> String {
    format!("{SOURCES}/{name}.c")
}

/// The message if there is no compiler.
const MISSING: &str = "no C compiler is installed: install gcc or clang, and have `cc` in PATH";

/// Builds `programs/NAME.c` at `path`. It needs a C library at least as new as this machine's.
pub fn program(name: &str, path: &Path) -> Result<(), Failure> {
    build("cc", name, path)
}

fn build(compiler: &str, name: &str, path: &Path) -> Result<(), Failure> {
    let mut command = Command::new(compiler);
    command.args(FLAGS).arg("-o").arg(path).arg(source(name));
    command.env("LC_ALL", "C");
    // The lines before the error only give its position.
    compiler::build(&mut command, name, MISSING, |line| line.contains("error:"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_compiler_is_reported_with_what_to_install() {
        let built = build("no-such-cc", "draws", Path::new("/dev/null/program"));
        let Err(Failure::Runtime(message)) = built else {
            panic!("{built:?}");
        };
        assert!(
            message.contains("no C compiler is installed: install gcc"),
            "{message}"
        );
    }
}
