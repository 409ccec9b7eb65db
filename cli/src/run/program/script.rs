//! Parses the first line of a script as the kernel does (fs/binfmt_script.c; execve(2)).

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// How many bytes the kernel reads at the beginning of a file (Linux 5.1 and later).
pub const HEAD_LEN: usize = 256;

/// How many interpreters the kernel follows before it gives up.
pub const MAX_INTERPRETERS: usize = 5;

/// The kind of a file, by `head`: its first [`HEAD_LEN`] bytes, or all of it.
#[derive(Debug, PartialEq, Eq)]
pub enum Kind {
    /// An ELF program.
    Elf,
    /// A script, and the interpreter that its first line names.
    Script(PathBuf),
    /// Text without such a line, which execvp(3) passes to the shell.
    Text,
    Other,
}

pub fn kind(head: &[u8]) -> Kind {
    if head.starts_with(b"\x7fELF") {
        return Kind::Elf;
    }
    if let Some(line) = head.strip_prefix(b"#!") {
        return interpreter(line, head.len() == HEAD_LEN).map_or(Kind::Other, Kind::Script);
    }
    if head.contains(&0) {
        Kind::Other
    } else {
        Kind::Text
    }
}

/// The interpreter's path after `#!`; `None` if there is none, or if the line may be cut off.
fn interpreter(line: &[u8], is_cut: bool) -> Option<PathBuf> {
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let start = line.iter().position(|byte| !is_blank(byte))?;
    let path = &line[start..];
    let end = path
        .iter()
        .position(|byte| is_blank(byte) || matches!(byte, b'\n' | 0));
    let path = match end {
        Some(end) => &path[..end],
        None if is_cut => return None,
        None => path,
    };
    (!path.is_empty()).then(|| OsStr::from_bytes(path).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_files() {
        let script = |path: &str| Kind::Script(path.into());
        assert_eq!(kind(b"#!/bin/sh\necho"), script("/bin/sh"));
        assert_eq!(kind(b"#! \t/usr/bin/env -S a b\n"), script("/usr/bin/env"));
        assert_eq!(kind(b"#!/bin/sh"), script("/bin/sh"));
        assert_eq!(kind(b"#!a/relative\tone\n"), script("a/relative"));
        assert_eq!(kind(b"#!\n/bin/sh"), Kind::Other);
        assert_eq!(kind(b"#!   "), Kind::Other);
        assert_eq!(kind(b"echo\n"), Kind::Text);
        assert_eq!(kind(b""), Kind::Text);
        assert_eq!(kind(b"MZ\0\0"), Kind::Other);
        assert_eq!(kind(b"\x7fELF\x02"), Kind::Elf);
    }

    #[test]
    fn a_path_that_may_be_cut_off_is_refused() {
        let mut head = vec![b'x'; HEAD_LEN];
        head[..3].copy_from_slice(b"#!/");
        assert_eq!(kind(&head), Kind::Other);
        head[HEAD_LEN - 1] = b' ';
        assert!(matches!(kind(&head), Kind::Script(_)));
    }
}
