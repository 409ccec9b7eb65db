//! What targets are overwritten for.

use std::path::Path;

/// What targets are overwritten for, where messages depend on it.
#[derive(Clone, Copy, Debug)]
pub struct Purpose {
    /// What its user types to confirm it, before the number of targets: `wipe` for "wipe 2".
    pub verb: &'static str,
    /// What to do with the drive at this path, whose zones cannot be overwritten in place.
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
