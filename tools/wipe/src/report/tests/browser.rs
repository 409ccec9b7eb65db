//! Tests the page in a real browser, and as it is printed.

use std::io::Write;
use std::process::{Command, Stdio};

use squall_testing::browser::{CHROMIUM, check, print};

use super::{outcomes, three_passes};
use crate::report::{html, job_html};
use crate::show::fixture;

#[test]
#[ignore = "needs chromium: `make test-all` runs it"]
fn every_page_is_whole_on_every_screen() {
    let job = outcomes();
    let mut pages: Vec<_> = (0..job.drives.len())
        .map(|drive| html(&job, drive))
        .collect();
    pages.push(html(&three_passes(), 0));
    let files: Vec<_> = (0..job.drives.len())
        .map(|drive| format!("/reports/{}-{drive}.json", job.id).into())
        .collect();
    pages.push(job_html(&job, &files));
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

/// One sheet has everything but tables of errors and of commands: what was wiped, the verdict, and the lines to sign on.
#[test]
#[ignore = "needs chromium: `make test-all` runs it"]
fn everything_but_tables_fits_on_one_sheet() {
    let job = outcomes();
    let drives = 0..job.drives.len();
    let mut pages: Vec<_> = drives.map(|drive| (job.clone(), drive)).collect();
    pages.push((three_passes(), 0));
    pages.push((fixture::verification_of(&job, 0), 0));
    let mut flash = three_passes();
    flash.drives[0].target.flash = Some(true);
    flash.drives[0].purge = Some(fixture::purge(Some("the drive refused")));
    pages.push((flash, 0));
    for (job, drive) in pages {
        let Some(text) = text(&print(CHROMIUM, &html(&job, drive))) else {
            return;
        };
        let sheets: Vec<_> = text.split_terminator('\u{c}').collect();
        let serial = job.drives[drive].target.serial.as_deref().unwrap_or("");
        for expected in [
            serial,
            "Verification",
            "Signature",
            "with every number exact",
        ] {
            assert!(sheets[0].contains(expected), "{expected}: {text}");
        }
        let annexes = ["Ranges with errors", "Commands of the drive's own erase"];
        let has_annex = annexes.iter().any(|title| text.contains(title));
        assert_eq!(sheets.len() > 1, has_annex, "{text}");
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
