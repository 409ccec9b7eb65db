//! Batteries of others, where they are installed: each passes a good stream and fails a counter.

use std::ffi::OsString;
use std::time::Duration;

use squall_bench::statistics::battery::{Setting, State, testu01};
use squall_bench::statistics::{Battery, BatteryResult};
use squall_testing::suite::{self, NOTHING, Need, Test};
use squall_testing::tests;
use squall_tools::Failure;

use crate::child::VARIABLE;

pub const TESTS: &[Test] = tests![
    dieharder_judges: [DIEHARDER],
    practrand_judges: [PRACTRAND],
    testu01_judges: [TESTU01],
    a_stream_that_fails_ends_the_battery: [DIEHARDER],
    a_battery_that_is_not_there_is_reported,
];

const DIEHARDER: Need = Need {
    check: || suite::command("dieharder"),
    required_by: NOTHING,
};
const PRACTRAND: Need = Need {
    check: || suite::command("RNG_test").or_else(|_| suite::command("practrand-RNG_test")),
    required_by: NOTHING,
};
const TESTU01: Need = Need {
    check: || {
        if testu01::is_installed() {
            Ok(())
        } else {
            Err("TestU01 is not installed".into())
        }
    },
    required_by: NOTHING,
};

fn setting() -> Setting {
    let program = std::env::current_exe().expect("a program");
    let testu01 = [
        "env".into(),
        format!("{VARIABLE}=testu01").into(),
        program.into(),
    ];
    Setting {
        time: Duration::from_secs(3600),
        bytes: 64 << 20,
        dieharder: &["-d", "101"],
        testu01: testu01.map(|argument: OsString| argument).into(),
    }
}

fn run(battery: Battery, fill: &mut dyn FnMut(&mut [u8])) -> BatteryResult {
    let mut fill = |out: &mut [u8]| {
        fill(out);
        Ok(())
    };
    battery.run(&setting(), &mut fill).expect("a stream")
}

#[track_caller]
fn judges(battery: Battery) {
    let good = run(battery, &mut squall::fill);
    let text = &good.summary;
    assert_eq!((good.state, good.failed), (State::Ended, 0), "{text}");
    assert!(good.passed > 0, "{text}");
    let mut counter = 0_u64;
    let bad = run(battery, &mut |out| {
        for word in out.chunks_mut(8) {
            counter += 1;
            word.copy_from_slice(&counter.to_le_bytes()[..word.len()]);
        }
    });
    assert!(bad.failed > 0, "{}", bad.summary);
}

fn dieharder_judges() {
    judges(Battery::Dieharder);
}

fn practrand_judges() {
    judges(Battery::PractRand);
}

fn testu01_judges() {
    judges(Battery::TestU01);
}

fn a_stream_that_fails_ends_the_battery() {
    let mut fill = |_: &mut [u8]| Err(Failure::Runtime("broken".into()));
    let result = Battery::Dieharder.run(&setting(), &mut fill);
    assert!(matches!(result, Err(Failure::Runtime(_))), "{result:?}");
}

fn a_battery_that_is_not_there_is_reported() {
    let setting = Setting {
        testu01: vec!["/nonexistent/program".into()],
        ..setting()
    };
    let result = Battery::TestU01.run(&setting, &mut |_| Ok(()));
    let result = result.expect("a result");
    assert_eq!(result.state, State::NotInstalled);
    assert_eq!(result.summary, "not installed");
}
