//! Tests every style with an invented run, at invented times.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

use indicatif::{InMemoryTerm, ProgressDrawTarget};
use serde_json::Value;
use squall_drives::Target;
use squall_drives::erase::EraseChoice;
use squall_testing::loops::Lab;
use squall_testing::schema::Schema;

use super::json::{self, Json, Line};
use super::log::Log;
use super::run::{Run, Totals};
use super::screen::Screen;
use super::{Show, View, fixture, table};
use crate::args::Then;
use crate::choice::{Choice, LeftOut};
use crate::event::{Event, EventKind};
use crate::plan::TargetPlan;
use crate::progress::{Phase, Progress};
use crate::record::{EraseMethod, Extent, FORMAT, Job, Outcome, OwnErase};
use crate::report;

const MB: u64 = 1_000_000;

/// The characters of bars.
const BAR: &str = "━┄";

/// A job of three targets: a drive without errors, a slow drive with errors, and a file.
fn job() -> Job {
    let mut job = fixture::job();
    job.drives = [0, 1, 6].map(|drive| job.drives[drive].clone()).to_vec();
    for drive in &mut job.drives {
        drive.outcome = None;
        drive.passes.clear();
        drive.verification = None;
    }
    job
}

/// The progress of drives that have moved nothing yet.
fn progress(job: &Job) -> Vec<Arc<Progress>> {
    job.drives.iter().map(|_| Arc::default()).collect()
}

/// Plays a run of 150 seconds in `view`: two drives at 150 MB/s, one of which becomes slow after 90
/// seconds, and a file that ends at once.
fn play<'a>(view: Box<dyn View + 'a>, job: &Job, progress: &[Arc<Progress>]) -> Show<'a> {
    let run = Run::new(job, progress);
    progress[0].set_temperature(Some(41.2));
    let mut show = Show::with(view, fixture::at(0), job, run).expect("it begins");
    let event = |drive, what| Event { drive, what };
    for (drive, progress) in progress.iter().enumerate() {
        progress.begin(Phase::Writing(1), 0, job.drives[drive].target.size);
        let what = EventKind::Pass {
            number: 1,
            offset: 0,
        };
        show.event_at(fixture::at(0), &event(drive, what))
            .expect("it is shown");
    }
    let failed = Outcome::Failed {
        reason: "No space\nleft".into(),
    };
    progress[2].end();
    show.event_at(fixture::at(0), &event(2, EventKind::Ended(failed)))
        .expect("it is shown");
    let mut notes = Vec::new();
    for tenth in 0..1500 {
        let (seconds, age) = (tenth / 10, Duration::from_millis(100) * tenth as u32);
        progress[0].moved(15 * MB);
        progress[1].moved(if tenth < 900 { 15 * MB } else { MB });
        if tenth == 605 {
            progress[1].refused(4096);
            let what = EventKind::Unwritten(Extent::new(81_920, 4096));
            show.event_at(fixture::at(seconds), &event(1, what))
                .expect("it is shown");
        }
        for (drive, note) in show
            .tick_at(fixture::at(seconds), age)
            .expect("it is shown")
        {
            let what = EventKind::Note { text: note.clone() };
            show.event_at(fixture::at(seconds), &event(drive, what))
                .expect("it is shown");
            notes.push((drive, note));
        }
    }
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(notes[0].0 == 1 && notes[0].1.starts_with("slow since 0 % of pass 1/1: "));
    show
}

/// A log that is written to `text`.
fn log(text: &RefCell<String>) -> Box<dyn View + '_> {
    let out = |line: &str| {
        text.borrow_mut().push_str(line);
        Ok(())
    };
    Box::new(Log::new(Box::new(out)))
}

/// A user who asks gets the same lines as in a log, above the bars.
#[test]
fn progress_is_shown_if_the_user_asks() {
    let job = job();
    let progress = progress(&job);
    let text = RefCell::default();
    let mut show = play(log(&text), &job, &progress);
    text.take();
    show.answer().expect("it is shown");
    let answer = text.take();
    let told = |line: &str| line.split_once(' ').expect("a time").1.to_owned();
    let lines: Vec<_> = answer.lines().map(told).collect();
    assert!(lines[0].starts_with("/dev/sdb (") && lines[1].starts_with("/dev/sdc ("));
    assert!(lines[2].starts_with("total: 1 of 3 finished, "), "{answer}");

    let term = InMemoryTerm::new(24, 200);
    let mut screen = Screen::on(ProgressDrawTarget::term_like(Box::new(term.clone())), BAR);
    let answered = screen.answer(fixture::at(150), &show.run);
    answered.expect("it is shown");
    screen.show(&show.run, (200, 24));
    let shown = term.contents();
    let words: Vec<_> = shown.split_whitespace().collect();
    let expected = lines.join(" ");
    let expected: Vec<_> = expected.split_whitespace().collect();
    assert_eq!(words[..expected.len()], expected);
}

/// What a run looks like in a log.
#[test]
fn log_lines_are_as_they_were() {
    let (job, text) = (job(), RefCell::new(String::new()));
    let progress = progress(&job);
    drop(play(log(&text), &job, &progress));
    let text = text.borrow();
    assert!(!text.chars().any(|c| c.is_control() && c != '\n'));
    insta::assert_snapshot!("log", *text);
}

/// What is on a terminal of so many lines and columns that shows `run`.
fn screen(run: &Run, lines: u16, columns: u16) -> Vec<String> {
    let term = InMemoryTerm::new(lines, columns);
    let target = ProgressDrawTarget::term_like(Box::new(term.clone()));
    let mut screen = Screen::on(target, BAR);
    screen.show(run, (columns.into(), lines.into()));
    let shown = term.contents().lines().map(str::to_owned).collect();
    drop(screen);
    assert_eq!(term.contents(), "", "the bars are removed");
    shown
}

#[test]
fn bars_are_as_they_were_and_fit() {
    let job = job();
    let progress = progress(&job);
    let text = RefCell::default();
    let show = play(log(&text), &job, &progress);
    let mut shown = String::new();
    for columns in [40, 80, 160] {
        let lines = screen(&show.run, 24, columns);
        assert_eq!(lines.len(), show.run.rows.len() + 1);
        shown += &format!("{columns}\n{}\n\n", lines.join("\n"));
    }
    insta::assert_snapshot!("screen", shown);
}

/// Two files of one name, and one of a long name.
#[test]
fn drives_are_right_apart() {
    let mut job = fixture::job();
    job.drives = vec![
        job.drives[6].clone(),
        job.drives[6].clone(),
        job.drives[6].clone(),
    ];
    let long = format!("/srv/{}/old.img", "x".repeat(99));
    for (drive, path) in job
        .drives
        .iter_mut()
        .zip(["/a/old.img", "/b/old.img", &long])
    {
        (drive.target.given, drive.target.path) = (path.into(), path.into());
    }
    let progress = progress(&job);
    let run = Run::new(&job, &progress);
    let lines = screen(&run, 24, 80);
    assert!(lines[0].contains("  /a/old.img ") && lines[1].contains("  /b/old.img "));
    assert!(
        lines[2].contains("  …xxxx") && lines[2].contains("x/old.img  "),
        "{lines:?}"
    );
}

/// If there are more drives than lines, those at work are shown; with more lines, all are again.
#[test]
fn drives_that_ended_make_room() {
    let job = job();
    let progress = progress(&job);
    let text = RefCell::default();
    let show = play(log(&text), &job, &progress);
    let lines = screen(&show.run, 5, 80);
    assert_eq!(lines.len(), 3);
    assert!(
        lines[0].contains("sdb") && lines[1].contains("sdc"),
        "{lines:?}"
    );
    assert!(lines[2].contains("1 not shown"), "{lines:?}");
    let term = InMemoryTerm::new(24, 80);
    let mut screen = Screen::on(ProgressDrawTarget::term_like(Box::new(term.clone())), BAR);
    for (lines, expected) in [(24, 4), (5, 3), (24, 4)] {
        screen.show(&show.run, (80, lines));
        assert_eq!(term.contents().lines().count(), expected);
    }
}

/// Events stay above the bars, and below them when these are removed.
#[test]
fn events_stand_above_the_bars() {
    let job = job();
    let progress = progress(&job);
    let term = InMemoryTerm::new(24, 80);
    let target = ProgressDrawTarget::term_like(Box::new(term.clone()));
    let show = play(Box::new(Screen::on(target, BAR)), &job, &progress);
    let shown = term.contents();
    let [event, bar] =
        ["sdc WD-WX12A3456790: 4096 B at 81920", "  sdb "].map(|text| shown.find(text));
    assert!(event.is_some() && event < bar, "{shown}");
    drop(show);
    let left = term.contents();
    assert!(
        left.contains("4096 B at 81920") && !left.contains("of 3 finished"),
        "{left}"
    );
}

#[test]
fn the_last_table_is_as_it_was() {
    let job = fixture::job();
    let totals = totals(job.drives.len());
    let wide = table::table(&job, &totals, None);
    let narrow = table::table(&job, &totals, Some(60));
    assert!(
        narrow.lines().all(|line| line.chars().count() <= 60),
        "{narrow}"
    );
    insta::assert_snapshot!("table", format!("{wide}\n60\n{narrow}"));
}

fn totals(drives: usize) -> Totals {
    Totals {
        drives,
        under_way: 0,
        moved: 22_671_126_503_424,
        now: None,
        seconds: 48_600.0,
        left: super::meter::Left::Unknown,
        cpu_seconds: 2_720.5,
    }
}

/// `squall verify` overwrites nothing, so its table does not say so.
#[test]
fn the_table_of_a_verification_has_what_was_compared() {
    let mut job = fixture::job();
    job.format = FORMAT.into();
    job.drives.truncate(1);
    let drive = &mut job.drives[0];
    let verification = drive.verification.as_mut().expect("a verification");
    verification.compared = drive.target.size / 2;
    let shown = table::table(&job, &totals(1), None);
    assert!(
        shown.contains("compared") && shown.contains(" 50.0 %"),
        "{shown}"
    );
    assert!(!shown.contains("overwritten"), "{shown}");
}

/// Every kind of event, as it is really written.
#[test]
fn the_schema_knows_every_event() {
    let (mut job, lines) = (job(), RefCell::new(Vec::new()));
    let progress = progress(&job);
    let out = |line: &str| {
        lines.borrow_mut().push(line.to_owned());
        Ok(())
    };
    let mut show = play(Box::new(Json::new(Box::new(out))), &job, &progress);
    let extent = Extent::new(0, 512);
    let means = EraseMethod::NvmeFormat;
    for what in [
        EventKind::Purge { means },
        EventKind::Purging {
            done: 0x4000,
            total: 0x1_0000,
        },
        EventKind::Purged {
            means,
            failure: None,
        },
        EventKind::Verification {
            number: 1,
            offset: 0,
        },
        EventKind::Attached {
            identity: Box::new(job.drives[0].target.clone()),
        },
        EventKind::Checkpoint { offset: 4096 },
        EventKind::Unreadable(extent),
        EventKind::Differing(extent),
        EventKind::Ended(Outcome::Differs),
        EventKind::Ended(Outcome::Dead {
            reason: "it no longer answers".into(),
        }),
    ] {
        show.event_at(fixture::at(151), &Event { drive: 0, what })
            .expect("it is shown");
    }
    job.drives[0].outcome = Some(Outcome::Differs);
    job.drives[2].outcome = Some(Outcome::Failed {
        reason: "No space left".into(),
    });
    show.stopping().expect("it is shown");
    show.remark("/dev/sdc: left out: is mounted at /media")
        .expect("it is shown");
    show.end(&job).expect("it is shown");
    let mut lines = lines.borrow_mut();
    assert!(lines[0].starts_with(r#"{"at":"2026-11-22T09:30:00.000Z","event":"begin""#));
    assert!(lines[lines.len() - 1].contains(r#"Z","event":"end","#));
    lines.extend(beside_the_run());
    let whole = |line: &String| line.ends_with("}\n") && line.matches('\n').count() == 1;
    assert!(lines.iter().all(whole));
    let values: Vec<Value> = lines
        .iter()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let count = |event: &str| {
        values
            .iter()
            .filter(|value| value["event"] == event)
            .count()
    };
    assert_eq!(
        count("progress"),
        2 * 150,
        "each second, of each drive at work"
    );
    let end = values.iter().find(|value| value["event"] == "end");
    assert_eq!(end.expect("an end")["drives"][2]["reason"], "No space left");
    Schema::derive::<Line>().check(&distinct(&values), &[]);
}

/// Events that are written before a run, and after it.
fn beside_the_run() -> Vec<String> {
    let lab = Lab::new();
    let target = Target::find(&lab.image("image", 4096)).expect("a target");
    let mut job = fixture::job();
    job.drives[0].purge = Some(fixture::sanitized());
    job.drives[0].own_erase = Some(OwnErase::Unsupported {
        reason: "it has no ATA sanitize".into(),
    });
    job.drives[1].own_erase = Some(OwnErase::Supported {
        means: EraseMethod::NvmeSanitizeBlock,
        targets: vec!["/dev/nvme0n1".into()],
    });
    let planned = TargetPlan {
        targets: &[target],
        plan: &job.plan,
        purge: Some(EraseChoice::Auto),
        erases: &[None],
        then: None,
    };
    let plan = planned.event().expect("a plan");
    let mut other = Target::find(&lab.image("other", 4096)).expect("a target");
    other.identity = fixture::job().drives[0].target.clone();
    let choice = Choice {
        targets: Vec::new(),
        left_out: vec![LeftOut {
            target: other,
            reason: "left out by --except".into(),
        }],
    };
    let mut lines = vec![json::left_out(&choice).expect("a choice"), plan];
    for drive in 0..job.drives.len() {
        let report = report::record(&job, drive);
        lines.push(report::event(&report).expect("a report"));
    }
    for then in [Then::Poweroff, Then::Standby] {
        lines.push(then.event().expect("an event"));
    }
    lines
}

/// The first event of each kind and outcome, all reports, and the first progress event with an estimate
/// of the time left.
fn distinct(values: &[Value]) -> Vec<Value> {
    let mut kept: Vec<Value> = Vec::new();
    for value in values {
        let is_like = |known: &Value| {
            ["event", "outcome", "what"]
                .iter()
                .all(|key| known.get(key) == value.get(key))
        };
        if value["event"] == "report" || !kept.iter().any(is_like) {
            kept.push(value.clone());
        }
    }
    let is_full = |value: &&Value| value["event"] == "progress" && value["seconds_left"].is_u64();
    kept.extend(values.iter().find(is_full).cloned());
    kept
}

/// A failing drive does not fill the screen, and each drive has a count of its own.
#[test]
fn lines_of_a_kind_are_counted() {
    let (job, text) = (job(), RefCell::new(String::new()));
    let progress = progress(&job);
    let run = Run::new(&job, &progress);
    let mut show = Show::with(log(&text), fixture::at(0), &job, run).expect("it begins");
    let mut tell = |drive, what| {
        show.event_at(fixture::at(1), &Event { drive, what })
            .expect("it is shown");
    };
    for offset in 0..100 {
        tell(0, EventKind::Unwritten(Extent::new(offset, 1)));
    }
    tell(0, EventKind::Unreadable(Extent::new(7, 1)));
    tell(1, EventKind::Unwritten(Extent::new(8, 1)));
    let text = text.borrow();
    assert_eq!(text.matches("could not be overwritten").count(), 20 + 1);
    assert_eq!(text.matches("further ones are in the report").count(), 1);
    assert_eq!(text.matches("could not be read").count(), 1);
}

#[test]
fn a_drive_that_sanitizes_itself_has_a_bar() {
    let job = job();
    let progress = progress(&job);
    let mut run = Run::new(&job, &progress);
    progress[0].begin(Phase::Purging, 0x6000, 0x1_0000);
    run.update(Duration::from_secs(60));
    let lines = screen(&run, 24, 80);
    let bar = "━━━┄┄┄┄┄┄┄  sdb      37 %  erases itself";
    assert!(lines[0].starts_with(bar), "{lines:?}");
}

#[test]
fn a_log_says_how_far_a_drive_has_sanitized_itself() {
    let (job, text) = (job(), RefCell::new(String::new()));
    let progress = progress(&job);
    let run = Run::new(&job, &progress);
    let mut show = Show::with(log(&text), fixture::at(0), &job, run).expect("it begins");
    let means = EraseMethod::AtaSanitizeBlock;
    let failure = Some("the drive refuses".into());
    progress[0].begin(Phase::Purging, 0x6000, 0x1_0000);
    let (done, total) = (0x6000, 0x1_0000);
    for (seconds, what) in [
        (1, EventKind::Purge { means }),
        (90, EventKind::Purging { done, total }),
        (
            91,
            EventKind::Purged {
                means,
                failure: None,
            },
        ),
        (92, EventKind::Purged { means, failure }),
    ] {
        let at = fixture::at(seconds);
        show.tick_at(at, Duration::from_secs(seconds as u64))
            .expect("it is shown");
        show.event_at(at, &Event { drive: 0, what })
            .expect("it is shown");
    }
    let text = text.borrow();
    let ends = [
        ": erases itself: ATA sanitize with BLOCK ERASE EXT",
        ": erases itself, 37 %",
        " total: 0 of 3 finished, 0 B moved",
        ": ATA sanitize with BLOCK ERASE EXT done",
        ": ATA sanitize with BLOCK ERASE EXT failed: the drive refuses",
    ];
    let lines: Vec<_> = text.lines().skip(1).collect();
    assert_eq!(lines.len(), ends.len(), "{text}");
    let are_right = lines
        .iter()
        .zip(ends)
        .all(|(line, end)| line.ends_with(end));
    assert!(are_right, "{text}");
}
