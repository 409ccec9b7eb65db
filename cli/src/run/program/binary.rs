//! Reads an ELF file's machine and loader.

use std::fs::File;

use object::elf::{FileHeader32, FileHeader64};
use object::read::elf::{FileHeader, ProgramHeader};
use object::{Endianness, FileKind, ReadCache, ReadRef};

/// The facts that decide whether a program and a library fit together: class and byte order (in
/// `e_ident`), and machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Bits of an address: 32 or 64.
    pub bits: u8,
    /// `e_machine`.
    pub number: u16,
    is_little: bool,
}

#[derive(Debug)]
pub struct Binary {
    pub machine: Machine,
    /// The path of the loader that the kernel starts it with; `None` if it is linked statically.
    pub loader: Option<Vec<u8>>,
    /// Whether it has the build information of Go's linker.
    pub is_go: bool,
}

/// Reads the headers of `file`; `None` if it is not ELF, or broken.
pub fn read(file: &File) -> Option<Binary> {
    let cache = ReadCache::new(file);
    match FileKind::parse(&cache).ok()? {
        FileKind::Elf32 => parse::<FileHeader32<Endianness>, _>(&cache, 32),
        FileKind::Elf64 => parse::<FileHeader64<Endianness>, _>(&cache, 64),
        _ => None,
    }
}

fn parse<'data, H, R>(data: R, bits: u8) -> Option<Binary>
where
    H: FileHeader<Endian = Endianness>,
    R: ReadRef<'data>,
{
    let header = H::parse(data).ok()?;
    let endian = header.endian().ok()?;
    let mut loader = None;
    for program_header in header.program_headers(endian, data).ok()? {
        if let Some(path) = program_header.interpreter(endian, data).ok()? {
            loader.get_or_insert(path.to_vec());
        }
    }
    // A program may lack a section table, because loading does not need one.
    let is_go = header
        .sections(endian, data)
        .is_ok_and(|sections| sections.section_by_name(endian, b".go.buildinfo").is_some());
    Some(Binary {
        machine: Machine {
            bits,
            number: header.e_machine(endian).0,
            is_little: header.is_little_endian(),
        },
        loader,
        is_go,
    })
}
