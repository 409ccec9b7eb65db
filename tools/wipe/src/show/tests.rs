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
use crate::plan::TargetPlan;
use crate::progress::{Event, EventKind, Phase, Progress};
use crate::record::{EraseMethod, Extent, FORMAT, Job, Outcome};
use crate::report;

const MB: u64 = 1_000_000;

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

fn begin<'a>(view: Box<dyn View + 'a>) -> (Show<'a>, Vec<Arc<Progress>>) {
    let job = job();
    let progress = progress(&job);
    let run = Run::new(&job, &progress);
    let show = Show::with(view, fixture::at(0), &job, run).expect("it begins");
    (show, progress)
}

/// Shows what happened to a drive, so many seconds after the beginning.
fn tell(show: &mut Show, seconds: i64, drive: usize, what: EventKind) {
    let shown = show.event_at(fixture::at(seconds), &Event { drive, what });
    shown.expect("it is shown");
}

/// Plays a run of 150 seconds in `view`: two drives at 150 MB/s, one of which becomes slow after 90
/// seconds, and a file that ends at once.
fn play<'a>(view: Box<dyn View + 'a>) -> Show<'a> {
    let (mut show, progress) = begin(view);
    progress[0].set_temperature(Some(41.2));
    let (number, offset) = (1, 0);
    for (drive, it) in job().drives.iter().enumerate() {
        progress[drive].begin(Phase::Writing(number), offset, it.target.size);
        tell(&mut show, 0, drive, EventKind::Pass { number, offset });
    }
    let reason = "No space\nleft".into();
    progress[2].end();
    tell(
        &mut show,
        0,
        2,
        EventKind::Ended(Outcome::Failed { reason }),
    );
    let mut notes = Vec::new();
    for tenth in 0..1500 {
        let (seconds, age) = (tenth / 10, Duration::from_millis(100) * tenth as u32);
        progress[0].moved(15 * MB);
        progress[1].moved(if tenth < 900 { 15 * MB } else { MB });
        if tenth == 605 {
            progress[1].refused(4096);
            let refused = EventKind::Unwritten(Extent::new(81_920, 4096));
            tell(&mut show, seconds, 1, refused);
        }
        let slow = show.tick_at(fixture::at(seconds), age);
        for (drive, text) in slow.expect("it is shown") {
            notes.push((drive, text.clone()));
            tell(&mut show, seconds, drive, EventKind::Note { text });
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
    let text = RefCell::default();
    let mut show = play(log(&text));
    text.take();
    show.answer().expect("it is shown");
    let answer = text.take();
    let told = |line: &str| line.split_once(' ').expect("a time").1.to_owned();
    let lines: Vec<_> = answer.lines().map(told).collect();
    assert!(lines[0].starts_with("/dev/sdb (") && lines[1].starts_with("/dev/sdc ("));
    assert!(lines[2].starts_with("total: 1 of 3 finished, "), "{answer}");

    let term = InMemoryTerm::new(24, 200);
    let mut screen = screen_on(&term);
    let answered = screen.answer(fixture::at(150), &show.run);
    answered.expect("it is shown");
    screen.show(&show.run, (200, 24));
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let shown = words(&term.contents());
    assert!(shown.starts_with(&words(&lines.join(" "))), "{shown}");
}

#[test]
fn log_lines_are_as_they_were() {
    let text = RefCell::default();
    drop(play(log(&text)));
    let text = text.borrow();
    assert!(!text.chars().any(|c| c.is_control() && c != '\n'));
    insta::assert_snapshot!("log", *text);
}

fn screen_on(term: &InMemoryTerm) -> Screen {
    Screen::on(ProgressDrawTarget::term_like(Box::new(term.clone())), BAR)
}

/// What is on a terminal of so many lines and columns that shows `run`.
fn screen(run: &Run, lines: u16, columns: u16) -> Vec<String> {
    let term = InMemoryTerm::new(lines, columns);
    let mut screen = screen_on(&term);
    screen.show(run, (columns.into(), lines.into()));
    let shown = term.contents().lines().map(str::to_owned).collect();
    drop(screen);
    assert_eq!(term.contents(), "", "the bars are removed");
    shown
}

#[test]
fn bars_are_as_they_were_and_fit() {
    let text = RefCell::default();
    let show = play(log(&text));
    let mut shown = String::new();
    for columns in [40, 80, 160] {
        let lines = screen(&show.run, 24, columns);
        assert_eq!(lines.len(), show.run.rows.len() + 1);
        shown += &format!("{columns}\n{}\n\n", lines.join("\n"));
    }
    insta::assert_snapshot!("screen", shown);
}

/// What there is no room for is left out, and nothing is cut off.
#[test]
fn bars_end_between_columns() {
    let text = RefCell::default();
    let show = play(log(&text));
    let drives = |columns| {
        let mut lines = screen(&show.run, 24, columns);
        lines.pop();
        let text = |line: String| line.trim_start_matches(['┄', '━', ' ']).to_owned();
        lines.into_iter().map(text).collect::<Vec<_>>()
    };
    let widest = drives(160);
    for columns in 20..160 {
        for (whole, line) in widest.iter().zip(drives(columns)) {
            let rest = whole.strip_prefix(&line);
            let ends = rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("  "));
            assert!(ends, "{columns}: {line:?} of {whole:?}");
        }
    }
}

/// Two files of one name, and one of a long name.
#[test]
fn drives_are_right_apart() {
    let mut job = fixture::job();
    let long = format!("/srv/{}/old.img", "x".repeat(99));
    let drives = ["/a/old.img", "/b/old.img", &long].map(|path| {
        let mut drive = job.drives[6].clone();
        (drive.target.given, drive.target.path) = (path.into(), path.into());
        drive
    });
    job.drives = drives.to_vec();
    let run = Run::new(&job, &progress(&job));
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
    let text = RefCell::default();
    let show = play(log(&text));
    let lines = screen(&show.run, 5, 80);
    assert_eq!(lines.len(), 3);
    for (line, words) in lines.iter().zip(["sdb", "sdc", "1 not shown"]) {
        assert!(line.contains(words), "{lines:?}");
    }
    let term = InMemoryTerm::new(24, 80);
    let mut screen = screen_on(&term);
    for (lines, expected) in [(24, 4), (5, 3), (24, 4)] {
        screen.show(&show.run, (80, lines));
        assert_eq!(term.contents().lines().count(), expected);
    }
}

/// Events stay above the bars, and below them when these are removed.
#[test]
fn events_stand_above_the_bars() {
    let term = InMemoryTerm::new(24, 80);
    let show = play(Box::new(screen_on(&term)));
    let shown = term.contents();
    let [event, bar] =
        ["sdc WD-WX12A3456790: 4096 B at 81920", "  sdb "].map(|text| shown.find(text));
    assert!(event.is_some() && event < bar, "{shown}");
    drop(show);
    let left = term.contents();
    let has = |words| left.contains(words);
    assert!(has("4096 B at 81920") && !has("of 3 finished"), "{left}");
}

#[test]
fn the_last_table_is_as_it_was() {
    let job = fixture::job();
    let totals = totals(job.drives.len());
    let wide = table::table(&job, &totals, None);
    let narrow = table::table(&job, &totals, Some(60));
    let fits = |line: &str| line.chars().count() <= 60;
    assert!(narrow.lines().all(fits), "{narrow}");
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
    let has = |words| shown.contains(words);
    let is_right = has("compared") && has(" 50.0 %") && !has("overwritten");
    assert!(is_right, "{shown}");
}

/// Every kind of event, as it is really written.
#[test]
fn the_schema_knows_every_event() {
    let (mut job, lines) = (job(), RefCell::new(Vec::new()));
    let out = |line: &str| {
        lines.borrow_mut().push(line.to_owned());
        Ok(())
    };
    let mut show = play(Box::new(Json::new(Box::new(out))));
    let extent = Extent::new(0, 512);
    let means = EraseMethod::NvmeFormat;
    let (done, total, failure) = (0x4000, 0x1_0000, None);
    let identity = Box::new(job.drives[0].target.clone());
    let reason = String::from("it no longer answers");
    for what in [
        EventKind::Purge { means },
        EventKind::Purging { done, total },
        EventKind::Purged { means, failure },
        EventKind::Verification {
            number: 1,
            offset: 0,
        },
        EventKind::Attached { identity },
        EventKind::Checkpoint { offset: 4096 },
        EventKind::Unreadable(extent),
        EventKind::Differing(extent),
        EventKind::Ended(Outcome::Differs),
        EventKind::Ended(Outcome::Dead { reason }),
    ] {
        tell(&mut show, 151, 0, what);
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
    let value = |line: &String| serde_json::from_str(line).expect("JSON");
    let values: Vec<Value> = lines.iter().map(value).collect();
    let progress = values.iter().filter(|value| value["event"] == "progress");
    assert_eq!(progress.count(), 2 * 150, "each second, of each at work");
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
    job.drives[0].own_erase = Some(fixture::unsupported("it has no ATA sanitize"));
    job.drives[1].own_erase = Some(fixture::supported(&["/dev/nvme0n1"]));
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
    let text = RefCell::default();
    let (mut show, _) = begin(log(&text));
    for offset in 0..100 {
        let refused = EventKind::Unwritten(Extent::new(offset, 1));
        tell(&mut show, 1, 0, refused);
    }
    tell(&mut show, 1, 0, EventKind::Unreadable(Extent::new(7, 1)));
    tell(&mut show, 1, 1, EventKind::Unwritten(Extent::new(8, 1)));
    for (words, count) in [
        ("could not be overwritten", 20 + 1),
        ("further ones are in the report", 1),
        ("could not be read", 1),
    ] {
        assert_eq!(text.borrow().matches(words).count(), count, "{words}");
    }
}

#[test]
fn a_log_says_how_far_a_drive_has_sanitized_itself() {
    let text = RefCell::default();
    let (mut show, progress) = begin(log(&text));
    let means = EraseMethod::AtaSanitizeBlock;
    let purged = |failure| EventKind::Purged { means, failure };
    progress[0].begin(Phase::Purging, 0x6000, 0x1_0000);
    let (done, total) = (0x6000, 0x1_0000);
    for (seconds, what) in [
        (1, EventKind::Purge { means }),
        (90, EventKind::Purging { done, total }),
        (91, purged(None)),
        (92, purged(Some("the drive refuses".into()))),
    ] {
        let age = Duration::from_secs(seconds as u64);
        let shown = show.tick_at(fixture::at(seconds), age);
        shown.expect("it is shown");
        tell(&mut show, seconds, 0, what);
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
    let mut pairs = lines.iter().zip(ends);
    assert!(pairs.all(|(line, end)| line.ends_with(end)), "{text}");
}
