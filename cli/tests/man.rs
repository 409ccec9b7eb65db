//! Files for packages: every command has a manual page, which is reproducible and which man(1) accepts without warnings;
//! and everything that the tools write as JSON has its schema.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use squall_testing::needs::GROFF;
use squall_testing::suite::Test;
use squall_testing::tests;

use crate::common::{bytes, refused, run, text};

fn pages(folder: &Path) -> BTreeSet<String> {
    bytes(&format!("man {}", folder.display()));
    let entries = fs::read_dir(folder).expect("a folder");
    let name = |entry: std::io::Result<fs::DirEntry>| entry.expect("an entry").file_name();
    entries
        .map(|entry| name(entry).into_string().expect("text"))
        .collect()
}

/// The subcommands that the help of `command` names.
fn commands(command: &str) -> Vec<String> {
    let help = text(&bytes(&format!("{command} --help")));
    help.lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| !line.is_empty())
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .map(|name| format!("{command} {name}").trim().to_owned())
        .collect()
}

fn every_command_has_a_page_and_nothing_else_has() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut all = commands("");
    let nested: Vec<_> = all.iter().flat_map(|command| commands(command)).collect();
    assert!(nested.contains(&"dmcrypt list".to_owned()), "{nested:?}");
    all.extend(nested);
    all.push(String::new());
    let page = |command: &String| format!("squall {command}").trim().replace(' ', "-") + ".1";
    assert_eq!(pages(folder.path()), all.iter().map(page).collect());
}

fn pages_are_the_same_each_time() {
    let [first, second] = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
    for name in pages(first.path()) {
        pages(second.path());
        let read = |folder: &Path| fs::read_to_string(folder.join(&name)).expect("a page");
        assert_eq!(read(first.path()), read(second.path()));
        assert!(read(first.path()).is_ascii(), "{name}");
    }
}

fn groff_has_no_warnings() {
    let folder = tempfile::tempdir().expect("a folder");
    let warnings = |page: &Path| {
        let groff = ["-man", "-Tutf8", "-ww", "-z"];
        let output = Command::new("groff").args(groff).arg(page).output();
        text(&output.expect("groff runs").stderr)
    };
    for name in pages(folder.path()) {
        assert_eq!(warnings(&folder.path().join(&name)), "", "{name}");
    }
    let broken = folder.path().join("broken.1");
    fs::write(&broken, ".TH broken 1\n.nosuchmacro\n").expect("a page");
    assert_ne!(warnings(&broken), "", "the control");
}

fn pages_have_their_sections() {
    let folder = tempfile::tempdir().expect("a folder");
    pages(folder.path());
    let page = fs::read_to_string(folder.path().join("squall-run.1")).expect("a page");
    for section in ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "NOTES"] {
        assert!(page.contains(&format!(".SH {section}\n")), "{page}");
    }
    assert!(page.contains(".SH \"EXIT STATUS\"\n"), "{page}");
    let (_, related) = page.split_once(".SH \"SEE ALSO\"\n").expect("a section");
    for other in ["squall(1)", "squall\\-status(1)"] {
        assert!(related.contains(other), "{related}");
    }
    assert!(!related.contains("run(1)"), "{related}");
}

fn synopses_have_the_values_of_options() {
    let folder = tempfile::tempdir().expect("a folder");
    pages(folder.path());
    for (page, words) in [
        ("squall.1", "[COMMAND]"),
        ("squall-stream.1", "[\\-\\-size SIZE]"),
        ("squall-wipe.1", "[\\-\\-purge[=HOW]]"),
        ("squall-verify.1", " REPORT..."),
        ("squall-run.1", "[\\-\\-counters FILE]"),
        ("squall-dmcrypt.1", " COMMAND"),
        ("squall-dmcrypt-bench.1", "[\\-\\-device DEVICE]"),
    ] {
        let text = fs::read_to_string(folder.path().join(page)).expect("a page");
        let (_, synopsis) = text.split_once(".SH SYNOPSIS\n").expect("a synopsis");
        let synopsis = synopsis.lines().next().expect("a line");
        assert!(synopsis.contains(words), "{page}: {synopsis}");
    }
}

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

fn folders_that_cannot_be_made() {
    for command in ["man", "schemas"] {
        refused(
            &run(&format!("{command} /dev/null/x")),
            2,
            &["squall: /dev/null/x: "],
        );
        let file = run(&format!("{command} /dev/null"));
        refused(&file, 2, &["/dev/null is a file: name a folder"]);
    }
}

pub const TESTS: &[Test] = tests![
    every_command_has_a_page_and_nothing_else_has,
    pages_are_the_same_each_time,
    groff_has_no_warnings: [GROFF],
    pages_have_their_sections,
    synopses_have_the_values_of_options,
    every_schema_is_written_to_its_file,
    folders_that_cannot_be_made,
];
