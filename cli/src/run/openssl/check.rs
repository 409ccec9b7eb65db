//! Checks whether OpenSSL uses squall in this environment: makes it draw random bytes, and reads the
//! provider's counters. If it does not, says in a line why, and what to do.

use std::fmt::Write;
use std::path::Path;

use squall_binding_base::counters::{self, Interface};
use squall_tool_base::failure::{at, cause};
use squall_tool_base::{Failure, output};

use super::libcrypto::{Libcrypto, Role};

/// The variable with the path of OpenSSL's configuration, config(5).
const VARIABLE: &str = "OPENSSL_CONF";

const LINES: &str = "the lines that squall openssl-conf prints";

const SERVING_ROLES: [Role; 2] = [Role::Public, Role::Private];

/// Prints OpenSSL's generators.
/// Fails if one that serves programs is neither squall's nor seeded by squall; the message says why.
pub fn check() -> Result<(), Failure> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_providers() {
        let text = "module = /a/fips.so\n module= /a\\$b/squall.so\n# squall\nx = squall\n";
        let found: Vec<_> = provider_paths(text).collect();
        assert_eq!(found, ["/a$b/squall.so"]);
    }
}
