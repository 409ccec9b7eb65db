//! Suites that run their tests themselves (`harness = false`) contain no function marked with `#[test]`:
//! the compiler would drop it silently.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::metadata;

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
