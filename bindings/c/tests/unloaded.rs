//! A program loads and unloads the library while a thread that drew from it keeps running.

use std::os::unix::process::ExitStatusExt;

use squall_testing::suite::Test;
use squall_testing::tests;

use crate::compile::{Linked, PKG_CONFIG, Program, succeed};
use crate::installed::library;

/// DT_FLAGS_1 and its DF_1_NODELETE (`man 5 elf`, glibc's elf.h).
const FLAGS_1: u64 = 0x6fff_fffb;
const NODELETE: u64 = 8;

/// A copy of the library without the NODELETE flag, so that dlclose(3) unloads it.
fn without_nodelete(mut library: Vec<u8>) -> Vec<u8> {
    let word = |at: usize| u64::from_ne_bytes(library[at..][..8].try_into().expect("a word"));
    // An entry of the dynamic section: its tag, and a value that fits 32 bits.
    let is_entry = |at: &usize| word(*at) == FLAGS_1 && word(at + 8) < 1 << 32;
    let offsets: Vec<usize> = (0..library.len() - 15)
        .step_by(8)
        .filter(is_entry)
        .collect();
    let [offset] = offsets[..] else {
        panic!("flags at {offsets:?}");
    };
    let flags = word(offset + 8);
    assert_ne!(flags & NODELETE, 0);
    library[offset + 8..][..8].copy_from_slice(&(flags & !NODELETE).to_ne_bytes());
    library
}

fn a_thread_ends_after_the_library_was_unloaded() {
    let program = Program::of("tests/c/unloaded.c", Linked::Dynamic);
    let contents = std::fs::read(library()).expect("the library");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let write_copy = |name: &str, contents: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, contents).expect("a copy");
        path
    };
    // Load copies, because the program itself is linked with the installed library.
    let kept = write_copy("kept.so", &contents);
    succeed(program.command().arg(kept));
    let gone = write_copy("gone.so", &without_nodelete(contents));
    let crashed = program.command().arg(gone).output().expect("it starts");
    assert_eq!(
        crashed.status.signal(),
        Some(libc::SIGSEGV),
        "the control: {crashed:?}"
    );
}

pub const TESTS: &[Test] = tests![
    a_thread_ends_after_the_library_was_unloaded: [PKG_CONFIG],
];
