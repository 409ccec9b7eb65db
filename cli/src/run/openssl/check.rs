//! Checks whether OpenSSL uses squall in this environment: makes it draw random bytes, and reads the
//! provider's counters.

use std::fmt::Write;
use std::path::Path;

use squall_bindings::counters::{self, Interface};
use squall_tools::failure::at;
use squall_tools::{Failure, output};

use super::diagnosis;
use super::libcrypto::{Libcrypto, Role};

/// The generators that serve programs.
const SERVING_ROLES: [Role; 2] = [Role::Public, Role::Private];

/// Prints OpenSSL's generators.
///
/// # Errors
/// A generator that serves programs is neither squall's nor seeded by squall; the message says why.
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
        diagnosis::configuration(&libcrypto)
    );
    for role in [Role::Primary, Role::Public, Role::Private] {
        let generator = match libcrypto.generator(role) {
            Ok(found) => format!("{} of the provider {}", found.name, found.provider),
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
            Err(Failure::Runtime(diagnosis::explain(&libcrypto, why)))
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
