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

use super::search::search;

type Header = FileHeader64<Endianness>;

#[derive(Debug)]
pub enum Refusal {
    /// The program would run without squall; the text says why, and what to use instead.
    PreloadIneffective(String),
    NotFound(String),
    NotExecutable(String),
}

impl Refusal {
    /// The refusal for an error when executing a program, with the distinction of env(1).
    pub fn from_error(text: String, error: &io::Error) -> Refusal {
        match error.kind() {
            io::ErrorKind::NotFound => Refusal::NotFound(text),
            _ => Refusal::NotExecutable(text),
        }
    }
}

/// The file to execute for `name`.
///
/// # Errors
/// There is no such program, or `library` would not be loaded into it.
pub fn find(name: &OsStr, library: &Path) -> Result<PathBuf, Refusal> {
    let path = search(name)?;
    match File::open(&path)
        .ok()
        .and_then(|file| obstacle(&file, library))
    {
        Some([why, instead]) => Err(Refusal::PreloadIneffective(format!(
            "{} is {why}: {} cannot reach it: use {instead}",
            path.display(),
            library.file_name().unwrap_or_default().display()
        ))),
        None => Ok(path),
    }
}

/// Why the library would not be loaded into the program in `file`, and what to use instead. None if it would, or if the
/// file is no ELF program: a script's interpreter is not looked at.
fn obstacle(file: &File, library: &Path) -> Option<[&'static str; 2]> {
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
            "the Go module github.com/squall-rng/squall/go in its source",
        ]);
    }
    let mut headers = header.program_headers(endian, &data).ok()?.iter();
    match headers.find_map(|header| header.interpreter(endian, &data).ok().flatten()) {
        None => Some([
            "linked statically, and loads no library",
            "a dynamic build of it, or libsquall.a in it",
        ]),
        Some(loader) if !is_glibc_loader(loader) => Some([
            "not loaded by glibc's loader",
            "a build of it for glibc, or libsquall in it",
        ]),
        Some(_) if has_more_rights(file) => Some([
            "a program with more rights than its caller (a set-user-ID or set-group-ID bit, or capabilities), in \
             which the loader ignores LD_PRELOAD",
            "libsquall in it",
        ]),
        Some(_) => None,
    }
}

const OTHER_MACHINE: [&str; 2] = [
    "a program of 32 bits or for another kind of CPU",
    "a build of it for this machine",
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

/// Whether the file gives rights, which a caller may lack. Whoever has them already is not told apart.
fn has_more_rights(file: &File) -> bool {
    const SET_ID_BITS: u32 = 0o6000;
    let has_bits = file
        .metadata()
        .is_ok_and(|file| file.mode() & SET_ID_BITS != 0);
    has_bits || fgetxattr(file, c"security.capability", &mut [0; 0]).is_ok()
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
