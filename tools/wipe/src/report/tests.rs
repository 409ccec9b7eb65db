//! Tests reports of every outcome, against their schema and in a browser.

mod browser;

use serde_json::Value;
use squall_drives::Kind;
use squall_testing::schema::Schema;

use super::{Advice, flash_advice, html, record};
use crate::record::{Extent, Job, Means, Note, Outcome};
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
    let drives = 0..job.drives.len();
    let reports: Vec<Value> = drives.map(|drive| json(&job, drive)).collect();
    Schema::of::<Job>("schema/wipe-report.schema.json").check(&reports, &[]);
}

fn json(job: &Job, drive: usize) -> Value {
    serde_json::to_value(record(job, drive)).expect("JSON")
}

/// A report can be read as a job, for a later verification.
#[test]
fn a_report_is_a_job_of_one_drive() {
    let job = outcomes();
    for (number, drive) in job.drives.iter().enumerate() {
        let read: Job = serde_json::from_value(json(&job, number)).expect("a job");
        assert_eq!(read.drives.len(), 1);
        assert_eq!(read.drives[0].target, drive.target);
        assert_eq!(read.drives[0].outcome, drive.outcome);
    }
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
    let mut job = outcomes();
    let destroyed = |job: &Job, drive| html(job, drive).contains("and then destroyed");
    let said: Vec<_> = (0..job.drives.len())
        .map(|drive| destroyed(&job, drive))
        .collect();
    // Verified, incomplete, differs, interrupted, vanished, failed, overwritten, under way.
    assert_eq!(said, [true, true, true, false, false, false, true, false]);
    job.plan.keep_key = true;
    assert!(!destroyed(&job, 0));
}

#[test]
fn a_drive_that_was_not_touched_has_no_clean_bill() {
    let job = outcomes();
    assert!(html(&job, 0).contains("the drive refused no byte, and none"));
    assert!(html(&job, 5).contains("Nothing was written"));
}

/// A drive of four terabytes lacks one byte.
#[test]
fn a_missing_byte_is_not_rounded_away() {
    let mut job = fixture::job();
    assert!(html(&job, 0).contains("<dt>Share</dt><dd>100.0 %</dd>"));
    job.drives[0].passes[0].unwritten = vec![Extent {
        offset: 5,
        length: 1,
    }];
    job.drives[0].outcome = Some(Outcome::Incomplete);
    let page = html(&job, 0);
    assert!(page.contains("<dt>Share</dt><dd>99.9 %</dd>"));
    assert!(page.contains("<dt>Not overwritten</dt><dd>1\u{a0}byte</dd>"));
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
    assert_eq!(flash_advice(&job.drives[0].target), None);
    assert!(!html(&job, 0).contains("sanitize"));
    let mut target = job.drives[2].target.clone();
    for (path, kind, command) in [
        (
            "/dev/nvme12n1",
            Kind::Disk,
            "nvme sanitize /dev/nvme12 --sanact=2",
        ),
        (
            "/dev/mmcblk0",
            Kind::Disk,
            "blkdiscard --secure /dev/mmcblk0",
        ),
        (
            "/dev/sda",
            Kind::Disk,
            "hdparm --yes-i-know-what-i-am-doing --sanitize-block-erase /dev/sda",
        ),
        (
            "/dev/nvme0n1p2",
            Kind::Partition,
            "blkdiscard --secure /dev/nvme0n1p2",
        ),
    ] {
        (target.path, target.kind) = (path.into(), kind);
        let advice = Advice::of(&target).expect("flash");
        assert_eq!(advice.commands[0].0, command);
        assert!(
            flash_advice(&target)
                .is_some_and(|text| text.contains(command) && !text.contains('\n'))
        );
    }
    let sanitize = |(command, _): &(String, _)| command.contains("sanitize");
    let advice = Advice::of(&target).expect("flash");
    assert!(
        !advice.commands.iter().any(sanitize),
        "it would erase other partitions"
    );
}

/// An erase that the drive has done is not advised again, and a failed one is reported.
#[test]
fn a_drive_that_erased_itself_needs_no_more() {
    let mut job = fixture::job();
    let drive = &mut job.drives[2];
    drive.outcome = Some(Outcome::Verified);
    assert!(html(&job, 2).contains("nvme sanitize"));
    job.drives[2].purge = Some(fixture::purge(None));
    let page = html(&job, 2);
    assert!(!page.contains("nvme sanitize") && page.contains("done, as the drive says"));
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
    assert!(page.contains("nvme sanitize") && page.contains("failed: refused"));
    assert!(page.contains("its own erase failed."));

    let mut discarded = fixture::purge(None);
    discarded.means = Means::SecureDiscard;
    job.drives[2].purge = Some(discarded);
    job.drives[2].target.path = "/dev/mmcblk0".into();
    let advice = Advice::on(&job.drives[2]).expect("flash");
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
