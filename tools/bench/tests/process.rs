//! Experiments with new processes, and what is said of forks.

use std::thread;
use std::time::Duration;

use squall_bench::child::Work;
use squall_bench::process::{contestants, pipe};
use squall_bench::source::NOTHING;
use squall_bench::sources::{self, Opened, in_process};
use squall_testing::suite::Test;
use squall_testing::tests;
use squall_tools::measure::contest::Contestant;

use crate::child;
use crate::sources::By;

pub const TESTS: &[Test] = tests![
    first_bytes_are_timed,
    only_a_child_that_should_draw_does,
    blocks_come_through_a_pipe,
    programs_write,
    a_source_that_gives_nothing_is_a_failure,
    what_is_not_there_is_a_failure,
    what_is_said_of_forks_is_true,
];

/// No sleep is shorter than this; how much longer it takes depends on the machine.
const SLEEP: Duration = Duration::from_millis(5);

/// The sources of children.
pub fn open(name: &str) -> Opened {
    let parent = std::process::id();
    match name {
        "slow" => in_process(By(|out: &mut [u8]| {
            thread::sleep(SLEEP);
            squall::fill(out);
        })),
        "constant" => in_process(By(|out: &mut [u8]| out.fill(7))),
        "idle" => in_process(By(|_: &mut [u8]| ())),
        "fails-in-a-child" => in_process(By(move |out: &mut [u8]| {
            if std::process::id() != parent {
                std::process::abort();
            }
            squall::fill(out);
        })),
        "missing" => Err("libidle is not\ninstalled".into()),
        _ => sources::open(name),
    }
}

/// What one run of each of `contestants` gives.
fn run(contestants: Vec<Contestant>) -> Vec<Result<f64, String>> {
    let runs = contestants
        .into_iter()
        .map(|mut contestant| (contestant.batch)(1));
    runs.collect()
}

fn times(contestants: Vec<Contestant>) -> Vec<f64> {
    let times: Result<Vec<f64>, String> = run(contestants).into_iter().collect();
    let times = times.expect("they run");
    assert!(times.iter().all(|ns| *ns > 0.0), "{times:?}");
    times
}

fn first_bytes_are_timed() {
    let contestants = contestants(Work::FirstBytes, &[NOTHING, "squall", "slow"], 32);
    assert!(times(contestants)[2] >= SLEEP.as_nanos() as f64);
}

fn only_a_child_that_should_draw_does() {
    let forks = |source, bytes| run(contestants(Work::Forks, &[source], bytes)).remove(0);
    let drawn = forks("slow", 32).expect("it runs");
    assert!(drawn >= SLEEP.as_nanos() as f64);
    assert!(forks("fails-in-a-child", 32).is_err());
    assert!(forks("fails-in-a-child", 0).is_ok());
}

fn blocks_come_through_a_pipe() {
    for len in pipe::LENGTHS {
        times(pipe::contestants(&[NOTHING, "squall"], len, 4 << 20));
    }
    let constant = run(pipe::contestants(&["constant"], 512, 1 << 20)).remove(0);
    assert!(constant.expect_err("one byte").contains("over and over"));
}

/// This test is not `squall`, and so is not taken for `squall stream`.
fn programs_write() {
    let contestants = pipe::program_contestants(4096, 1 << 20);
    let names: Vec<&str> = contestants
        .iter()
        .map(|contestant| &*contestant.name)
        .collect();
    assert!(names.contains(&"dd-urandom") && !names.contains(&"squall-stream"));
    times(contestants);
}

fn a_source_that_gives_nothing_is_a_failure() {
    let idle = run(contestants(Work::FirstBytes, &["idle"], 32)).remove(0);
    assert!(idle.expect_err("no bytes").contains("it returned no bytes"));
}

fn what_is_not_there_is_a_failure() {
    let names = ["none"];
    let experiments = [Work::FirstBytes, Work::Forks];
    let contestants = experiments
        .into_iter()
        .flat_map(|it| contestants(it, &names, 0));
    let contestants = contestants
        .chain(pipe::contestants(&names, 512, 1))
        .collect();
    assert!(run(contestants).iter().all(Result::is_err));
}

/// In a process of one thread, as no lock may be held by another one.
fn what_is_said_of_forks_is_true() {
    let output = child::command(child::REPEATS).output().expect("it runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
}
