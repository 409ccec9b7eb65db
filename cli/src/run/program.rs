//! Whether a preloaded library would reach a program, and if not, why.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use object::elf::FileHeader64;
use object::read::elf::{FileHeader, ProgramHeader};
use object::{Endianness, FileKind, ReadCache};
use rustix::fs::fgetxattr;
use rustix::process::{getegid, geteuid, getgid, getuid};

use super::search::{Refusal, search};

type Header = FileHeader64<Endianness>;

/// The file to execute for `name`.
/// Fails if there is none, or `library` would not be loaded into it.
pub fn find(name: &OsStr, library: &Path) -> Result<PathBuf, Refusal> {
    let path = search(name)?;
    match obstacle(&path, library) {
        Some([why, instead]) => Err(Refusal::PreloadIneffective(format!(
            "{} is {why}: {} cannot reach it: {instead}",
            path.display(),
            library.file_name().unwrap_or_default().display()
        ))),
        None => Ok(path),
    }
}

/// Why the library would not be loaded into the program in a file, and what to do instead.
fn obstacle(path: &Path, library: &Path) -> Option<[&'static str; 2]> {
    if getuid() != geteuid() || getgid() != getegid() {
        return Some([
            "run with effective ids that differ from the real ids, and the loader then ignores LD_PRELOAD",
            "run it with equal ids, for example by setpriv(1)",
        ]);
    }
    match File::open(path) {
        Ok(file) => obstacle_in(&file, library),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Some([
            "a file that this user may not read, so it may be one of those that squall does not reach",
            "make it readable",
        ]),
        // The kernel says why, when it is executed.
        Err(_) => None,
    }
}

/// The same for an open file. None if it is no ELF program: a script's interpreter is not looked at.
fn obstacle_in(file: &File, library: &Path) -> Option<[&'static str; 2]> {
    let data = ReadCache::new(file);
    let kind = FileKind::parse(&data).ok()?;
    if kind == FileKind::Elf32 {
        return Some(OTHER_MACHINE);
    }
    let header = Header::parse(&data).ok()?;
    let endian = header.endian().ok()?;
    if machine(&File::open(library).ok()?) != Some(header.e_machine(endian).0) {
        return Some(OTHER_MACHINE);
    }
    // A program may lack a section table, because loading does not need one.
    let sections = header.sections(endian, &data).ok();
    if sections.is_some_and(|all| all.section_by_name(endian, b".go.buildinfo").is_some()) {
        return Some([
            "a program in Go, which asks the kernel directly",
            "use the Go module github.com/squall-rng/squall/go in its source",
        ]);
    }
    let mut headers = header.program_headers(endian, &data).ok()?.iter();
    match headers.find_map(|header| header.interpreter(endian, &data).ok().flatten()) {
        None => Some([
            "linked statically, and loads no library",
            "use a dynamic build of it, or link libsquall.a into it",
        ]),
        Some(loader) if !is_glibc_loader(loader) => Some([
            "not loaded by glibc's loader",
            "use a build of it for glibc, or link libsquall into it",
        ]),
        Some(_) if has_more_rights(file) => Some([
            "a program with a set-user-ID or set-group-ID bit or file capabilities, for which the loader may ignore \
             LD_PRELOAD",
            "link libsquall into it",
        ]),
        Some(_) => None,
    }
}

const OTHER_MACHINE: [&str; 2] = [
    "a program of 32 bits or for another kind of CPU",
    "use a build of it for this machine",
];

/// `e_machine` of an ELF file.
fn machine(file: &File) -> Option<u16> {
    let data = ReadCache::new(file);
    let header = Header::parse(&data).ok()?;
    Some(header.e_machine(header.endian().ok()?).0)
}

/// Whether a loader's path is one of glibc's: ld-linux-x86-64.so.2, ld64.so.2, ld.so.1 and so on, in any folder.
fn is_glibc_loader(loader: &[u8]) -> bool {
    let name = loader
        .rsplit(|byte| *byte == b'/')
        .next()
        .unwrap_or_default();
    let starts = [&b"ld-linux"[..], b"ld64.so", b"ld.so"];
    starts.iter().any(|start| name.starts_with(start))
}

/// Whether the file may give rights that its caller lacks. Who calls is not asked.
fn has_more_rights(file: &File) -> bool {
    const SET_ID_BITS: u32 = 0o6000;
    let metadata = file.metadata();
    !metadata.is_ok_and(|metadata| metadata.mode() & SET_ID_BITS == 0)
        || fgetxattr(file, c"security.capability", &mut [0; 0]).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn glibc_loaders_are_recognised() {
        for loader in [
            "/lib64/ld-linux-x86-64.so.2",
            "/nix/store/a-glibc-2.40/lib/ld-linux-aarch64.so.1",
            "/lib/ld64.so.1",
        ] {
            assert!(is_glibc_loader(loader.as_bytes()), "{loader}");
        }
        for loader in ["/lib/ld-musl-x86_64.so.1", "/system/bin/linker64", ""] {
            assert!(!is_glibc_loader(loader.as_bytes()), "{loader}");
        }
    }
}
