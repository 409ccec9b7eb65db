//! Opens files that the user names for reading, and refuses what cannot be meant, such as drives and pipes.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, BufReader};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

use serde::de::DeserializeOwned;

use crate::Failure;
use crate::failure::{at, opening};

/// The longest JSON that is read, in bytes: more than a report of many drives, each with all the ranges that it lists.
const LONGEST: u64 = 256 << 20;

/// Opens the regular file at `path` for reading. Fails on anything else, such as a drive, without opening it, and does
/// not block, as opening a pipe would. `wanted` says what to name, such as "a report".
pub fn open(path: &Path, wanted: &str) -> Result<File, Failure> {
    let check = |about: io::Result<Metadata>| match about.map_err(opening(path))? {
        about if about.is_file() => Ok(()),
        about => Err(refusal(
            path,
            &format!("is {}: name {wanted}", kind(&about)),
        )),
    };
    check(fs::metadata(path))?;
    // The name may mean something else by now.
    let mut options = OpenOptions::new();
    let options = options.read(true).custom_flags(libc::O_NONBLOCK);
    let file = options.open(path).map_err(opening(path))?;
    check(file.metadata())?;
    Ok(file)
}

/// Reads the regular file at `path` as JSON. Fails on anything else, and on a file that is too long; then `wanted` says
/// what to name.
pub fn json<T: DeserializeOwned>(path: &Path, wanted: &str) -> Result<T, Failure> {
    json_in(&open(path, wanted)?, path, wanted)
}

/// The same for a `file` that [`open`] has opened by `path`.
pub fn json_in<T: DeserializeOwned>(file: &File, path: &Path, wanted: &str) -> Result<T, Failure> {
    let length = file.metadata().map_err(at(path))?.len();
    if length > LONGEST {
        return Err(refusal(
            path,
            &format!("has {length} bytes, which is too long: name {wanted}"),
        ));
    }
    serde_json::from_reader(BufReader::new(file))
        .map_err(|error| refusal(path, &format!("not {wanted}: {error}")))
}

fn refusal(path: &Path, problem: &str) -> Failure {
    Failure::Usage(format!("{}: {problem}", path.display()))
}

/// What `about` describes, in words.
pub fn kind(about: &Metadata) -> &'static str {
    let kind = about.file_type();
    match kind {
        _ if kind.is_dir() => "a directory",
        _ if kind.is_block_device() => "a drive",
        _ if kind.is_char_device() => "a character device",
        _ if kind.is_fifo() => "a pipe",
        _ if kind.is_file() => "a file",
        _ => "a socket",
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    /// What is read of `path` as a list of numbers.
    fn list(path: &Path) -> Result<Vec<u8>, String> {
        json(path, "a list").map_err(Failure::into_text)
    }

    #[test]
    fn only_regular_files_that_are_not_too_long_are_read() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = |name: &str| directory.path().join(name);
        fs::write(path("good"), "[1, 2]").expect("room");
        assert_eq!(list(&path("good")), Ok(vec![1, 2]));

        let fifo = path("fifo");
        rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, 0o600.into()).expect("a pipe");
        let _socket = UnixListener::bind(path("socket")).expect("a socket");
        for (path, words) in [
            (fifo, "is a pipe: name a list"),
            (path("socket"), "is a socket: name a list"),
            (path(""), "is a directory: name a list"),
            ("/dev/zero".into(), "is a character device: name a list"),
            (path("none"), "No such file"),
        ] {
            let text = list(&path).expect_err("no list");
            assert!(text.contains(words), "{text}");
        }

        // The image of a drive takes no room here, and would take some in memory.
        File::create(path("image"))
            .unwrap()
            .set_len(1 << 40)
            .unwrap();
        let text = list(&path("image")).expect_err("no list");
        assert!(text.contains("has 1099511627776 bytes"), "{text}");
        File::create(path("zeros")).unwrap().set_len(4096).unwrap();
        let text = list(&path("zeros")).expect_err("no list");
        assert!(text.contains("not a list: expected value"), "{text}");
    }
}
