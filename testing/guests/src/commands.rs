//! Checks the output of commands.

/// Fails unless all of `words` are in `text`.
#[track_caller]
pub fn contains(text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "{word}: {text}");
    }
}
