//! `squall run`: executes a program with libsquall-preload.so, or says why that would have no effect.
//!
//! The process stays the same and keeps all that it inherited; the exit code is the program's own. With `--python`, the
//! folder of squall's sitecustomize.py, which Python imports when it starts, is put into PYTHONPATH.

#[allow(unsafe_code, reason = "OpenSSL is loaded and called")]
pub mod openssl;
mod program;

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;
use squall_binding_base::counters;
use squall_tool_base::failure::{at, cause, opening};
use squall_tool_base::places::{self, PRELOAD};
use squall_tool_base::{Failure, inherited};

use crate::run::program::Refusal;

/// Run an existing program with squall's random bytes instead of the kernel's.
#[derive(Args, Debug)]
#[command(
    override_usage = "squall run [--counters FILE] [--library PATH] [--python] [--] PROGRAM [ARGUMENT]...",
    after_help = "Executes the program with libsquall-preload.so at the front of LD_PRELOAD, which also covers the \
programs that it starts. squall then serves getrandom, getentropy, arc4random and its relatives, and \
reads of /dev/urandom and /dev/random by descriptor. The program replaces squall (exec): the process, \
its descriptors and its ignored signals stay the same, and the exit code is the program's.

These programs are refused, because they would run without squall:
  programs that are linked statically
      link libsquall.a into them, or use a dynamic build
  programs in Go
      use the Go module github.com/squall-rng/squall/go
  programs for musl and other C libraries than glibc
      link libsquall into them, or use a build for glibc
  programs of 32 bits, or for other CPUs
      use a build for this machine
  set-user-ID and set-group-ID programs, and those with capabilities
      link libsquall into them

These are not refused, but squall does not serve them:
  system calls that a program makes itself, except getrandom by syscall(2) on x86-64 and aarch64
      link libsquall
  all requests of a program after it has entered a seccomp sandbox, or switched off the cycle
  counter (PR_SET_TSC) or CPUID (ARCH_SET_CPUID)
      link libsquall, and allow the system calls that it needs
  streams on /dev/urandom by fopen(3), which reads within the C library
      use open(2) and read(2), or link libsquall
  OpenSSL's own generators, which stretch their seeds
      use the provider: squall openssl-conf
  programs with gcc's AddressSanitizer do not start, because it must be the first library; those
  with ThreadSanitizer report false races, because it does not see how squall orders them
      link libsquall
  programs that AppArmor or SELinux start with a clean environment
      use the provider, or link libsquall
  programs that a preloaded one starts, and interpreters of scripts, if they are of the kinds above
      as above

A request whose buffer the program may not write, in whole or in part, ends it with SIGSEGV; the \
kernel would return EFAULT, or fill a part.

Examples:
  squall run -- python3 -c 'import os; print(os.urandom(16).hex())'
  squall run --counters counts -- dd if=/dev/urandom of=/dev/null bs=1M count=100
  squall status --counters counts
      how much the program drew
  squall run --python -- python3 -c 'import random; print(random.random())'
      a number that no fork and no clone repeats
  OPENSSL_CONF=/etc/ssl/squall.cnf squall run --counters counts -- nginx -g 'daemon off;'
      a TLS server whose OpenSSL uses the provider

Exit codes: the program's own; 127 if there is no such program, 126 if it cannot be executed, 2 if \
the library would have no effect on it and for a wrong argument, 1 if the library is not installed."
)]
pub struct RunArguments {
    /// Count in this new file how much the program and its children draw
    ///
    /// squall status --counters shows the counters at any time. An older file of counters is replaced,
    /// any other file is refused. Processes that may not write to the file are not counted.
    #[arg(long, value_name = "FILE")]
    pub counters: Option<PathBuf>,

    /// The library to preload [default: the one that was installed with this command]
    ///
    /// squall looks below the folder that contains bin, for lib/libsquall-preload.so and in Debian's
    /// folder for this architecture, and then next to the command, where a build puts the library.
    #[arg(long, value_name = "PATH")]
    pub library: Option<PathBuf>,

    /// Make Python's random, numpy.random, secrets and os.urandom draw from squall
    ///
    /// Does in this program and in all that it starts what `python -m squall enable` does, by a
    /// sitecustomize.py in PYTHONPATH, which then imports Python's own. A Python without the package squall
    /// ends with one line and the exit code 2. One that ignores PYTHONPATH (-E, -I) or sitecustomize (-S) is
    /// not reached.
    #[arg(long)]
    pub python: bool,

    /// The program, searched in PATH if it has no slash, and its arguments
    #[arg(
        value_name = "PROGRAM",
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    pub program: Vec<OsString>,
}

/// The variable in which ld.so(8) looks for libraries to preload.
const VARIABLE: &str = "LD_PRELOAD";

/// The variable that lists folders in which Python looks for modules.
const PYTHON_VARIABLE: &str = "PYTHONPATH";

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
        command.env(PYTHON_VARIABLE, python_path()?);
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

/// The variable's new value: the folder of sitecustomize.py, then the folders that it already lists.
/// Fails if that is missing, or the variable cannot hold its path.
fn python_path() -> Result<OsString, Failure> {
    let file = places::shared_file("python/sitecustomize.py")?;
    let folder = file.parent().expect("a folder").to_owned();
    let before = env::var_os(PYTHON_VARIABLE).unwrap_or_default();
    let others: Vec<PathBuf> = env::split_paths(&before)
        .filter(|other| !other.as_os_str().is_empty() && *other != folder)
        .collect();
    env::join_paths(std::iter::once(folder).chain(others))
        .map_err(|error| Failure::Usage(format!("--python: {}: {error}", file.display())))
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
