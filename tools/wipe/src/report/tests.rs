//! Tests reports of every outcome, against their schema, in a real browser, and as they are printed.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use squall_drives::{Hidden, Kind};
use squall_testing::browser::{CHROMIUM, check, print};
use squall_testing::schema::Schema;

use super::{html, job_html, record, whole};
use crate::journal;
use crate::record::{
    ContentKind, EraseMethod, Extent, Job, Level, Note, Outcome, Pass, Purge, Verification,
};
use crate::show::fixture;
use crate::words::{self, Advice, flash_advice};

const SECTOR: Extent = Extent::new(0, 512);

/// Every outcome, and a drive that is under way.
fn outcomes() -> Job {
    let mut job = fixture::job();
    let mut under_way = job.drives[3].clone();
    under_way.outcome = None;
    job.drives.push(under_way);
    job.drives[2].purge = Some(fixture::purge(None));
    job.drives[6].purge = Some(fixture::purge(Some("the drive refused")));
    job.drives[0].purge = Some(fixture::sanitized());
    job
}

/// All passes of a contract, each of them verified.
fn three_passes() -> Job {
    let mut job = fixture::job();
    let drive = &mut job.drives[0];
    let pass = |content| Pass {
        content,
        verification: drive.verification.clone(),
        ..drive.passes[0].clone()
    };
    let contents = [
        ContentKind::Keystream,
        ContentKind::ZEROS,
        ContentKind::Byte(0x55),
    ];
    drive.passes = contents.map(pass).to_vec();
    drive.passes[2].verification = None;
    job.plan.passes = contents.to_vec();
    job.plan.verify_each = true;
    job
}

/// What was found after a pass of [`three_passes`].
fn found(job: &mut Job, pass: usize) -> &mut Verification {
    let found = &mut job.drives[0].passes[pass].verification;
    found.as_mut().expect("a verification")
}

fn assert_says(page: &str, words: &[&str]) {
    for word in words {
        assert!(page.contains(word), "{word}: {page}");
    }
}

#[test]
fn the_schema_knows_every_report() {
    let mut job = outcomes();
    let mut dead = job.drives[5].clone();
    dead.outcome = Some(Outcome::Dead {
        reason: "it no longer answers".into(),
    });
    job.drives.push(dead);
    job.drives[0].own_erase = Some(fixture::unsupported("it has no ATA sanitize"));
    job.drives[1].own_erase = Some(fixture::supported(&["/dev/nvme0n1"]));
    let json = |job: &Job, drive| serde_json::to_value(record(job, drive)).expect("JSON");
    let drives = 0..job.drives.len();
    let mut reports: Vec<Value> = drives.map(|drive| json(&job, drive)).collect();
    let mut each = fixture::verification_of(&job, 0);
    each.drives[0].passes[0].verification = each.drives[0].verification.clone();
    reports.push(json(&each, 0));
    reports.push(serde_json::to_value(whole(&job)).expect("JSON"));
    Schema::derive::<Job>().check(&reports, &[]);
}

#[test]
fn every_page_says_what_became_of_the_drive() {
    let job = outcomes();
    let expected = [
        ("Verified", "found as it was written"),
        ("Incomplete", "942,080 bytes could not be overwritten."),
        (
            "Differs",
            "17 of the bytes that were read back are not what was written.",
        ),
        (
            "Interrupted",
            "2,667,191,353,344 bytes were not overwritten.",
        ),
        ("Vanished", "The drive disappeared"),
        (
            "Failed",
            "It could not continue (/dev/sdf: Device or resource busy)",
        ),
        (
            "Overwritten, not verified",
            "Nothing was read back, as was asked for.",
        ),
        ("Under way", "still under way"),
    ];
    for (number, (word, sentence)) in expected.into_iter().enumerate() {
        let page = html(&job, number);
        assert_says(&page, &[&format!("<p class=\"word\">{word}</p>"), sentence]);
        let verdict = page.find(sentence);
        assert!(verdict < page.find("<h2"), "it stands above everything");
    }
    assert_says(
        &html(&job, 0),
        &["Every write succeeded, and everything read back matched."],
    );
    assert_says(&html(&job, 5), &["Nothing was written"]);
}

/// Keys are kept as long as the job can be resumed.
#[test]
fn keys_are_not_said_to_be_destroyed_too_early() {
    let job = outcomes();
    let drives = 0..job.drives.len();
    let said: Vec<_> = drives
        .map(|drive| html(&job, drive).contains("and then destroyed"))
        .collect();
    // Verified, incomplete, differs, interrupted, vanished, failed, overwritten, under way.
    assert_eq!(said, [true, true, true, false, false, false, true, false]);
}

/// `--keep-key` keeps the key of the last pass, and only if that is random.
#[test]
fn a_kept_key_is_that_of_a_last_random_pass() {
    let mut job = fixture::job();
    let random = ContentKind::Keystream;
    for (passes, keep_key, is_kept) in [
        (vec![random, ContentKind::ZEROS], true, false),
        (vec![ContentKind::ZEROS, random], true, true),
        (vec![random, random], true, true),
        (vec![random, random], false, false),
    ] {
        (job.plan.passes, job.plan.keep_key) = (passes, keep_key);
        for job in [&job, &fixture::verification_of(&job, 0)] {
            let page = html(job, 0);
            let kept = "The key of the last pass was kept for a later verification.";
            let said = [kept, "and then destroyed."].map(|words| page.contains(words));
            assert_eq!(said, [is_kept, !is_kept], "{:?}", job.plan);
        }
    }
    job.plan.keep_key = true;
    // It needs all keys.
    assert_says(&html(&job, 3), &["until the job is resumed"]);
}

/// A drive of four terabytes lacks one byte, or half of it was added while the other half was overwritten.
#[test]
fn what_is_missing_is_not_rounded_away() {
    let mut job = fixture::job();
    assert_says(&html(&job, 0), &["<dt>Share</dt><dd>100.0 %</dd>"]);
    job.drives[0].outcome = Some(Outcome::Incomplete);
    let mut grown = job.clone();
    job.drives[0].passes[0].unwritten = vec![Extent::new(5, 1)];
    let missing = "<dt>Not overwritten</dt><dd>1\u{a0}byte</dd>";
    let page = html(&job, 0);
    assert_says(&page, &["<dt>Share</dt><dd>99.9 %</dd>", missing]);

    grown.drives[0].size_at_end = Some(2 * grown.drives[0].target.size);
    let page = html(&grown, 0);
    assert_says(&page, &["Its size changed meanwhile, from"]);
    assert_eq!(page.matches("<dt>Share</dt><dd>50.0 %</dd>").count(), 2);
}

#[test]
fn many_ranges_are_cut_and_counted() {
    let mut job = fixture::job();
    let page = html(&job, 1);
    let more = "30 more ranges are in the JSON file.";
    assert_says(&page, &[">16,302,080</th>", more]);
    assert!(!page.contains("16,384,000"), "the 201st");
    job.drives[1].passes[0].unwritten.truncate(200);
    assert!(!html(&job, 1).contains("more ranges"));
    let page = html(&job, 2);
    assert_says(&page, &["3 more ranges were counted and not recorded."]);
}

/// Commands suit the drive, and pages about magnetic disks have none.
#[test]
fn flash_gets_the_commands_of_its_kind() {
    let job = fixture::job();
    assert_eq!(flash_advice(&job.drives[0].target, None), None);
    assert!(!html(&job, 0).contains("--purge"));
    let mut target = job.drives[2].target.clone();
    // A partition's command erases nothing beside it.
    for (path, kind, option, count) in [
        ("/dev/nvme12n1", Kind::Disk, "--purge", 1),
        ("/dev/mmcblk0", Kind::Disk, "--purge", 2),
        ("/dev/sda", Kind::Disk, "--purge", 1),
        ("/dev/nvme0n1p2", Kind::Partition, "--purge=discard", 1),
    ] {
        (target.path, target.kind) = (path.into(), kind);
        let Advice { commands, .. } = Advice::for_target(&target, None).expect("flash");
        let command = format!("squall wipe {option} --untried-on-hardware {path}");
        assert_eq!((&commands[0].0, commands.len()), (&command, count));
        let line = flash_advice(&target, None).expect("flash");
        assert!(line.contains(&command) && !line.contains('\n'), "{line}");
    }
}

/// A drive that squall can have erase itself needs no other program.
#[test]
fn flash_that_can_erase_itself_gets_purge() {
    let mut job = fixture::job();
    // One command erases all namespaces, and is refused for one alone.
    let both = fixture::supported(&["/dev/nvme0n1", "/dev/nvme0n2"]);
    job.drives[2].own_erase = Some(both);
    let page = html(&job, 2);
    let command = "squall wipe --purge --untried-on-hardware /dev/nvme0n1 /dev/nvme0n2";
    assert_says(&page, &[command, "NVMe Sanitize with block erase"]);

    let reason = "it erases all namespaces, and these were not named: 2";
    job.drives[2].own_erase = Some(fixture::unsupported(reason));
    let page = html(&job, 2);
    assert_says(&page, &[reason]);
    assert!(!page.contains("--purge /dev"), "{page}");
}

/// An erase that the drive has done is not advised again, and a failed one is reported.
#[test]
fn a_drive_that_erased_itself_needs_no_more() {
    const COMMAND: &str = "squall wipe --purge";
    let mut job = fixture::job();
    job.drives[2].outcome = Some(Outcome::Verified);
    assert_says(&html(&job, 2), &[COMMAND]);
    job.drives[2].purge = Some(fixture::purge(None));
    let page = html(&job, 2);
    let erased = "the drive erased itself by Format NVM with User Data Erase";
    assert_says(&page, &["done, as the drive says", erased]);
    assert!(!page.contains(COMMAND));

    job.drives[2].purge = Some(fixture::sanitized());
    let words = [
        "the drive erased itself by NVMe Sanitize with block erase",
        "found under way: nothing was sent into it",
        ">Get Log Page (opcode 0x02), page 0x81</td>",
        "SPROG 0xffff, SSTAT 0x0101, SCDW10 0x0000000a",
    ];
    assert_says(&html(&job, 2), &words);

    job.drives[2].purge = Some(fixture::purge(Some("refused")));
    job.drives[2].outcome = Some(Outcome::Incomplete);
    let words = [
        COMMAND,
        "failed: refused",
        "the drive's own erase failed.",
        "<dt>Tried</dt><dd>on emulated drives only",
    ];
    assert_says(&html(&job, 2), &words);

    let everything = " does not tell: everything it holds, or the key";
    for (means, reach) in [
        (EraseMethod::NvmeFormat, ": what this namespace holds;"),
        (EraseMethod::AtaSanitize, everything),
        (EraseMethod::ScsiSanitize, everything),
        (
            EraseMethod::AtaSanitizeBlock,
            ": everything it holds, including the spare cells",
        ),
        (
            EraseMethod::AtaSanitizeCrypto,
            ": the key under which it encrypts",
        ),
    ] {
        let purge = Purge::asked(means);
        let ended = Some(fixture::at(60));
        job.drives[2].purge = Some(Purge { ended, ..purge });
        let advice = Advice::for_drive(&job.drives[2]).expect("an erase");
        assert!(advice.text.contains(reach), "{advice:?}");
    }

    let mut discarded = fixture::purge(None);
    discarded.means = EraseMethod::SecureDiscard;
    job.drives[2].purge = Some(discarded);
    job.drives[2].target.path = "/dev/mmcblk0".into();
    let advice = Advice::for_drive(&job.drives[2]).expect("flash");
    assert_eq!(advice.commands.len(), 1, "{advice:?}");
    assert_eq!(advice.commands[0].0, "mmc sanitize /dev/mmcblk0");
}

/// Names come from outside. They are shown as text, whatever is in them.
#[test]
fn hostile_names_stay_text() {
    const HOSTILE: &str = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>&amp;</style>";
    let mut job = fixture::job();
    let usual = html(&job, 5);
    let target = &mut job.drives[5].target;
    (target.given, target.path) = (HOSTILE.into(), HOSTILE.into());
    for place in [&mut target.model, &mut target.serial, &mut target.wwid] {
        *place = Some(HOSTILE.into());
    }
    let (at, text) = (fixture::at(0), HOSTILE.into());
    job.drives[5].notes.push(Note { at, text });
    let reason = HOSTILE.into();
    job.drives[5].outcome = Some(Outcome::Failed { reason });
    let tool = &mut job.tool;
    for place in [
        &mut job.id,
        &mut tool.version,
        &mut tool.engine,
        &mut tool.host,
    ] {
        *place = HOSTILE.into();
    }
    let hostile = html(&job, 5);
    let count = |page: &str, what| page.matches(what).count();
    for what in ["<script", "<img", "onerror=alert(1)>", "</style>"] {
        assert_eq!(count(&hostile, what), count(&usual, what), "{what}");
    }
    assert!(count(&hostile, "&lt;script&gt;alert(1)&lt;/script&gt;&quot;") > 10);
}

#[test]
fn each_pass_says_what_was_read_back() {
    let mut job = three_passes();
    let page = html(&job, 0);
    let words = "with keystream of AES-256, then zeros, then bytes 0x55.";
    assert_says(&page, &[words]);
    assert_eq!(page.matches(">as written</td>").count(), 3);
    assert!(!html(&fixture::job(), 0).contains("Read back"));
    let second = found(&mut job, 1);
    (second.differing, second.differing_bytes) = (vec![SECTOR], 512);
    let range = "Not as written after pass 2: 1 range, listed at the end.";
    assert_says(&html(&job, 0), &[">512\u{a0}bytes differ</td>", range]);
}

/// What was found after the first pass alone is in the verdict, which does not speak of an erase that nobody asked for.
#[test]
fn a_verdict_counts_what_was_found_after_any_pass() {
    let mut job = three_passes();
    found(&mut job, 0).unreadable = vec![SECTOR];
    job.drives[0].outcome = Some(Outcome::Incomplete);
    let page = html(&job, 0);
    assert_says(&page, &["overwritten, but some could not be read back."]);
    assert!(!page.contains("its own erase"), "{page}");

    found(&mut job, 0).differing_bytes = 512;
    job.drives[0].outcome = Some(Outcome::Differs);
    assert_says(&html(&job, 0), &["512 of the bytes that were read back"]);
}

#[test]
fn pages_say_who_for_whom_and_with_what() {
    let job = fixture::job();
    let page = html(&job, 0);
    for (name, value) in [
        ("Customer", "Northwind Clinic"),
        ("Asset", "NW-004711"),
        ("Operator", "M. Rivera"),
        ("Machine", "LENOVO ThinkStation P3"),
        ("Machine's serial number", "PF4ABCDE"),
    ] {
        assert_says(&page, &[&format!("<dt>{name}</dt><dd>{value}</dd>")]);
    }
    let words = "Level of NIST SP 800-88 Rev. 2: Clear; every place that the host can address was overwritten, and \
                 everything that was read back matched.";
    assert_says(&page, &[words]);
    let page = html(&job, 6);
    assert_says(&page, &["Rev. 2: none; levels are for whole drives."]);
    let page = html(&fixture::verification_of(&job, 0), 0);
    let wipe = "<dt>Wiped by job</dt><dd>20261122T093000Z</dd>";
    assert_says(&page, &["Record of a verification", wipe]);
    assert!(!page.contains("Level of"));
}

/// A drive was verified, and tells of sectors that it hides: its page and that of the job name them.
#[test]
fn hidden_sectors_are_in_every_verdict() {
    let mut job = fixture::job();
    job.drives.truncate(1);
    job.drives.push(job.drives[0].clone());
    let files: Vec<PathBuf> = vec!["/1.json".into(), "/2.json".into()];
    let pages = |job: &Job| [html(job, 0), job_html(&whole(job), &files)];
    for page in pages(&job) {
        assert_says(&page, &["verdict good"]);
        assert!(!page.contains("hides"), "{page}");
    }
    let drive = &mut job.drives[0];
    let (hpa, dco) = (1_000_000, None);
    drive.hidden = Some(Hidden { hpa, dco });
    drive.level = Level::reached_by(drive);
    let [page, of_job] = pages(&job);
    let words = "none; it hides 1.00 MB (HPA), which was not overwritten.";
    assert_says(&page, &["verdict doubtful", words]);
    let words = ">none<small>hides 1.00 MB (HPA)</small></td>";
    assert_says(&of_job, &["verdict doubtful", words]);
}

/// What a drive does not report has no column.
#[test]
fn health_is_what_the_drive_reports() {
    let job = fixture::job();
    let magnetic = html(&job, 0);
    assert_says(&magnetic, &[">34 °C</td>", ">41 °C</td>", ">Reallocated<"]);
    assert!(!magnetic.contains(">Life used<"));
    let flash = html(&job, 2);
    assert_says(
        &flash,
        &[">warning 0x04</td>", ">48.1 TB</td>", ">Life used<"],
    );
    assert!(!flash.contains(">Reallocated<"));
    assert!(!html(&job, 6).contains("as the drive reports it"));
}

#[test]
fn the_page_of_a_job_has_all_its_drives() {
    let mut job = fixture::job();
    let page = |job: &Job| {
        let path = |drive| journal::report_path(Path::new("/reports"), job, drive);
        let files: Vec<_> = (0..job.drives.len()).map(path).collect();
        job_html(&whole(job), &files)
    };
    let words = [
        "<th scope=\"row\">1</th><td class=\"name\">WD-WX12A3456789<",
        ">01-WD-WX12A3456789.html</td>",
        "1 verified; 1 incomplete; 1 differs;",
        "verdict bad",
    ];
    assert_says(&page(&job), &words);
    assert_eq!(page(&job).matches(">Clear</td>").count(), 1);
    job.drives = vec![job.drives[0].clone(), job.drives[0].clone()];
    let words = [
        "<p class=\"word\">Verified</p>",
        "verdict good",
        "2 drives, 8.00 TB in all.",
    ];
    assert_says(&page(&job), &words);
}

#[test]
#[ignore = "needs chromium: `make test-all` runs it"]
fn every_page_is_whole_on_every_screen() {
    let job = outcomes();
    let drives = 0..job.drives.len();
    let mut pages: Vec<_> = drives.clone().map(|drive| html(&job, drive)).collect();
    pages.push(html(&three_passes(), 0));
    let file = |drive| format!("/reports/{}-{drive}.json", job.id).into();
    pages.push(job_html(&job, &drives.map(file).collect::<Vec<_>>()));
    let pages: Vec<_> = pages.iter().map(String::as_str).collect();
    check(CHROMIUM, &pages);
}

/// One sheet has everything but ranges with errors and commands: what was wiped, the verdict, and the lines to sign on. On
/// paper, a table that scrolls on a screen is shown to its last range.
#[test]
#[ignore = "needs chromium and pdftotext: `make test-all` runs it"]
fn everything_but_long_tables_fits_on_one_sheet() {
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
        let text = printed(&html(&job, drive));
        let sheets: Vec<_> = text.split_terminator('\u{c}').collect();
        let serial = job.drives[drive].target.serial.as_deref().unwrap_or("");
        let verdict = words::word(&job.drives[drive]);
        let same = "with every number exact";
        assert_says(
            sheets[0],
            &[serial, &verdict, "Verification", "Signature", same],
        );
        let lists = ["Ranges: ", "Commands of the drive's own erase"];
        let has_list = lists.iter().any(|title| text.contains(title));
        assert_eq!(sheets.len() > 1, has_list, "{text}");
        let is_incomplete = job.drives[drive].outcome == Some(Outcome::Incomplete);
        assert_eq!(text.contains("16,302,080"), is_incomplete);
    }
}

/// The text of `page` on paper.
fn printed(page: &str) -> String {
    let pdf = print(CHROMIUM, page);
    let mut reader = Command::new("pdftotext")
        .args(["-", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("pdftotext, of poppler-utils");
    let mut stdin = reader.stdin.take().expect("a pipe");
    stdin.write_all(&pdf).expect("it reads");
    drop(stdin);
    let output = reader.wait_with_output().expect("it ends");
    assert!(output.status.success());
    String::from_utf8_lossy(&output.stdout).into_owned()
}
