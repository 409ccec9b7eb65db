//! Finds the file that a program's name stands for, as execvp(3) does.

use std::ffi::OsStr;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, CWD, accessat};
use squall_tool_base::failure::cause;

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

/// The search path if PATH is not set: glibc's `confstr(_CS_PATH)`.
const DEFAULT_PATH: &str = "/bin:/usr/bin";

/// The file for `name`: `name` itself if it has a slash, otherwise the first executable one in PATH.
pub fn search(name: &OsStr) -> Result<PathBuf, Refusal> {
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
