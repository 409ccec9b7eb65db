//! Dependency lines of the documents: they name the crates of the examples beside them, and bring none that the
//! workspace does without.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

const LOCK: &str = include_str!("../../../Cargo.lock");
const README: &str = super::README;
const GUIDE: &str = include_str!("../../../docs/guides/rust.md");
const DRBG: &str = include_str!("../../../drbg/README.md");
const RUSTLS: &str = include_str!("../../../bindings/rustls/README.md");

/// The blocks of code in `document` that are marked with `language`.
fn blocks<'a>(document: &'a str, language: &str) -> impl Iterator<Item = &'a str> {
    let blocks = document.split("\n```").skip(1).step_by(2);
    blocks.filter_map(move |block| block.strip_prefix(language)?.strip_prefix('\n'))
}

/// The packages that cargo builds for a crate with these lines in its manifest, beside a checkout named `squall`; or its
/// complaint, or the packages that the workspace does without.
fn packages(lines: &str) -> Result<BTreeSet<String>, String> {
    let folder = tempfile::tempdir().expect("a folder");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let root = root.canonicalize().expect("a folder");
    symlink(&root, folder.path().join("squall")).expect("a link");
    let package = folder.path().join("stranger");
    fs::create_dir_all(package.join("src")).expect("a folder");
    fs::write(package.join("src/main.rs"), "fn main() {}").expect("a program");
    fs::copy(root.join("Cargo.lock"), package.join("Cargo.lock")).expect("a copy");
    let lines = lines.replace("\"squall/", "\"../squall/");
    let manifest = format!("[package]\nname = \"stranger\"\nedition = \"2024\"\n\n{lines}");
    fs::write(package.join("Cargo.toml"), manifest).expect("a manifest");
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--offline", "--edges=normal,build", "--prefix=none"])
        .current_dir(package)
        .output()
        .expect("cargo runs");
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let text = String::from_utf8(output.stdout).expect("text");
    let names = text.lines().filter_map(|line| line.split(' ').next());
    let names: BTreeSet<String> = names.skip(1).map(Into::into).collect();
    let is_new = |name: &&String| !LOCK.contains(&format!("\nname = \"{name}\"\n"));
    let new: Vec<_> = names.iter().filter(is_new).collect();
    if new.is_empty() {
        Ok(names)
    } else {
        Err(format!("the workspace does without {new:?}"))
    }
}

/// The crates with which paths in `code` begin.
fn crates(code: &str) -> BTreeSet<&str> {
    let is_of_name = |it: char| it.is_ascii_alphanumeric() || it == '_';
    let ends = code.match_indices("::").map(|(end, _)| &code[..end]);
    let names = ends.filter_map(|before| {
        let start = before.trim_end_matches(is_of_name);
        let name = &before[start.len()..];
        let is_crate = name.starts_with(|first: char| first.is_ascii_lowercase());
        (is_crate && !start.ends_with([':', '"'])).then_some(name)
    });
    names.filter(|name| *name != "std").collect()
}

#[test]
fn dependency_lines_name_the_crates_of_the_examples_and_resolve() {
    for (document, blocks_of_dependencies) in [(README, 1), (GUIDE, 2), (DRBG, 1), (RUSTLS, 1)] {
        let manifests =
            blocks(document, "toml").filter(|lines| lines.starts_with("[dependencies]"));
        let mut found = BTreeSet::new();
        let mut count = 0;
        for lines in manifests {
            found.extend(packages(lines).unwrap_or_else(|error| panic!("{lines}{error}")));
            count += 1;
        }
        assert_eq!(count, blocks_of_dependencies);
        for example in blocks(document, "rust") {
            for name in crates(example) {
                let name = name.replace('_', "-");
                assert!(
                    found.contains(&name),
                    "{name} is in no dependency line: {example}"
                );
            }
        }
    }
}

/// The control: rustls's default features bring a library in C.
#[test]
fn crates_that_the_workspace_does_without_are_noticed() {
    let lines = "[dependencies]\nrustls = { version = \"0.23\", features = [\"ring\"] }\n";
    let error = packages(lines).expect_err("aws-lc-rs is new");
    assert!(error.contains("aws-lc-rs"), "{error}");
}
