//! Tests reports of every outcome, against their schema and in a browser.

mod browser;

use std::path::{Path, PathBuf};

use serde_json::Value;
use squall_drives::{Hidden, Kind};
use squall_testing::schema::Schema;

use super::{html, job_html, record, whole};
use crate::advice::{Advice, flash_advice};
use crate::journal;
use crate::record::{
    ContentKind, EraseMethod, Extent, Job, Level, Note, Outcome, OwnErase, Pass, Purge,
};
use crate::show::fixture;

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

#[test]
fn the_schema_knows_every_report() {
    let mut job = outcomes();
    let mut dead = job.drives[5].clone();
    dead.outcome = Some(Outcome::Dead {
        reason: "it no longer answers".into(),
    });
    job.drives.push(dead);
    job.drives[0].own_erase = Some(OwnErase::Unsupported {
        reason: "it has no ATA sanitize".into(),
    });
    job.drives[1].own_erase = Some(OwnErase::Supported {
        means: EraseMethod::NvmeSanitizeBlock,
        targets: vec!["/dev/nvme0n1".into()],
    });
    let drives = 0..job.drives.len();
    let mut reports: Vec<Value> = drives.map(|drive| json(&job, drive)).collect();
    let mut each = fixture::verification_of(&job, 0);
    each.drives[0].passes[0].verification = each.drives[0].verification.clone();
    reports.push(json(&each, 0));
    reports.push(serde_json::to_value(whole(&job)).expect("JSON"));
    Schema::derive::<Job>().check(&reports, &[]);
}

fn json(job: &Job, drive: usize) -> Value {
    serde_json::to_value(record(job, drive)).expect("JSON")
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
        assert!(
            page.contains(&format!("<p class=\"word\">{word}</p>")),
            "{word}"
        );
        assert!(page.contains(sentence), "{sentence}");
        let verdict = page.find(sentence);
        assert!(verdict < page.find("<h2"), "it stands above everything");
    }
}

/// Keys are kept as long as the job can be resumed.
#[test]
fn keys_are_not_said_to_be_destroyed_too_early() {
    let job = outcomes();
    let destroyed = |job: &Job, drive| html(job, drive).contains("and then destroyed");
    let said: Vec<_> = (0..job.drives.len())
        .map(|drive| destroyed(&job, drive))
        .collect();
    // Verified, incomplete, differs, interrupted, vanished, failed, overwritten, under way.
    assert_eq!(said, [true, true, true, false, false, false, true, false]);
}

/// `--keep-key` keeps the key of the last pass, and only if that is random.
#[test]
fn a_kept_key_is_that_of_a_last_random_pass() {
    const KEPT: &str = "The key of the last pass was kept for a later verification.";
    const DESTROYED: &str = "and then destroyed.";
    let mut job = fixture::job();
    let random = ContentKind::Keystream;
    for (passes, keep_key, expected) in [
        (vec![random, ContentKind::ZEROS], true, DESTROYED),
        (vec![ContentKind::ZEROS, random], true, KEPT),
        (vec![random, random], true, KEPT),
        (vec![random, random], false, DESTROYED),
    ] {
        (job.plan.passes, job.plan.keep_key) = (passes, keep_key);
        for job in [&job, &fixture::verification_of(&job, 0)] {
            let page = html(job, 0);
            let said = [KEPT, DESTROYED].map(|words| page.contains(words));
            assert_eq!(
                said,
                [expected == KEPT, expected == DESTROYED],
                "{expected}"
            );
        }
    }
    job.plan.keep_key = true;
    let page = html(&job, 3);
    assert!(
        page.contains("until the job is resumed"),
        "it needs all keys"
    );
}

/// A sample that matched does not make everything verified.
#[test]
fn a_level_does_not_claim_more_than_was_read_back() {
    let page = html(&fixture::job(), 0);
    let words = "was overwritten, and everything that was read back matched.";
    assert!(page.contains(words) && !page.contains("and verified."));
}

#[test]
fn a_drive_that_was_not_touched_has_no_clean_bill() {
    let job = outcomes();
    assert!(html(&job, 0).contains("Every write succeeded, and everything read back matched."));
    assert!(html(&job, 5).contains("Nothing was written"));
}

/// A drive of four terabytes lacks one byte.
#[test]
fn a_missing_byte_is_not_rounded_away() {
    let mut job = fixture::job();
    assert!(html(&job, 0).contains("<dt>Share</dt><dd>100.0 %</dd>"));
    job.drives[0].passes[0].unwritten = vec![Extent::new(5, 1)];
    job.drives[0].outcome = Some(Outcome::Incomplete);
    let page = html(&job, 0);
    assert!(page.contains("<dt>Share</dt><dd>99.9 %</dd>"));
    assert!(page.contains("<dt>Not overwritten</dt><dd>1\u{a0}byte</dd>"));
}

/// Half of the drive was added while the other half was overwritten and verified.
#[test]
fn a_changed_size_is_on_the_page() {
    let mut job = fixture::job();
    let size = job.drives[0].target.size;
    job.drives[0].size_at_end = Some(2 * size);
    job.drives[0].outcome = Some(Outcome::Incomplete);
    let page = html(&job, 0);
    assert!(page.contains("Its size changed meanwhile, from"), "{page}");
    assert_eq!(page.matches("<dt>Share</dt><dd>50.0 %</dd>").count(), 2);
}

#[test]
fn many_ranges_are_cut_and_counted() {
    let mut job = fixture::job();
    let page = html(&job, 1);
    assert!(page.contains("<td>16,302,080</td>"), "the 200th");
    assert!(!page.contains("<td>16,384,000</td>"), "the 201st");
    assert!(page.contains("30 more ranges are in the JSON file."));
    job.drives[1].passes[0].unwritten.truncate(200);
    assert!(!html(&job, 1).contains("more ranges"));
    assert!(html(&job, 2).contains("3 more ranges were counted and not recorded."));
}

/// Commands suit the drive, and pages about magnetic disks have none.
#[test]
fn flash_gets_the_commands_of_its_kind() {
    let job = fixture::job();
    assert_eq!(flash_advice(&job.drives[0].target, None), None);
    assert!(!html(&job, 0).contains("--purge"));
    let mut target = job.drives[2].target.clone();
    for (path, kind, command) in [
        (
            "/dev/nvme12n1",
            Kind::Disk,
            "squall wipe --purge /dev/nvme12n1",
        ),
        (
            "/dev/mmcblk0",
            Kind::Disk,
            "squall wipe --purge /dev/mmcblk0",
        ),
        ("/dev/sda", Kind::Disk, "squall wipe --purge /dev/sda"),
        (
            "/dev/nvme0n1p2",
            Kind::Partition,
            "squall wipe --purge=discard /dev/nvme0n1p2",
        ),
    ] {
        (target.path, target.kind) = (path.into(), kind);
        let advice = Advice::for_target(&target, None).expect("flash");
        assert_eq!(advice.commands[0].0, command);
        assert!(
            flash_advice(&target, None)
                .is_some_and(|text| text.contains(command) && !text.contains('\n'))
        );
    }
    let advice = Advice::for_target(&target, None).expect("flash");
    let [(command, _)] = &advice.commands[..] else {
        panic!("{advice:?}");
    };
    assert!(
        command.contains("--purge=discard "),
        "anything else would erase other partitions"
    );
}

/// A drive that squall can have erase itself needs no other program.
#[test]
fn flash_that_can_erase_itself_gets_purge() {
    let mut job = fixture::job();
    job.drives[2].own_erase = Some(OwnErase::Supported {
        means: EraseMethod::NvmeSanitizeCrypto,
        targets: ["/dev/nvme0n1", "/dev/nvme0n2"].map(Into::into).into(),
    });
    let page = html(&job, 2);
    // One command erases all namespaces, and is refused for one alone.
    assert!(
        page.contains("squall wipe --purge /dev/nvme0n1 /dev/nvme0n2")
            && !page.contains("nvme sanitize"),
        "{page}"
    );
    assert!(page.contains("NVMe Sanitize with crypto erase"), "{page}");

    let reason = "it erases all namespaces, and these were not named: 2";
    job.drives[2].own_erase = Some(OwnErase::Unsupported {
        reason: reason.into(),
    });
    let page = html(&job, 2);
    assert!(
        page.contains(reason) && !page.contains("--purge /dev"),
        "{page}"
    );
}

/// An erase that the drive has done is not advised again, and a failed one is reported.
#[test]
fn a_drive_that_erased_itself_needs_no_more() {
    let mut job = fixture::job();
    let drive = &mut job.drives[2];
    drive.outcome = Some(Outcome::Verified);
    assert!(html(&job, 2).contains("squall wipe --purge"));
    job.drives[2].purge = Some(fixture::purge(None));
    let page = html(&job, 2);
    assert!(!page.contains("squall wipe --purge") && page.contains("done, as the drive says"));
    assert!(page.contains("the drive erased itself by Format NVM with User Data Erase"));

    job.drives[2].purge = Some(fixture::sanitized());
    let page = html(&job, 2);
    for words in [
        "the drive erased itself by NVMe Sanitize with block erase",
        "found under way: nothing was sent into it",
        "<td>Get Log Page (opcode 0x02), page 0x81</td>",
        "SPROG 0xffff, SSTAT 0x0101, SCDW10 0x0000000a",
    ] {
        assert!(page.contains(words), "{words}");
    }

    job.drives[2].purge = Some(fixture::purge(Some("refused")));
    job.drives[2].outcome = Some(Outcome::Incomplete);
    let page = html(&job, 2);
    assert!(page.contains("squall wipe --purge") && page.contains("failed: refused"));
    assert!(page.contains("the drive's own erase failed."));
    assert!(page.contains("<dt>Tried</dt><dd>on emulated drives only"));

    for (means, reach) in [
        (EraseMethod::NvmeFormat, ": what this namespace holds;"),
        (
            EraseMethod::AtaSanitize,
            " does not tell: everything it holds, or the key",
        ),
        (
            EraseMethod::ScsiSanitize,
            " does not tell: everything it holds, or the key",
        ),
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
    job.drives[5].outcome = Some(Outcome::Failed {
        reason: HOSTILE.into(),
    });
    for place in [
        &mut job.id,
        &mut job.tool.version,
        &mut job.tool.engine,
        &mut job.tool.host,
    ] {
        *place = HOSTILE.into();
    }
    let hostile = html(&job, 5);
    for what in ["<script", "<img", "onerror=alert(1)>", "</style>"] {
        assert_eq!(
            hostile.matches(what).count(),
            usual.matches(what).count(),
            "{what}"
        );
    }
    assert!(
        hostile
            .matches("&lt;script&gt;alert(1)&lt;/script&gt;&quot;")
            .count()
            > 10
    );
}

/// All passes of a contract, each of them verified.
fn three_passes() -> Job {
    let mut job = fixture::job();
    job.plan.passes = vec![
        ContentKind::Keystream,
        ContentKind::ZEROS,
        ContentKind::Byte(0x55),
    ];
    job.plan.verify_each = true;
    let drive = &mut job.drives[0];
    drive.passes = job
        .plan
        .passes
        .iter()
        .map(|content| Pass {
            content: *content,
            verification: drive.verification.clone(),
            ..drive.passes[0].clone()
        })
        .collect();
    drive.passes[2].verification = None;
    job
}

#[test]
fn each_pass_says_what_was_read_back() {
    let mut job = three_passes();
    let page = html(&job, 0);
    assert!(page.contains("with keystream of AES-256, then zeros, then bytes 0x55."));
    assert_eq!(page.matches("<td>as written</td>").count(), 3);
    assert!(!html(&fixture::job(), 0).contains("Read back"));
    let found = &mut job.drives[0].passes[1].verification;
    let found = found.as_mut().expect("a verification");
    (found.differing, found.differing_bytes) = (vec![SECTOR], 512);
    let page = html(&job, 0);
    assert!(page.contains("<td>512\u{a0}bytes differ</td>"));
    assert!(page.contains("Not as written after pass 2: 1 range, listed at the end."));
}

/// What was found after the first pass alone is in the verdict, which does not speak of an erase that nobody asked for.
#[test]
fn a_verdict_counts_what_was_found_after_any_pass() {
    let mut job = three_passes();
    let verdict = |job: &Job, outcome| {
        let mut job = job.clone();
        job.drives[0].outcome = Some(outcome);
        html(&job, 0)
    };
    let found = &mut job.drives[0].passes[0].verification;
    found.as_mut().expect("a verification").unreadable = vec![SECTOR];
    let page = verdict(&job, Outcome::Incomplete);
    assert!(
        page.contains("overwritten, but some could not be read back.")
            && !page.contains("its own erase"),
        "{page}"
    );

    let found = &mut job.drives[0].passes[0].verification;
    found.as_mut().expect("a verification").differing_bytes = 512;
    let page = verdict(&job, Outcome::Differs);
    assert!(
        page.contains("512 of the bytes that were read back"),
        "{page}"
    );
}

const SECTOR: Extent = Extent::new(0, 512);

#[test]
fn pages_say_who_for_whom_and_with_what() {
    let job = fixture::job();
    let page = html(&job, 0);
    for (name, value) in [
        ("Customer", "Northwind Clinic"),
        ("Asset", "NW-004711"),
        ("Operator", "M. Rivera"),
        ("Machine", "LENOVO ThinkStation P3"),
        ("Its serial number", "PF4ABCDE"),
    ] {
        let fact = format!("<dt>{name}</dt><dd>{value}</dd>");
        assert!(page.contains(&fact), "{fact}");
    }
    assert!(page.contains("Level of NIST SP 800-88 Rev. 2: <strong>Clear</strong>;"));
    assert!(html(&job, 6).contains("<strong>none</strong>; levels are for whole drives."));
    let page = html(&fixture::verification_of(&job, 0), 0);
    assert!(page.contains("Record of a verification") && !page.contains("Level of"));
    assert!(page.contains("<dt>Wiped by job</dt><dd>20261122T093000Z</dd>"));
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
        assert!(
            page.contains("verdict good") && !page.contains("hides"),
            "{page}"
        );
    }
    let drive = &mut job.drives[0];
    drive.hidden = Some(Hidden {
        hpa: 1_000_000,
        dco: None,
    });
    drive.level = Level::reached_by(drive);
    let [page, of_job] = pages(&job);
    let words = "<strong>none</strong>; it hides 1.00 MB (HPA), which was not overwritten.";
    assert!(
        page.contains("verdict doubtful") && page.contains(words),
        "{page}"
    );
    let words = "<td>none<br><span class=\"note\">hides 1.00 MB (HPA)</span></td>";
    assert!(
        of_job.contains("verdict doubtful") && of_job.contains(words),
        "{of_job}"
    );
}

/// What a drive does not report has no column.
#[test]
fn health_is_what_the_drive_reports() {
    let job = fixture::job();
    let magnetic = html(&job, 0);
    assert!(magnetic.contains("<td>34\u{a0}°C</td>") && magnetic.contains("<td>41\u{a0}°C</td>"));
    assert!(magnetic.contains(">Reallocated<") && !magnetic.contains(">Life used<"));
    let flash = html(&job, 2);
    assert!(flash.contains("<td>warning 0x04</td>") && flash.contains("<td>48.1\u{a0}TB</td>"));
    assert!(flash.contains(">Life used<") && !flash.contains(">Reallocated<"));
    assert!(!html(&job, 6).contains("as the drive reports it"));
}

#[test]
fn the_page_of_a_job_has_all_its_drives() {
    let mut job = fixture::job();
    let files = |job: &Job| -> Vec<PathBuf> {
        let drives = 0..job.drives.len();
        let path = |drive| journal::report_path(Path::new("/reports"), job, drive);
        drives.map(path).collect()
    };
    let page = job_html(&whole(&job), &files(&job));
    assert!(page.contains("<td>01-WD-WX12A3456789.html</td>"), "{page}");
    assert!(page.contains("1 verified; 1 incomplete; 1 differs;") && page.contains("verdict bad"));
    assert_eq!(page.matches("<td>Clear</td>").count(), 1);
    job.drives = vec![job.drives[0].clone(), job.drives[0].clone()];
    let page = job_html(&whole(&job), &files(&job));
    assert!(page.contains("<p class=\"word\">Verified</p>") && page.contains("verdict good"));
    assert!(page.contains("Of 2 drives with 8.00 TB in all."));
}
