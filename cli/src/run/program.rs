//! Finds the file that a program's name stands for, as execvp(3) does, and says whether a preloaded library would reach it,
//! and if not, why.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use object::elf::FileHeader64;
use object::read::elf::{FileHeader, ProgramHeader};
use object::{Endianness, FileKind, ReadCache};
use rustix::fs::{Access, AtFlags, CWD, accessat, fgetxattr};
use rustix::process::{getegid, geteuid, getgid, getuid};
use squall_tool_base::failure::cause;

type Header = FileHeader64<Endianness>;

/// Why a program is not executed.
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

/// The search path if PATH is not set: glibc's `confstr(_CS_PATH)`.
const DEFAULT_PATH: &str = "/bin:/usr/bin";

/// The file for `name`: `name` itself if it has a slash, otherwise the first executable one in PATH.
fn search(name: &OsStr) -> Result<PathBuf, Refusal> {
    let path = std::env::var_os("PATH").unwrap_or_else(|| DEFAULT_PATH.into());
    search_in(name, &path)
}

fn search_in(name: &OsStr, path: &OsStr) -> Result<PathBuf, Refusal> {
    let shown = Path::new(name).display();
    if name.as_encoded_bytes().contains(&b'/') {
        let file = PathBuf::from(name);
        return match check_executable(&file) {
            Ok(()) => Ok(file),
            Err(error) => Err(Refusal::from_error(
                match error.kind() {
                    io::ErrorKind::NotFound => format!("{shown}: there is no such program"),
                    _ => why_not(&file, &error),
                },
                &error,
            )),
        };
    }
    let mut forbidden = None;
    for folder in std::env::split_paths(path).filter(|_| !name.is_empty()) {
        // An empty entry means the current folder; "./" keeps execvp(3) from searching again.
        let folder = if folder.as_os_str().is_empty() {
            PathBuf::from(".")
        } else {
            folder
        };
        let file = folder.join(name);
        match check_executable(&file) {
            Ok(()) => return Ok(file),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                forbidden.get_or_insert(file);
            }
            Err(_) => {}
        }
    }
    Err(match forbidden {
        Some(file) => Refusal::NotExecutable(why_not(&file, &rustix::io::Errno::ACCESS.into())),
        None => {
            let path = path.display();
            Refusal::NotFound(format!("{shown}: no such program in PATH, which is {path}"))
        }
    })
}

/// Why `file`, which exists, cannot be executed.
fn why_not(file: &Path, error: &io::Error) -> String {
    let shown = file.display();
    match std::fs::metadata(file) {
        Ok(found) if found.is_dir() => format!("{shown} is a directory: name a program"),
        Ok(found) if !found.is_file() => format!("{shown} is not a regular file: name a program"),
        Ok(found)
            if error.kind() == io::ErrorKind::PermissionDenied && found.mode() & 0o111 == 0 =>
        {
            format!("{shown} is not executable: see chmod(1)")
        }
        _ => format!("{shown}: {}", cause(error)),
    }
}

/// Whether the kernel would let this process execute `file`.
fn check_executable(file: &Path) -> io::Result<()> {
    // EACCESS checks with the effective ids, as execve(2) does, and fails on noexec mounts.
    accessat(CWD, file, Access::EXEC_OK, AtFlags::EACCESS)?;
    if std::fs::metadata(file)?.is_file() {
        Ok(())
    } else {
        Err(rustix::io::Errno::ACCESS.into())
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

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

    fn file(folder: &Path, name: &str, mode: u32) -> PathBuf {
        std::fs::create_dir_all(folder).unwrap();
        let path = folder.join(name);
        std::fs::write(&path, "").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        path
    }

    #[test]
    fn the_first_executable_file_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let [a, b, c] = ["a", "b", "c"].map(|name| folder.path().join(name));
        let path = std::env::join_paths([&a, &b, &c]).unwrap();
        let find = |name: &str| search_in(name.as_ref(), &path);
        std::fs::create_dir_all(a.join("tool")).unwrap();
        assert!(matches!(find("tool"), Err(Refusal::NotExecutable(_))));
        file(&b, "tool", 0o644);
        let expected = file(&c, "tool", 0o755);
        assert_eq!(find("tool").unwrap(), expected);
        assert!(matches!(find("other"), Err(Refusal::NotFound(_))));
        assert!(matches!(find(""), Err(Refusal::NotFound(_))));
        let named = |file: PathBuf| search_in(file.as_os_str(), "".as_ref());
        assert_eq!(named(expected.clone()).unwrap(), expected);
        assert!(matches!(
            named(b.join("tool")),
            Err(Refusal::NotExecutable(_))
        ));
        assert!(matches!(named(b.join("none")), Err(Refusal::NotFound(_))));
        assert!(matches!(
            named(expected.join("x")),
            Err(Refusal::NotExecutable(_))
        ));
        let says = |found, why: &str| {
            let Err(Refusal::NotExecutable(text) | Refusal::NotFound(text)) = found else {
                panic!("{why}");
            };
            assert!(text.contains(why), "{text}");
        };
        says(named(b.join("none")), "there is no such program");
        says(named(a.join("tool")), "is a directory");
        says(named(b.join("tool")), "is not executable");
        says(named("/dev/null".into()), "is not a regular file");
        let path = std::env::join_paths([&a]).unwrap();
        says(search_in("tool".as_ref(), &path), "is a directory");
    }
}
