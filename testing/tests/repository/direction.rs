//! Dependencies between crates point in the allowed directions; docs/ARCHITECTURE.md has the reasons.
//!
//! Only crates that are compiled into a crate count. Tests may use all crates except research.

use std::path::Path;

use serde_json::Value;

use crate::metadata;

/// The folders of crates, and the folders that each may use.
const MAY_USE: [(&str, &[&str]); 7] = [
    ("squall", &[]),
    ("bindings", &["squall", "bindings/common"]),
    ("python", &["squall", "bindings/common"]),
    ("tools", &["squall", "bindings", "tools"]),
    ("cli", &["squall", "bindings", "tools"]),
    ("testing", &["squall", "bindings", "tools"]),
    (
        "research",
        &["squall", "bindings", "tools", "cli", "testing", "research"],
    ),
];

/// A dependency between two crates: their folders below the root, and whether only tests use it.
struct Dependency {
    from: String,
    to: String,
    is_for_tests: bool,
}

impl Dependency {
    fn is_allowed(&self) -> bool {
        let is_in = |folder: &str, parent: &str| Path::new(folder).starts_with(parent);
        if self.is_for_tests {
            return !is_in(&self.to, "research") || is_in(&self.from, "research");
        }
        let (_, may_use) = MAY_USE
            .iter()
            .find(|(parent, _)| is_in(&self.from, parent))
            .unwrap_or_else(|| panic!("{} is in no folder of {MAY_USE:?}", self.from));
        may_use.iter().any(|parent| is_in(&self.to, parent))
    }
}

/// All dependencies between crates of the workspace.
fn dependencies() -> Vec<Dependency> {
    let metadata = metadata();
    let root = Path::new(text(&metadata["workspace_root"]));
    let below = |folder: &Path| {
        let folder = folder.strip_prefix(root).expect("a folder of the tree");
        folder.to_str().expect("text").to_owned()
    };
    let packages = metadata["packages"].as_array().expect("a list");
    let dependencies = packages.iter().flat_map(|package| {
        let manifest = Path::new(text(&package["manifest_path"]));
        let from = below(manifest.parent().expect("a folder"));
        let uses = package["dependencies"].as_array().expect("a list");
        // Crates of a registry have no path.
        uses.iter().filter_map(move |used| {
            Some(Dependency {
                from: from.clone(),
                to: below(Path::new(used["path"].as_str()?)),
                is_for_tests: used["kind"] == "dev",
            })
        })
    });
    dependencies.collect()
}

fn text(value: &Value) -> &str {
    value.as_str().expect("text")
}

#[test]
fn crates_use_only_what_is_below_them() {
    let dependencies = dependencies();
    assert!(
        dependencies.len() > 30,
        "only {} dependencies were found",
        dependencies.len()
    );
    let wrong: Vec<_> = dependencies
        .iter()
        .filter(|dependency| !dependency.is_allowed())
        .map(|dependency| format!("{} must not use {}", dependency.from, dependency.to))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join(", "));
}

#[test]
fn wrong_dependencies_are_found() {
    let dependency = |from: &str, to: &str, is_for_tests| Dependency {
        from: from.to_owned(),
        to: to.to_owned(),
        is_for_tests,
    };
    for (from, to) in [
        ("squall", "bindings/common"),
        ("bindings/c", "tools/common"),
        ("bindings/c", "bindings/preload"),
        ("python", "bindings/c"),
        ("tools/wipe", "cli"),
        ("cli", "testing"),
        ("tools/bench", "research/legacy-rng"),
        ("testing", "research/lab"),
    ] {
        assert!(
            !dependency(from, to, false).is_allowed(),
            "{from} uses {to}"
        );
    }
    assert!(!dependency("cli", "research/lab", true).is_allowed());
    assert!(dependency("cli", "testing", true).is_allowed());
    assert!(dependency("research/lab", "research/probe", false).is_allowed());
}
