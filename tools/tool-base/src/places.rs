//! Finds squall's libraries: below the folder where the command is installed, or beside the command
//! in the folder where it was built.

use std::env::consts::ARCH;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::Failure;
use crate::failure::at;
use object::read::elf::ElfFile64;
use object::{Endianness, Object, ObjectSymbol, ReadCache};

/// A library of squall, installed or just built.
#[derive(Clone, Copy, Debug)]
pub struct Library {
    /// The path below a `lib` folder.
    pub installed: &'static str,
    /// The file name beside a command that was built but not installed.
    pub built: &'static str,
    pub source: &'static str,
    pub package: &'static str,
    /// The option with which the user names another path.
    pub option: &'static str,
    /// A symbol that only this library has.
    pub mark: &'static str,
}

pub const PRELOAD: Library = Library {
    installed: "libsquall-preload.so",
    built: "libsquall_preload.so",
    source: "squall-preload",
    package: "squall-preload",
    option: "--library",
    mark: "SQUALL_PRELOAD",
};

pub const PROVIDER: Library = Library {
    installed: "ossl-modules/squall.so",
    built: "libsquall_openssl.so",
    source: "squall-openssl",
    package: "openssl-provider-squall",
    option: "--module",
    mark: "SQUALL_PROVIDER",
};

/// The absolute path of `library`: the `given` one, or the first standard place that has it.
/// If it is missing, the message says where it was looked for and how to get it.
pub fn find(library: Library, given: Option<&Path>) -> Result<PathBuf, Failure> {
    if let Some(given) = given {
        let path = std::path::absolute(given).map_err(at(given))?;
        let wrong = match path.is_file() {
            true if has(&path, library.mark).map_err(at(given))? => return Ok(path),
            true => "is not the expected library",
            false => "is not a file",
        };
        return Err(Failure::Usage(format!(
            "{}: {} {wrong}: name {}",
            library.option,
            given.display(),
            library.installed
        )));
    }
    // /proc gives the command's path with links resolved.
    let command = std::env::current_exe().map_err(|error| {
        let option = library.option;
        Failure::Runtime(format!(
            "cannot tell where this command is: {error}: mount /proc, or give {option}"
        ))
    })?;
    let places = places(library, &command);
    let found = places.iter().find(|place| place.is_file());
    found
        .cloned()
        .ok_or_else(|| missing(library, &command, &places))
}

/// The absolute path of the file `name` in share/squall, below the folder where the command is installed.
/// Fails if it is missing.
pub fn shared_file(name: &str) -> Result<PathBuf, Failure> {
    let command = std::env::current_exe().unwrap_or_default();
    let shared = prefix(&command).map(|prefix| prefix.join("share/squall").join(name));
    shared.filter(|file| file.is_file()).ok_or_else(|| {
        Failure::Runtime(format!(
            "share/squall/{name} is not installed: run `make install` in squall's source, or install the package squall"
        ))
    })
}

/// The message about a `library` that is in none of `places`: how to get it.
fn missing(library: Library, command: &Path, places: &[PathBuf]) -> Failure {
    if let Some(profile) = profile(command) {
        return Failure::Runtime(format!(
            "{} is not built yet: run `cargo build{profile} -p {}` in squall's source, which puts it \
             beside this command",
            library.built, library.source
        ));
    }
    let how = match prefix(command).and_then(Path::to_str) {
        Some("/usr") => format!("install the package {}", library.package),
        Some("/usr/local") | None => "run `make install` in squall's source".into(),
        Some(prefix) => format!("run `make install PREFIX={prefix}` in squall's source"),
    };
    let looked: Vec<_> = places.iter().map(|place| place.to_string_lossy()).collect();
    Failure::Runtime(format!(
        "{} is not installed: {how}, or name it with {} (looked for as {})",
        library.installed,
        library.option,
        looked.join(" and ")
    ))
}

/// The option for cargo that selects the profile `command` was built with; `None` if `command` is not
/// in a folder of cargo's.
fn profile(command: &Path) -> Option<String> {
    let folder = command.parent()?;
    // Cargo marks its target directory (bford.info/cachedir), which has a folder for each profile.
    let tag = fs::read_to_string(folder.parent()?.join("CACHEDIR.TAG")).ok()?;
    if !tag.contains("created by cargo") {
        return None;
    }
    Some(match folder.file_name()?.to_str()? {
        "debug" => String::new(),
        "release" => " --release".into(),
        other => format!(" --profile {other}"),
    })
}

/// Whether the file at `path` is a library that exports `symbol`.
fn has(path: &Path, symbol: &str) -> io::Result<bool> {
    let contents = ReadCache::new(File::open(path)?);
    let file = ElfFile64::<Endianness, _>::parse(&contents);
    Ok(file.is_ok_and(|file| {
        let mut all = file.dynamic_symbols();
        all.any(|found| found.is_definition() && found.name() == Ok(symbol))
    }))
}

/// The paths where `library` may be, relative to `command`.
fn places(library: Library, command: &Path) -> Vec<PathBuf> {
    let folder = command.parent().unwrap_or(Path::new("/"));
    let mut places = Vec::new();
    if let Some(prefix) = prefix(command) {
        let libraries = prefix.join("lib");
        places.push(libraries.join(library.installed));
        // Debian's folder for libraries of this architecture: multiarch(7).
        let multiarch = libraries.join(format!("{ARCH}-linux-gnu"));
        places.push(multiarch.join(library.installed));
    }
    places.push(folder.join(library.built));
    places
}

/// The folder that `command` was installed below; `None` if it is not in `bin` or `sbin`.
fn prefix(command: &Path) -> Option<&Path> {
    let folder = command.parent()?;
    let name = folder.file_name()?;
    (name == "bin" || name == "sbin").then(|| folder.parent())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn below_the_folder_that_bin_is_in() {
        let places = places(PROVIDER, Path::new("/opt/squall/bin/squall"));
        let multiarch = format!("/opt/squall/lib/{ARCH}-linux-gnu/ossl-modules/squall.so");
        let expected = [
            "/opt/squall/lib/ossl-modules/squall.so",
            &multiarch,
            "/opt/squall/bin/libsquall_openssl.so",
        ];
        assert_eq!(places, expected.map(PathBuf::from));
    }

    #[test]
    fn beside_a_command_that_was_built() {
        let places = places(PRELOAD, Path::new("/src/target/release/squall"));
        let expected = PathBuf::from("/src/target/release/libsquall_preload.so");
        assert_eq!(places, [expected]);
    }
}
