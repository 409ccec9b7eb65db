//! Runs commands and checks their output.

use std::process::Command;

/// Standard output of a run that must succeed.
#[track_caller]
pub fn succeed(mut command: Command) -> String {
    let output = command.output().expect("the command runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{errors}");
    String::from_utf8(output.stdout).expect("text is UTF-8")
}

/// Fails unless all of `words` are in `text`.
#[track_caller]
pub fn contains(text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "{word}: {text}");
    }
}
