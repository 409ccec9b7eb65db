//! A report without a reader of standard output. This process has one test, as it takes its standard output away.

use std::io::{Write, pipe};
use std::path::Path;
use std::process::ExitCode;

use rustix::stdio::{dup2_stdout, stdout};
use squall_testing::suite::{self, Test};
use squall_testing::tests;
use squall_tool_base::Failure;
use squall_tool_base::reports::{ReportArguments, Reports};

fn main() -> ExitCode {
    suite::main(&[TESTS])
}

/// Gives a report at `path` and a line, both in a moment without a reader.
fn given_without_a_reader(path: &Path, between: impl FnOnce()) -> Result<(), Failure> {
    let options = ReportArguments {
        export_json: Some(path.to_owned()),
        ..ReportArguments::default()
    };
    let reports = Reports::open(&options, None).expect("it can be written");
    between();
    let ours = rustix::io::dup(stdout()).expect("standard output");
    let (reader, nobody) = pipe().expect("a pipe");
    drop(reader);
    std::io::stdout().flush().expect("nothing is left to print");
    dup2_stdout(&nobody).expect("standard output is replaced");
    let given = reports.give(&"report", Vec::new, String::new, || "a line\n".into());
    dup2_stdout(&ours).expect("standard output is back");
    given
}

fn a_reader_that_has_left_does_not_keep_the_report_back() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("report.json");
    let given = given_without_a_reader(&path, || {});
    assert!(matches!(given, Err(Failure::Closed)), "{given:?}");
    let written = std::fs::read_to_string(&path).expect("it is written all the same");
    assert_eq!(written, "\"report\"\n");

    // What could not be written is reported, and not that there is no reader.
    let gone = directory.path().join("gone");
    std::fs::create_dir(&gone).expect("a directory");
    let remove = || std::fs::remove_dir_all(&gone).expect("it is removed");
    match given_without_a_reader(&gone.join("report.json"), remove) {
        Err(Failure::Runtime(text)) => assert!(text.contains("report.json"), "{text}"),
        given => panic!("{given:?}"),
    }
}

const TESTS: &[Test] = tests![a_reader_that_has_left_does_not_keep_the_report_back,];
