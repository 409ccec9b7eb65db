//! Every guard on real devices: what it refuses, and that the same target is allowed once the obstacle
//! is gone.

pub mod elsewhere;
pub mod names;
pub mod stacks;
pub mod system;
pub mod uses;

use std::time::Duration;

use squall_drives::guards::check;
use squall_drives::{Purpose, Target};
use squall_tools::retry::retry;

const WIPE: Purpose = Purpose {
    verb: "wipe",
    instead: |path| format!("see {}", path.display()),
};

/// The failure's text for `targets`, which must be refused.
#[track_caller]
pub fn refusal(targets: &[Target]) -> String {
    check(targets, &WIPE).expect_err("a refusal").into_text()
}

/// Asserts that `targets` are refused in a text with all of `words`, and that nothing was written.
#[track_caller]
pub fn refused(targets: &[Target], words: &[&str]) {
    let text = refusal(targets);
    for word in words {
        assert!(text.contains(word), "{word:?} is not in: {text}");
    }
    assert!(text.ends_with("nothing was written"), "{text}");
}

/// Asserts that `targets` are allowed, once children of other tests have let go of this process's files.
#[track_caller]
pub fn allowed(targets: &[Target]) {
    let patience = Duration::from_secs(600);
    retry(patience, |_| true, || check(targets, &WIPE)).unwrap();
}
