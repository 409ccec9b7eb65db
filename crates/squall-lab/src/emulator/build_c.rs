//! Builds programs in C for guests that have a C library.

use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use squall_command::Failure;
use squall_command::failure::cause;

/// Where their sources are.
const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/programs");

/// What to do where there is no compiler.
const INSTALL: &str = "install gcc or clang, and have `cc` in PATH";

/// Builds `programs/NAME.c` at `path`. It runs where the C library is at least as new as here.
pub fn program(name: &str, path: &Path) -> Result<(), Failure> {
    build("cc", name, path)
}

fn build(compiler: &str, name: &str, path: &Path) -> Result<(), Failure> {
    let failed = |why: String| Failure::Runtime(format!("{name} cannot be built: {why}"));
    let built = Command::new(compiler)
        .args(["-O2", "-Wall", "-Wextra", "-Werror", "-o"])
        .arg(path)
        .arg(Path::new(SOURCES).join(format!("{name}.c")))
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => failed(format!("no C compiler is installed: {INSTALL}")),
            _ => failed(cause(&error)),
        })?;
    match built.status.success() {
        true => Ok(()),
        false => Err(failed(complaint(&built.stderr))),
    }
}

/// The first line that tells of an error; compilers say where they are before.
fn complaint(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let mut lines = text.lines().map(str::trim);
    let line = lines.find(|line| line.contains("error:"));
    line.unwrap_or("no reason given").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_there_is_no_compiler_it_is_told_what_to_install() {
        let built = build("no-such-cc", "draws", Path::new("/dev/null/program"));
        let Err(Failure::Runtime(message)) = built else {
            panic!("{built:?}");
        };
        assert!(
            message.contains("no C compiler is installed: install gcc"),
            "{message}"
        );
    }

    #[test]
    fn what_the_compiler_complains_of_is_one_line() {
        let said = b"x.c: In function 'main':\nx.c:3:2: error: no x\nx.c:4:2: error: no y\n";
        assert_eq!(complaint(said), "x.c:3:2: error: no x");
        assert_eq!(complaint(b""), "no reason given");
    }
}
