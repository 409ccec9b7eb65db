//! Tests of the source tree as a whole: suites list their tests, crates depend on each other in the allowed
//! directions (docs/ARCHITECTURE.md has the reasons), README's example is compiled, and what is installed is removed
//! again.

mod dependencies;
mod installed;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// What Cargo says of the workspace.
fn metadata() -> Value {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let output = Command::new(cargo)
        .args(["metadata", "--no-deps", "--offline", "--format-version=1"])
        .current_dir(root)
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// The sources of the suites that the package of this manifest has.
fn suites(manifest: &Path) -> Vec<PathBuf> {
    let text = fs::read_to_string(manifest).expect("a manifest");
    let folder = manifest.parent().expect("a folder");
    let tables = text
        .split("\n[")
        .filter(|table| table.contains("harness = false"));
    tables
        .filter_map(|table| {
            let value = |key: &str| {
                let mut lines = table.lines();
                lines.find_map(|line| {
                    line.strip_prefix(key)?
                        .strip_prefix(" = \"")?
                        .strip_suffix('"')
                })
            };
            let (kind, _) = table.split_once(']')?;
            match (kind, value("path")) {
                ("lib", None) => Some(folder.join("src/lib.rs")),
                ("[test", Some(path)) => Some(folder.join(path)),
                ("[bench", _) => None,
                _ => panic!("{manifest:?}: say the path: [{table}"),
            }
        })
        .collect()
}

/// The sources in `folder`, except those of other targets.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder");
    entries
        .map(|entry| entry.expect("an entry").path())
        .flat_map(|path| {
            if !path.is_dir() {
                vec![path]
            } else if path.join("main.rs").exists() {
                Vec::new()
            } else {
                sources(&path)
            }
        })
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .collect()
}

/// Suites that run their tests themselves (`harness = false`) contain no function marked with `#[test]`: the compiler
/// would drop it silently.
#[test]
fn suites_list_all_of_their_tests() {
    let metadata = metadata();
    let packages = metadata["packages"].as_array().expect("a list");
    let manifest = |package: &Value| package["manifest_path"].as_str().map(PathBuf::from);
    let manifests = packages.iter().filter_map(manifest);
    let suites: Vec<PathBuf> = manifests.flat_map(|manifest| suites(&manifest)).collect();
    assert!(suites.len() > 10, "{suites:?}");
    for suite in suites {
        for source in sources(suite.parent().expect("a folder")) {
            let text = fs::read_to_string(&source).expect("a source");
            let has_mark = text.lines().any(|line| line.trim() == "#[test]");
            assert!(
                !has_mark,
                "{}: a function marked with #[test], which never runs",
                source.display()
            );
        }
    }
}

/// The folders of crates, and the folders that each may use. Only crates that are compiled into a crate count. Tests
/// may use all crates except research.
const MAY_USE: [(&str, &[&str]); 10] = [
    ("drbg", &[]),
    ("squall", &["drbg"]),
    ("bindings/getrandom/tests", &["bindings/getrandom"]),
    ("bindings", &["squall", "bindings/binding-base"]),
    ("python", &["squall", "bindings/binding-base"]),
    ("tools", &["squall", "bindings", "tools"]),
    ("cli", &["squall", "bindings", "tools"]),
    ("testing/guests", &["tools/tool-base", "testing"]),
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
        ("squall", "bindings/binding-base"),
        ("bindings/c", "tools/tool-base"),
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

const README: &str = include_str!("../../../README.md");
const EXAMPLE: &str = include_str!("../../../squall/examples/readme.rs");

#[test]
fn the_example_of_readme_is_compiled() {
    let (_, program) = EXAMPLE
        .split_once("\n\n")
        .expect("a head comment and a program");
    assert!(README.contains(&format!("```rust\n{program}```")));
}
