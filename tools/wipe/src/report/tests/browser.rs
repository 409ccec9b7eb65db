//! Tests the page in a real browser, and as it is printed.

use std::io::Write;
use std::process::{Command, Stdio};

use squall_testing::browser::{CHROMIUM, check, print};

use super::outcomes;
use crate::report::html;

#[test]
#[ignore = "needs chromium: `make test-all` runs it"]
fn every_page_is_whole_on_every_screen() {
    let job = outcomes();
    let pages: Vec<_> = (0..job.drives.len())
        .map(|drive| html(&job, drive))
        .collect();
    let pages: Vec<_> = pages.iter().map(String::as_str).collect();
    check(CHROMIUM, &pages);
}

#[test]
#[ignore = "needs chromium: `make test-all` runs it"]
fn what_is_printed_names_the_drive_and_its_outcome() {
    let job = outcomes();
    for (drive, serial, word) in [
        (0, "WD-WX12A3456789", "Verified"),
        (1, "WD-WX12A3456790", "Incomplete"),
    ] {
        let pdf = print(CHROMIUM, &html(&job, drive));
        assert!(pdf.starts_with(b"%PDF"));
        let Some(text) = text(&pdf) else { continue };
        for expected in [serial, word, "Signature"] {
            assert!(text.contains(expected), "{expected}: {text}");
        }
        // On paper, a table that scrolls on a screen is shown to its last range.
        assert_eq!(text.contains("16,302,080"), drive == 1);
    }
}

/// The text of a PDF, if pdftotext is installed.
fn text(pdf: &[u8]) -> Option<String> {
    let mut reader = Command::new("pdftotext")
        .args(["-", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .ok()?;
    let mut stdin = reader.stdin.take().expect("a pipe");
    stdin.write_all(pdf).expect("it reads");
    drop(stdin);
    let output = reader.wait_with_output().expect("it ends");
    assert!(output.status.success());
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}
