//! Batteries of others, where they are installed: each passes a good stream and fails a counter.

use std::process::Command;
use std::time::Duration;

use squall::Stream;
use squall_bench::battery::{
    Battery, BatteryResult, DIEHARDER, PRACTRAND, TESTU01, Tally, dieharder, testu01,
};
use squall_testing::suite::{self, NOTHING, Need, Test};
use squall_testing::tests;
use squall_tools::Failure;

use crate::child;

pub const TESTS: &[Test] = tests![
    dieharder_judges: [HAS_DIEHARDER],
    practrand_judges: [HAS_PRACTRAND],
    testu01_judges: [HAS_TESTU01],
    what_it_prints_is_counted,
    a_child_of_ours_may_be_one,
    one_that_takes_too_long_is_ended,
    a_stream_that_fails_ends_the_battery,
    a_battery_that_is_not_there_has_no_result,
    one_that_says_nothing_has_no_result,
];

const HAS_DIEHARDER: Need = Need {
    check: || suite::command("dieharder"),
    required_by: NOTHING,
};
const HAS_PRACTRAND: Need = Need {
    check: || suite::command("RNG_test").or_else(|_| suite::command("practrand-RNG_test")),
    required_by: NOTHING,
};
const HAS_TESTU01: Need = Need {
    check: || {
        if testu01::is_installed() {
            Ok(())
        } else {
            Err("TestU01 is not installed".into())
        }
    },
    required_by: NOTHING,
};

const TIME: Duration = Duration::from_secs(3600);

/// One of dieharder's tests.
const DIEHARDER_SUMS: Battery = Battery {
    programs: |_| vec![dieharder(&["-d", "101"])],
    ..DIEHARDER
};

fn run(battery: &Battery, fill: &mut dyn FnMut(&mut [u8])) -> BatteryResult {
    let mut fill = |out: &mut [u8]| {
        fill(out);
        Ok(())
    };
    let result = battery.run(TIME, 64 << 20, &mut fill);
    result.expect("a stream").expect("it is installed")
}

#[track_caller]
fn judges(battery: &Battery) {
    // The same bytes each time, which no test happens to find fault with.
    let mut stream = Stream::new(&[7; 32]);
    let mut fill = |out: &mut [u8]| stream.fill(out).expect("a long stream");
    let good = run(battery, &mut fill).tally.expect("results");
    assert!(good.failed.is_empty() && good.passed > 0, "{good:?}");
    assert!(!good.is_stopped);
    let mut counter = 0_u64;
    let bad = run(battery, &mut |out| {
        for word in out.chunks_mut(8) {
            counter += 1;
            word.copy_from_slice(&counter.to_le_bytes()[..word.len()]);
        }
    });
    assert!(!bad.tally.expect("results").failed.is_empty());
}

fn dieharder_judges() {
    judges(&DIEHARDER_SUMS);
}

fn practrand_judges() {
    judges(&PRACTRAND);
}

fn testu01_judges() {
    judges(&TESTU01);
}

/// A battery that is a shell's script, in place of one that may not be installed.
fn script(programs: fn(u64) -> Vec<Command>) -> Battery {
    Battery {
        programs,
        ..DIEHARDER
    }
}

fn shell(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    command
}

fn what_it_prints_is_counted() {
    let battery = script(|_| {
        let first = Command::new("/nonexistent/program");
        let lines = "echo 'a|0|1|1|0.5|PASSED'; echo 'b|0|1|1|0.0|FAILED'";
        vec![first, shell(&format!("head -c 200000 >/dev/null; {lines}"))]
    });
    let expected = "dieharder: 1 passed, 0 suspicious, 1 failed; first failed: b 0 (p 0.0)";
    assert_eq!(run(&battery, &mut squall::fill).to_string(), expected);
}

/// As TestU01 is run.
fn a_child_of_ours_may_be_one() {
    let battery = Battery {
        programs: |_| vec![child("missing")],
        tally: |text| Tally {
            passed: text.matches("error libidle").count() as u32,
            ..Tally::default()
        },
        ..DIEHARDER
    };
    let tally = run(&battery, &mut squall::fill).tally;
    assert_eq!(tally.expect("what it printed").passed, 1);
}

fn one_that_takes_too_long_is_ended() {
    let battery = script(|_| vec![shell("echo 'a|0|1|1|0.5|PASSED'; sleep 600")]);
    // How long a shell takes to start depends on the machine.
    let mut limits = (1..9).map(|doubled| Duration::from_secs(1 << doubled));
    let tally = limits.find_map(|limit| {
        let result = battery.run(limit, 1 << 20, &mut |_| Ok(()));
        result.expect("a stream")?.tally.ok()
    });
    let tally = tally.expect("a result");
    assert!(tally.is_stopped && tally.passed == 1, "{tally:?}");
}

/// Or else it would be waited for.
fn a_stream_that_fails_ends_the_battery() {
    let battery = script(|_| vec![shell("sleep 600")]);
    let mut fill = |_: &mut [u8]| Err(Failure::Runtime("broken".into()));
    let result = battery.run(TIME, 1 << 20, &mut fill);
    assert!(matches!(result, Err(Failure::Runtime(_))), "{result:?}");
}

fn a_battery_that_is_not_there_has_no_result() {
    let battery = script(|_| vec![Command::new("/nonexistent/program")]);
    let result = battery.run(TIME, 1 << 20, &mut |_| Ok(()));
    assert_eq!(result.expect("a stream"), None);
}

fn one_that_says_nothing_has_no_result() {
    let result = run(&script(|_| vec![shell("exit 1")]), &mut squall::fill);
    assert_eq!(result.to_string(), "dieharder: returned no result");
}
