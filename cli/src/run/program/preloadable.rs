//! Checks whether the loader would preload a library into the program that the kernel executes for a
//! file.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{Mode, fgetxattr};
use rustix::process::{getegid, geteuid, getgid, getuid};
use squall_tools::failure::cause;

use super::Refusal;
use super::binary::{self, Binary};
use super::script::{self, HEAD_LEN, Kind, MAX_INTERPRETERS};

/// The shell that execvp(3) runs for text files without an interpreter line.
const SHELL: &str = "/bin/sh";

/// Succeeds if `preload` would be loaded into the program that the kernel executes for the file at
/// `path`.
///
/// The answer holds for this process, and until the file changes.
///
/// # Errors
/// The library would not be loaded; the message says why, and what to use instead.
pub fn check_preloadable(path: &Path, preload: &Path) -> Result<(), Refusal> {
    let executed = follow_interpreters(path)?;
    let library = read_library(preload)?;
    let Some(program) = binary::read(&executed.file) else {
        let text = format!(
            "{}: the ELF file is damaged: Exec format error",
            executed.name
        );
        return Err(Refusal::NotExecutable(text));
    };
    check_loader(&executed.name, &program, &library, preload)?;
    check_privileges(&executed)
}

/// The program that the kernel executes for a file: the file itself or its interpreter.
struct Executed {
    name: String,
    file: File,
}

fn follow_interpreters(path: &Path) -> Result<Executed, Refusal> {
    let mut path = path.to_owned();
    let mut name = path.display().to_string();
    for interpreters in 0..=MAX_INTERPRETERS {
        let (file, head) = open(&path).map_err(|error| match error.kind() {
            io::ErrorKind::PermissionDenied => cannot_tell(&name, &error),
            _ => Refusal::from_error(format!("{name}: {}", cause(&error)), &error),
        })?;
        let next = match script::kind(&head) {
            Kind::Elf => return Ok(Executed { name, file }),
            Kind::Script(interpreter) => interpreter,
            Kind::Text if interpreters == 0 => SHELL.into(),
            Kind::Text | Kind::Other => {
                let text = format!("{name}: the file is neither an ELF program nor a script");
                return Err(Refusal::NotExecutable(text));
            }
        };
        name = format!("{} (which runs {})", next.display(), path.display());
        path = next;
    }
    Err(Refusal::NotExecutable(format!(
        "{name}: the kernel follows at most {MAX_INTERPRETERS} interpreters, and this script needs more"
    )))
}

fn open(path: &Path) -> io::Result<(File, Vec<u8>)> {
    let file = File::open(path)?;
    let mut head = Vec::with_capacity(HEAD_LEN);
    (&file).take(HEAD_LEN as u64).read_to_end(&mut head)?;
    Ok((file, head))
}

fn cannot_tell(name: &str, error: &io::Error) -> Refusal {
    Refusal::PreloadIneffective(format!(
        "{name}: cannot tell whether squall would be loaded: {}: make the file readable",
        cause(error)
    ))
}

fn read_library(preload: &Path) -> Result<Binary, Refusal> {
    let file = File::open(preload).map_err(|error| {
        Refusal::PreloadIneffective(format!("{}: {}", preload.display(), cause(&error)))
    })?;
    binary::read(&file).ok_or_else(|| {
        Refusal::PreloadIneffective(format!(
            "{}: the file is not a library: name libsquall-preload.so",
            preload.display()
        ))
    })
}

/// Fails if the program's loader would not load the library.
fn check_loader(
    name: &str,
    program: &Binary,
    library: &Binary,
    path: &Path,
) -> Result<(), Refusal> {
    let (description, instead) = match &program.loader {
        _ if program.machine.bits != library.machine.bits => (
            format!("a program of {} bits", program.machine.bits),
            format!("a build of it for {} bits", library.machine.bits),
        ),
        _ if program.machine != library.machine => (
            format!(
                "a program for another kind of CPU ({})",
                program.machine.number
            ),
            "a build of it for this one".into(),
        ),
        _ if program.is_go => (
            "a program in Go, which asks the kernel directly".into(),
            "the Go module github.com/squall-rng/squall/go in its source".into(),
        ),
        None => (
            "linked statically, and loads no library".into(),
            "a dynamic build of it, or libsquall.a in it".into(),
        ),
        Some(loader) if !is_glibc_loader(loader) => (
            format!(
                "loaded by {}, not by glibc's loader",
                String::from_utf8_lossy(loader)
            ),
            "a build of it for glibc, or libsquall in it".into(),
        ),
        Some(_) => return Ok(()),
    };
    Err(Refusal::PreloadIneffective(format!(
        "{name} is {description}: {} cannot reach it: use {instead}",
        path.file_name().unwrap_or_default().display()
    )))
}

/// Whether a loader's path is one of glibc's: ld-linux-x86-64.so.2, ld64.so.2, ld.so.1 and so on,
/// in any folder.
fn is_glibc_loader(loader: &[u8]) -> bool {
    let name = loader
        .rsplit(|byte| *byte == b'/')
        .next()
        .unwrap_or_default();
    [&b"ld-linux"[..], b"ld64.so", b"ld.so"]
        .iter()
        .any(|start| name.starts_with(start))
}

/// Fails if the loader would ignore LD_PRELOAD because the program has more rights than its caller,
/// ld.so(8). What takes those rights away, such as a mount with nosuid, is not considered.
fn check_privileges(executed: &Executed) -> Result<(), Refusal> {
    let name = &executed.name;
    let metadata = (executed.file.metadata()).map_err(|error| cannot_tell(name, &error))?;
    let mode = Mode::from_raw_mode(metadata.mode());
    let (user, group) = (getuid(), getgid());
    let has_capabilities =
        || fgetxattr(&executed.file, c"security.capability", &mut [0; 0]).is_ok();
    let (property, instead) = if user != geteuid() || group != getegid() {
        (
            "would inherit effective ids that differ from the real ids",
            "run it with equal ids, for example with setpriv(1)",
        )
    } else if mode.contains(Mode::SUID) && metadata.uid() != user.as_raw() {
        (
            "has the set-user-ID bit",
            "run it as its owner, or link libsquall into it",
        )
    } else if mode.contains(Mode::SGID) && metadata.gid() != group.as_raw() {
        (
            "has the set-group-ID bit",
            "run it with its group as the real one (newgrp(1)), or link libsquall into it",
        )
    } else if !user.is_root() && has_capabilities() {
        (
            "has file capabilities",
            "run it as root, or link libsquall into it",
        )
    } else {
        return Ok(());
    };
    Err(Refusal::PreloadIneffective(format!(
        "{name} {property}: the loader ignores LD_PRELOAD in such programs: {instead}"
    )))
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
