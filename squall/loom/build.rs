//! Copies squall's code with loom's atomics in place of the standard library's: as it is, and with one mistake each.

use std::fs;
use std::path::Path;

const LOCK: &str = "entropy/whirlwind/lock.rs";
const SEED: &str = "entropy/whirlwind/seed.rs";
const SHARED: &str = "guard/shared.rs";

/// What is changed in every copy: file, text, and what takes its place. Waiting is as short as it can be.
const CHANGES: [(&str, &str, &str); 10] = [
    (LOCK, "core::hint::spin_loop", "crate::spin_loop"),
    (LOCK, "std::thread::yield_now", "loom::thread::yield_now"),
    (LOCK, "TRIES: u32 = 1000", "TRIES: u32 = 1"),
    (LOCK, "YIELDS: u32 = 100", "YIELDS: u32 = 10"),
    (SEED, "core::sync::atomic", "loom::sync::atomic"),
    (LOCK, "core::sync::atomic", "loom::sync::atomic"),
    (
        SHARED,
        "core::sync::atomic::{AtomicPtr, AtomicU32,",
        "core::sync::atomic::AtomicU32; use loom::sync::atomic::{AtomicPtr,",
    ),
    (SHARED, "pub const fn new", "pub fn new"),
    (SHARED, "#[repr(C, align(64))]", "#[derive(Default)]"),
    (SHARED, "    state: AtomicU64", "    pub state: AtomicU64"),
];

/// The copies' names, and the step that each leaves out.
const MISTAKES: [(&str, &str, &str, &str); 10] = [
    (
        "commit_is_not_checked",
        LOCK,
        "self.lock.exchange(self.holder, self.holder | COMMITTED)",
        "{ self.lock.0.store(self.holder | COMMITTED, Ordering::Release); true }",
    ),
    (
        "nobody_waits_for_a_commit",
        LOCK,
        "if found & COMMITTED == 0 && self",
        "if self",
    ),
    (
        "commit_may_come_before_taking_away",
        LOCK,
        "COMMITTED == 0 && self.exchange(found, holder) {",
        "COMMITTED == 0 { self.0.swap(holder, Ordering::AcqRel);",
    ),
    (
        "lock_is_relaxed",
        LOCK,
        "Ordering::AcqRel, Ordering::Relaxed",
        "Ordering::Relaxed, Ordering::Relaxed",
    ),
    (
        "zeros_are_compressed",
        SEED,
        "if old.iter().all(|&byte| byte == 0) {",
        "if false {",
    ),
    (
        "check_is_not_fenced",
        SHARED,
        "work(&self.value);\n        read_before_checking();",
        "work(&self.value);",
    ),
    (
        "finish_is_not_checked",
        SHARED,
        "let exchanged = self.exchange(claim.0, ready_token.0);",
        "let exchanged = Ok::<u64, u64>(self.state.swap(ready_token.0, Ordering::AcqRel));",
    ),
    (
        "claim_is_not_checked",
        SHARED,
        "is_free && self.exchange(found, token.0).is_ok()",
        "is_free && self.state.swap(token.0, Ordering::AcqRel) < u64::MAX",
    ),
    (
        "claim_is_not_fenced",
        SHARED,
        "        fence(Ordering::Release);\n",
        "",
    ),
    (
        "page_is_not_compared",
        SHARED,
        "self.0.compare_exchange(\n            core::ptr::null_mut(),\n            page.cast().as_ptr(),\n            Ordering::AcqRel,\n            Ordering::Acquire,\n        )",
        "Ok::<_, ()>(self.0.swap(page.cast().as_ptr(), Ordering::AcqRel))",
    ),
];

fn main() {
    copy("real", None);
    for (name, file, from, to) in MISTAKES {
        copy(name, Some((file, from, to)));
    }
    println!("cargo::rerun-if-changed=build.rs");
}

fn copy(name: &str, mistake: Option<(&str, &str, &str)>) {
    let folder = Path::new(&std::env::var("OUT_DIR").unwrap()).join(name);
    fs::create_dir_all(&folder).unwrap();
    for file in [LOCK, SEED, SHARED] {
        let path = Path::new("../src").join(file);
        println!("cargo::rerun-if-changed={}", path.display());
        let source = fs::read_to_string(&path).unwrap();
        let (code, _tests) = source.split_once("\n#[cfg(test)]\nmod tests").unwrap();
        // An included file has no documentation of its own, and what is only for its tests needs more of the library.
        let mut code = code
            .replace("//!", "//")
            .replace("#[cfg(test)]", "#[cfg(false)]");
        for (_, from, to) in CHANGES
            .into_iter()
            .chain(mistake)
            .filter(|change| change.0 == file)
        {
            assert_eq!(code.matches(from).count(), 1, "{file}: {from}");
            code = code.replace(from, to);
        }
        fs::write(folder.join(path.file_name().unwrap()), code).unwrap();
    }
}
