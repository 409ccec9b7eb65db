//! `squall openssl-conf`: prints the lines of openssl.cnf that make OpenSSL use squall, or checks whether they took effect:
//! makes OpenSSL draw random bytes in this environment, and reads the provider's counters. If they are not squall's, says in
//! a line why, and what to do.

mod libcrypto;

use std::fmt::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use squall_binding_base::counters::{self, Interface};
use squall_tool_base::failure::{at, cause};
use squall_tool_base::places::{self, PROVIDER};
use squall_tool_base::{Failure, output};

use crate::run::openssl::libcrypto::{Libcrypto, Role};

/// Print the configuration that makes OpenSSL use squall, or check it.
#[derive(Args, Debug)]
#[command(
    after_help = "OpenSSL 3.0 and later reads its configuration when a program begins to use it: the file that \
OPENSSL_CONF names, or otherwise openssl.cnf in its own folder (openssl version -d).

Examples:
  squall openssl-conf > /etc/ssl/squall.cnf
      a new file, for programs with OPENSSL_CONF=/etc/ssl/squall.cnf
  OPENSSL_CONF=/etc/ssl/squall.cnf squall openssl-conf --check
      which generators OpenSSL uses with that file

Exit codes: 0 for success, 1 if --check finds that random bytes do not come from squall and for a \
failure while running, 2 for a wrong argument."
)]
pub struct OpensslConfArguments {
    /// The provider [default: the one that was installed with this command]
    ///
    /// squall looks below the folder that contains bin, for lib/ossl-modules/squall.so and in Debian's
    /// folder for this architecture, and then next to the command, where a build puts the provider.
    #[arg(long, value_name = "PATH", conflicts_with = "check")]
    pub module: Option<PathBuf>,

    /// Draw from OpenSSL in this environment, and show which generators it used
    #[arg(long)]
    pub check: bool,
}

/// The lines, with `{module}` in place of the provider's path. The file is a link to the provider's
/// own copy, because a published crate contains only files in its own folder.
const FRAGMENT: &str = include_str!("openssl/fragment.cnf");

/// The variable with the path of OpenSSL's configuration, config(5).
const VARIABLE: &str = "OPENSSL_CONF";

const LINES: &str = "the lines that squall openssl-conf prints";

const SERVING_ROLES: [Role; 2] = [Role::Public, Role::Private];

/// Prints the lines, or checks which generators OpenSSL has in this environment.
pub fn openssl_conf(options: &OpensslConfArguments) -> Result<(), Failure> {
    if options.check {
        return check();
    }
    let module = places::find(PROVIDER, options.module.as_deref())?;
    output::print(&FRAGMENT.replace("{module}", &quote(&module)?))
}

/// Prints OpenSSL's generators.
/// Fails if one that serves programs is neither squall's nor seeded by squall; the message says why.
fn check() -> Result<(), Failure> {
    let folder = tempfile::tempdir()
        .map_err(|error| Failure::Runtime(format!("a folder for counters: {error}")))?;
    let file = folder.path().join("counters");
    counters::create(&file).map_err(at(&file))?;
    // SAFETY: the command has one thread, and holds no pointer into the environment.
    unsafe { std::env::set_var(counters::VARIABLE, &file) };
    let libcrypto = Libcrypto::load().map_err(Failure::Runtime)?;
    let drawn = SERVING_ROLES.map(|role| draw(&libcrypto, role, &file));
    let mut report = format!(
        "{}, configured by {}\n",
        libcrypto.version(),
        configuration(&libcrypto)
    );
    for role in [Role::Primary, Role::Public, Role::Private] {
        let generator = match libcrypto.generator(role) {
            Ok([name, provider]) => format!("{name} of the provider {provider}"),
            Err(why) => format!("none: {why}"),
        };
        let role = format!("{role:?}");
        let _ = writeln!(report, "  {role:9}{generator}");
    }
    let drawn: Result<Vec<Origin>, Failure> = drawn.into_iter().collect();
    match drawn {
        Ok(drawn) if drawn.iter().all(|from| *from == Origin::Squall) => {
            output::print(&(report + "Random bytes are squall's.\n"))
        }
        Ok(drawn) if !drawn.contains(&Origin::Other) => {
            output::print(&(report + "Random bytes are OpenSSL's own; their seeds are squall's.\n"))
        }
        other => {
            output::print(&report)?;
            let why = other.err().map(Failure::into_text);
            Err(Failure::Runtime(explain(&libcrypto, why)))
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    Squall,
    /// A generator that the provider has seeded, directly or through its parent.
    SeededBySquall,
    Other,
}

fn draw(libcrypto: &Libcrypto, role: Role, file: &Path) -> Result<Origin, Failure> {
    let read = || counters::read(file).map_err(at(file));
    let before = read()?;
    libcrypto.draw(role).map_err(Failure::Runtime)?;
    let after = read()?;
    let requests = |interface| {
        (
            before.count(interface).requests,
            after.count(interface).requests,
        )
    };
    let (before, now) = requests(Interface::Openssl);
    Ok(match requests(Interface::OpensslSeed) {
        _ if now > before => Origin::Squall,
        // The primary generator is seeded only once, so any earlier seeding counts.
        (_, 1..) => Origin::SeededBySquall,
        _ => Origin::Other,
    })
}

/// The configuration file that OpenSSL reads in this environment.
fn configuration(libcrypto: &Libcrypto) -> String {
    std::env::var(VARIABLE).unwrap_or_else(|_| libcrypto.configuration())
}

/// The reason and the advice; `error` is OpenSSL's error from the attempt to draw.
fn explain(libcrypto: &Libcrypto, error: Option<String>) -> String {
    let file = configuration(libcrypto);
    let named = std::env::var_os(VARIABLE).is_some();
    let text = match std::fs::read(Path::new(&file)) {
        Ok(text) => String::from_utf8_lossy(&text).into_owned(),
        Err(error) if named => {
            return format!(
                "{VARIABLE} names {file}: {}: write {LINES} there, or name another",
                cause(&error)
            );
        }
        Err(_) => String::new(),
    };
    // A missing file is no error unless the variable names it.
    let is_read = !text.is_empty();
    if let Err(why) = libcrypto.load_configuration(&file)
        && is_read
    {
        return format!("{file}: OpenSSL says: {why}");
    }
    if let Some(why) = provider_paths(&text).find_map(|path| libcrypto.load_provider(&path).err()) {
        return format!("{file}: OpenSSL cannot load the provider: {why}");
    }
    if let Some(error) = error {
        return format!("OpenSSL says: {error}");
    }
    match (text.contains("squall"), named) {
        (false, false) => format!(
            "{VARIABLE} is not set, and {file} does not mention squall: set it to a file with \
             {LINES}"
        ),
        (false, true) => {
            format!("{file}, which {VARIABLE} names, does not mention squall: add {LINES}")
        }
        (true, _) => {
            format!("{file} loads, but its random section does not name squall: use {LINES}")
        }
    }
}

/// The paths of squall's provider in lines with `module`, written as by [`super::quote`].
fn provider_paths(text: &str) -> impl Iterator<Item = String> {
    let value = |line: &str| {
        let (name, value) = line.split_once('=')?;
        let is_ours = name.trim() == "module" && value.contains("squall");
        is_ours.then(|| unquote(value.trim()))
    };
    text.lines().filter_map(value)
}

fn unquote(value: &str) -> String {
    let mut chars = value.chars();
    std::iter::from_fn(|| match chars.next() {
        Some('\\') => chars.next(),
        next => next,
    })
    .collect()
}

/// Quotes a path as a value of openssl.cnf, config(5).
fn quote(path: &Path) -> Result<String, Failure> {
    let cannot_hold = || {
        Failure::Usage(format!(
            "{}: openssl.cnf cannot hold this path: copy the provider to another path, and name it \
             with {}",
            path.display(),
            PROVIDER.option
        ))
    };
    let text = path.to_str().ok_or_else(cannot_hold)?;
    if text.contains(char::is_control) || text.ends_with(char::is_whitespace) {
        return Err(cannot_hold());
    }
    let mut value = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '\\' | '$' | '#' | '"' | '\'' | '`') {
            value.push('\\');
        }
        value.push(c);
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_quoted_as_values_of_openssl_cnf() {
        let value = |path: &str| quote(Path::new(path)).map_err(Failure::into_text);
        assert_eq!(value("/usr/lib/squall.so").unwrap(), "/usr/lib/squall.so");
        assert_eq!(value("/a b/$c#d").unwrap(), "/a b/\\$c\\#d");
        for path in ["/a\nb", "/a "] {
            assert!(value(path).unwrap_err().contains("--module"));
        }
    }

    #[test]
    fn paths_of_providers() {
        let text = "module = /a/fips.so\n module= /a\\$b/squall.so\n# squall\nx = squall\n";
        let found: Vec<_> = provider_paths(text).collect();
        assert_eq!(found, ["/a$b/squall.so"]);
    }
}
