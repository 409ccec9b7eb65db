//! `squall schemas` writes the schema of everything that the tools write as JSON.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;
use squall_testing::suite::Test;
use squall_testing::tests;

use crate::common::{bytes, refused, run};

pub const TESTS: &[Test] = tests![
    every_schema_is_written_to_its_file,
    a_folder_that_cannot_be_made,
];

fn every_schema_is_written_to_its_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let made = folder.path().join("made");
    assert_eq!(bytes(&format!("schemas {}", made.display())), b"");
    let written: BTreeMap<String, Value> = fs::read_dir(made)
        .expect("a folder")
        .map(|entry| {
            let entry = entry.expect("an entry");
            let text = fs::read_to_string(entry.path()).expect("a schema");
            let schema: Value = serde_json::from_str(&text).expect("JSON");
            let name = entry.file_name().into_string().expect("text");
            (name, schema["title"].clone())
        })
        .collect();
    let expected = [
        ("bench", "Report"),
        ("blank", "Answer"),
        ("dmcrypt-bench", "Bench"),
        ("dmcrypt-list", "List"),
        ("wipe-events", "Line"),
        ("wipe-report", "Job"),
    ];
    let expected = expected.map(|(name, title)| (format!("{name}.schema.json"), title.into()));
    assert_eq!(written, BTreeMap::from(expected));
}

fn a_folder_that_cannot_be_made() {
    refused(&run("schemas /dev/null/x"), 2, &["/dev/null/x"]);
    refused(
        &run("schemas /dev/null"),
        2,
        &["/dev/null is a file: name a folder"],
    );
}
