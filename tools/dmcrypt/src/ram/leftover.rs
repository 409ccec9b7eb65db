//! Recognises a RAM disk that a killed run left behind, by the note that the killed run wrote.

use std::fs;
use std::path::Path;

use squall_tools::Failure;

/// The note before brd is loaded: if brd is there, this program may have loaded it.
pub const LOADING: &str = "loading";

/// Identifies the disk at `block` in sysfs by its size and its diskseq, which no other disk gets
/// until the next boot; `None` if there is no disk.
pub fn disk(block: &Path) -> Option<String> {
    let number = fs::read_to_string(block.join("diskseq")).unwrap_or_default();
    let size = fs::read_to_string(block.join("size")).ok()?;
    Some(format!("disk {} {}", number.trim(), size.trim()))
}

/// Whether the disk at `block` is the one that was `noted`. Fails if that is unknown: the note is
/// [`LOADING`], and brd is at `loaded`.
pub fn is_ours(noted: &str, loaded: &Path, block: &Path) -> Result<bool, Failure> {
    match noted {
        LOADING if loaded.exists() => Err(Failure::Runtime(
            "brd is loaded, perhaps by a run that was killed at its start: if nobody needs it, \
             unload it with `modprobe -r brd`"
                .into(),
        )),
        noted => Ok(disk(block).is_some_and(|disk| disk == noted)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_with_another_identity_is_not_ours() {
        let directory = tempfile::tempdir().expect("a directory");
        let [loaded, block] = ["brd", "ram0"].map(|name| directory.path().join(name));
        let is_left = |noted: &str| is_ours(noted, &loaded, &block).expect("it can be told");
        assert!(!is_left("") && !is_left("disk 7 32768"), "there is none");

        fs::create_dir(&loaded).expect("a directory");
        fs::create_dir(&block).expect("a directory");
        let show = |number: &str, size: &str| {
            fs::write(block.join("diskseq"), number).expect("it is written");
            fs::write(block.join("size"), size).expect("it is written");
        };
        show("7\n", "32768\n");
        let noted = disk(&block).expect("it is there");
        assert!(is_left(&noted) && !is_left(""));
        for (number, size) in [("8\n", "32768\n"), ("7\n", "65536\n")] {
            show(number, size);
            assert!(!is_left(&noted), "{number} {size}");
        }
    }

    #[test]
    fn a_brd_that_may_be_ours_is_reported() {
        let directory = tempfile::tempdir().expect("a directory");
        let loaded = directory.path().join("brd");
        let is_left = || is_ours(LOADING, &loaded, directory.path());
        assert!(matches!(is_left(), Ok(false)), "it was not loaded");
        fs::create_dir(&loaded).expect("a directory");
        let text = is_left().expect_err("it cannot be told").into_text();
        assert!(text.contains("modprobe -r brd"), "{text}");
    }
}
