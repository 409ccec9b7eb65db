//! Which crates may use which: docs/ARCHITECTURE.md has the reasons.
//!
//! Only what is compiled into a crate counts. Tests may use what they like, but for research.

use std::path::Path;

use serde_json::Value;

use crate::metadata;

/// The folders of crates, as they lie in the tree, and the folders that each may use.
const MAY_USE: [(&str, &[&str]); 6] = [
    ("squall", &[]),
    ("bindings", &["squall", "bindings/common"]),
    ("tools", &["squall", "bindings", "tools"]),
    ("cli", &["squall", "bindings", "tools"]),
    ("testing", &["squall", "bindings", "tools"]),
    (
        "research",
        &["squall", "bindings", "tools", "cli", "testing", "research"],
    ),
];

/// One crate uses another: their folders below the root, and whether only its tests do.
struct Arrow {
    from: String,
    to: String,
    is_for_tests: bool,
}

impl Arrow {
    fn is_allowed(&self) -> bool {
        let is_in = |folder: &str, shelf: &str| Path::new(folder).starts_with(shelf);
        if self.is_for_tests {
            return !is_in(&self.to, "research") || is_in(&self.from, "research");
        }
        let (_, may_use) = MAY_USE
            .iter()
            .find(|(shelf, _)| is_in(&self.from, shelf))
            .unwrap_or_else(|| panic!("{} is on no shelf of {MAY_USE:?}", self.from));
        may_use.iter().any(|shelf| is_in(&self.to, shelf))
    }
}

/// All arrows between crates of the workspace.
fn arrows() -> Vec<Arrow> {
    let metadata = metadata();
    let root = Path::new(text(&metadata["workspace_root"]));
    let below = |folder: &Path| {
        let folder = folder.strip_prefix(root).expect("a folder of the tree");
        folder.to_str().expect("text").to_owned()
    };
    let packages = metadata["packages"].as_array().expect("a list");
    let arrows = packages.iter().flat_map(|package| {
        let manifest = Path::new(text(&package["manifest_path"]));
        let from = below(manifest.parent().expect("a folder"));
        let uses = package["dependencies"].as_array().expect("a list");
        // What comes from a registry has no path.
        uses.iter().filter_map(move |used| {
            Some(Arrow {
                from: from.clone(),
                to: below(Path::new(used["path"].as_str()?)),
                is_for_tests: used["kind"] == "dev",
            })
        })
    });
    arrows.collect()
}

fn text(value: &Value) -> &str {
    value.as_str().expect("text")
}

#[test]
fn crates_use_only_what_is_below_them() {
    let arrows = arrows();
    assert!(arrows.len() > 30, "only {} arrows were found", arrows.len());
    let wrong: Vec<_> = arrows
        .iter()
        .filter(|arrow| !arrow.is_allowed())
        .map(|arrow| format!("{} must not use {}", arrow.from, arrow.to))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join(", "));
}

#[test]
fn wrong_arrows_are_seen() {
    let arrow = |from: &str, to: &str, is_for_tests| Arrow {
        from: from.to_owned(),
        to: to.to_owned(),
        is_for_tests,
    };
    for (from, to) in [
        ("squall", "bindings/common"),
        ("bindings/c", "tools/common"),
        ("bindings/c", "bindings/preload"),
        ("tools/wipe", "cli"),
        ("cli", "testing"),
        ("tools/bench", "research/legacy-rng"),
        ("testing", "research/lab"),
    ] {
        assert!(!arrow(from, to, false).is_allowed(), "{from} uses {to}");
    }
    assert!(!arrow("cli", "research/lab", true).is_allowed());
    assert!(arrow("cli", "testing", true).is_allowed());
    assert!(arrow("research/lab", "research/probe", false).is_allowed());
}
