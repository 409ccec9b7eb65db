//! The caller's part of messages: why targets are overwritten.

use std::path::Path;

/// Why targets are overwritten, for the messages that depend on it.
#[derive(Clone, Copy, Debug)]
pub struct Purpose {
    /// The word that the user types before the number of targets to confirm: `wipe` in "wipe 2".
    pub verb: &'static str,
    /// Advice for the drive at this path, whose zones cannot be overwritten in place.
    pub instead: fn(&Path) -> String,
}

#[cfg(test)]
pub(crate) mod tests {
    use super::Purpose;

    pub(crate) const WIPE: Purpose = Purpose {
        verb: "wipe",
        instead: |path| format!("see {}", path.display()),
    };
}
