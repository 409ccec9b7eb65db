//! What these tests share.

use std::fs::{File, OpenOptions};
use std::path::Path;

use squall_drives::Target;

pub const MIB: u64 = 1 << 20;

#[track_caller]
pub fn find(path: &Path) -> Target {
    Target::find(path).expect("a target")
}

pub fn writable(path: &Path) -> File {
    let mut options = OpenOptions::new();
    options.read(true).write(true).open(path).expect("it opens")
}
