//! `squall run`: executes a program with libsquall-preload.so.
//!
//! The process stays the same and keeps all that it inherited; the exit code is the program's own.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use clap::Args;
use squall_binding_base::counters;
use squall_tool_base::failure::{at, cause, opening};
use squall_tool_base::{Failure, inherited};

use super::args::RunArguments;
use super::search::Refusal;
use super::{program, python};
use squall_tool_base::places::{self, PRELOAD};

/// The variable in which ld.so(8) looks for libraries to preload.
const VARIABLE: &str = "LD_PRELOAD";

/// The exit codes that env(1), nohup(1) and shells use.
const NOT_EXECUTABLE: i32 = 126;
const NOT_FOUND: i32 = 127;

/// Executes the program; returns only if that fails.
///
/// If the program is missing or cannot be executed, the process exits with 127 or 126.
/// Fails if preloading would have no effect on it, or the library is missing.
pub fn run(options: &RunArguments) -> Result<(), Failure> {
    let library = places::find(PRELOAD, options.library.as_deref())?;
    let value = preload_value(&library, std::env::var_os(VARIABLE).as_deref())?;
    let [name, arguments @ ..] = &options.program[..] else {
        return Err(Failure::Usage(
            "PROGRAM is missing: name the program to run".into(),
        ));
    };
    if name.as_bytes().starts_with(b"-") {
        return Err(Failure::Usage(format!(
            "no option {name:?}: {}",
            option_hint(name)
        )));
    }
    let path = program::find(name, &library).map_err(report_refusal)?;
    let mut command = Command::new(&path);
    command.arg0(name).args(arguments).env(VARIABLE, value);
    if options.python {
        command.env(python::VARIABLE, python::path_value()?);
    }
    if let Some(file) = &options.counters {
        let file = std::path::absolute(file).map_err(at(file))?;
        counters::create(&file).map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => Failure::Usage(format!(
                "--counters: {} exists, and is not a counter file that can be replaced: name a new \
                 one",
                file.display()
            )),
            _ => opening(&file)(error),
        })?;
        command.env(counters::VARIABLE, file);
    }
    let error = inherited::exec(&mut command);
    let reason = missing_interpreter(&path, &error).unwrap_or_else(|| cause(&error));
    let text = format!("{}: {reason}", path.display());
    Err(report_refusal(Refusal::from_error(text, &error)))
}

/// What is missing if the kernel finds a script but not what runs it, which is the same error as for no script.
fn missing_interpreter(path: &Path, error: &io::Error) -> Option<String> {
    /// The kernel reads no further (BINPRM_BUF_SIZE).
    const LINE: u64 = 256;
    if error.kind() != ErrorKind::NotFound {
        return None;
    }
    let mut line = Vec::new();
    File::open(path)
        .ok()?
        .take(LINE)
        .read_to_end(&mut line)
        .ok()?;
    let line = line
        .strip_prefix(b"#!")?
        .split(|byte| *byte == b'\n')
        .next()?;
    let words = String::from_utf8_lossy(line);
    let interpreter = words
        .trim_start_matches([' ', '\t'])
        .split([' ', '\t'])
        .next()?;
    Some(format!(
        "its first line names {interpreter:?}, and there is no such interpreter: install it, or correct the line"
    ))
}

/// A hint for `name`, which looks like an option: a similar option, or how to name a program.
fn option_hint(name: &OsStr) -> String {
    /// The threshold of similarity that clap uses.
    const MIN_SIMILARITY: f64 = 0.7;
    let given = name.to_string_lossy();
    let given = given.trim_start_matches('-').split('=').next();
    let similarity = |option: &&str| strsim::jaro(option, given.unwrap_or_default());
    let known = RunArguments::augment_args(clap::Command::new("run"));
    let similar = known.get_arguments().filter_map(clap::Arg::get_long);
    let similar = similar.filter(|option| similarity(option) > MIN_SIMILARITY);
    match similar.max_by(|one, other| similarity(one).total_cmp(&similarity(other))) {
        Some(option) => format!("did you mean --{option}?"),
        None => "see squall run --help, or give the program's path".into(),
    }
}

/// Turns a refusal into a usage error, or ends this process with the refusal's exit code.
fn report_refusal(refusal: Refusal) -> Failure {
    let (text, code) = match refusal {
        Refusal::PreloadIneffective(text) => return Failure::Usage(text),
        Refusal::NotExecutable(text) => (text, NOT_EXECUTABLE),
        Refusal::NotFound(text) => (text, NOT_FOUND),
    };
    let _ = Failure::Runtime(text).report("squall");
    std::process::exit(code)
}

/// The variable's new value: `library`, then the libraries that are already there.
/// Fails if it cannot hold the library's path.
fn preload_value(library: &Path, before: Option<&OsStr>) -> Result<OsString, Failure> {
    let library = library.as_os_str().as_bytes();
    // The loader has no escapes for separators, nor for `$`, which begins $ORIGIN and others.
    let is_separator = |byte: &u8| matches!(byte, b' ' | b':');
    if library
        .iter()
        .any(|byte| is_separator(byte) || *byte == b'$')
    {
        return Err(Failure::Usage(format!(
            "{}: {VARIABLE} cannot hold a path with blanks, colons or dollar signs: copy the \
             library to another path, and name it with {}",
            Path::new(OsStr::from_bytes(library)).display(),
            PRELOAD.option
        )));
    }
    let before = before.unwrap_or_default().as_bytes();
    let others = before
        .split(is_separator)
        .filter(|other| !other.is_empty() && *other != library);
    let all: Vec<_> = std::iter::once(library).chain(others).collect();
    Ok(OsString::from_vec(all.join(&b':')))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(library: &str, before: Option<&str>) -> Result<String, String> {
        preload_value(Path::new(library), before.map(OsStr::new))
            .map(|value| value.into_string().expect("text"))
            .map_err(Failure::into_text)
    }

    #[test]
    fn the_library_comes_first_and_once() {
        let assert_value =
            |before, expected: &str| assert_eq!(value("/l.so", before).unwrap(), expected);
        assert_value(None, "/l.so");
        assert_value(Some(""), "/l.so");
        assert_value(Some("/a.so"), "/l.so:/a.so");
        assert_value(Some("/a.so /l.so::/b.so"), "/l.so:/a.so:/b.so");
        assert_value(Some("/l.so:/l.so"), "/l.so");
    }

    #[test]
    fn paths_that_ld_preload_cannot_hold() {
        for library in ["/a b/l.so", "/a:b/l.so", "/$LIB/l.so"] {
            let error = value(library, None).unwrap_err();
            assert!(
                error.contains(library) && error.contains("--library"),
                "{error}"
            );
        }
    }
}
