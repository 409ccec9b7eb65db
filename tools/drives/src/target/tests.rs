//! Tests files as targets, and names that are no targets.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::symlink;

use squall_testing::loops::Lab;

use super::*;

pub(crate) fn find(path: &Path) -> Target {
    Target::find(path).expect("a target")
}

const MIB: u64 = 1 << 20;

/// The failure's text for `path`, which must not be a target.
#[track_caller]
fn refusal(path: &Path) -> String {
    Target::find(path).expect_err("no target").into_text()
}

fn open(path: &Path) -> File {
    OpenOptions::new().write(true).open(path).unwrap()
}

#[test]
fn what_is_no_target() {
    let lab = Lab::new();
    let missing = lab.path("missing\x1b[2J");
    let text = refusal(&missing);
    assert!(text.contains(r"missing\u{1b}[2J: No such file"), "{text}");
    assert!(text.contains("name a drive"), "{text}");
    for (path, what) in [
        (lab.path(""), "is a directory: name a drive"),
        ("/dev/null".into(), "is a character device: name a drive"),
        (lab.image("empty", 0), "is empty"),
    ] {
        let text = refusal(&path);
        assert!(text.contains(what), "{text}");
    }
}

#[test]
fn a_file_is_itself_by_any_name() {
    let lab = Lab::new();
    let image = lab.image("image", 12_345);
    let link = lab.path("link");
    symlink(&image, &link).unwrap();
    let target = find(&link);
    let identity = &target.identity;
    assert_eq!((identity.kind, identity.size), (Kind::File, 12_345));
    assert_eq!(
        (&identity.given, &identity.path),
        (&link, &fs::canonicalize(&image).unwrap())
    );
    assert!(
        [512, 4096].contains(&identity.sector),
        "{}",
        identity.sector
    );
    assert!(target.has_stable_name && target.is_attached());
    target.confirm(&open(&image)).unwrap();
}

#[test]
fn a_file_that_changed_is_another() {
    let lab = Lab::new();
    let image = lab.image("image", MIB);
    let target = find(&image);

    open(&image).set_len(MIB + 1).unwrap();
    let text = target.confirm(&open(&image)).unwrap_err().into_text();
    assert!(
        text.contains("1048577 bytes, but had 1048576 a moment ago: nothing was written"),
        "{text}"
    );

    open(&image).set_len(MIB).unwrap();
    target.confirm(&open(&image)).unwrap();

    let other = lab.image("other", MIB);
    fs::rename(&other, &image).unwrap();
    let text = target.confirm(&open(&image)).unwrap_err().into_text();
    assert!(
        text.contains("no longer the same target: nothing was written"),
        "{text}"
    );
}

#[test]
fn names_that_stay() {
    for (name, is) in [
        ("/dev/disk/by-id/ata-WDC_WD40EFRX", true),
        ("/dev//disk/by-path/pci-0000:00:1f.2-ata-1", false),
        ("/dev/disk/by-diskseq/12", true),
        ("/dev/sdb", false),
        ("/dev/disk/by-id/../../sdb", false),
        ("/dev/disk/by-id", false),
        ("/dev/disk/by-luck/x", false),
        ("/mnt/dev/disk/by-id/x", false),
        ("by-id/x", false),
    ] {
        assert_eq!(is_stable(Path::new(name)), is, "{name}");
    }
}
