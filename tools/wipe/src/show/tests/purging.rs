//! A drive that sanitizes itself, on a terminal and in a log.

use super::*;

#[test]
fn a_drive_that_sanitizes_itself_has_a_bar() {
    let job = job();
    let progress = progress(&job);
    let mut run = Run::new(&job, &progress);
    progress[0].begin(Phase::Purging, 0x6000, 0x1_0000);
    progress[1].begin(Phase::Writing(1), 0, job.drives[1].target.size);
    for second in 0..60 {
        progress[1].moved(150 * MB);
        run.update(Duration::from_secs(second));
    }
    let mut shown = String::new();
    for columns in [60, 80, 160] {
        let lines = screen(&run, 24, columns).join("\n");
        shown += &format!("{columns}\n{lines}\n\n");
    }
    insta::assert_snapshot!("purging", shown);
}

#[test]
fn a_log_says_how_far_it_is() {
    let (job, text) = (job(), RefCell::new(String::new()));
    let progress = progress(&job);
    let run = Run::new(&job, &progress);
    let mut show = Show::with(log(&text), fixture::at(0), &job, run).expect("it begins");
    let means = EraseMethod::AtaSanitizeBlock;
    let failure = Some("the drive refuses: sanitize commands are frozen".into());
    progress[0].begin(Phase::Purging, 0x6000, 0x1_0000);
    for (seconds, what) in [
        (1, EventKind::Purge { means }),
        (
            90,
            EventKind::Purging {
                done: 0x6000,
                total: 0x1_0000,
            },
        ),
        (
            91,
            EventKind::Purged {
                means,
                failure: None,
            },
        ),
        (92, EventKind::Purged { means, failure }),
    ] {
        let age = Duration::from_secs(seconds);
        let at = fixture::at(seconds as i64);
        show.tick_at(at, age).expect("it is shown");
        show.event_at(at, &Event { drive: 0, what })
            .expect("it is shown");
    }
    drop(show);
    insta::assert_snapshot!("purging_log", *text.borrow());
}
