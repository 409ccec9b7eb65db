//! What takes new processes, with this test as the program that is its own child; so it has a
//! `main` of its own, which serves first.

use std::thread;
use std::time::Duration;

use squall_bench::process::{
    Fill, NOTHING, first_bytes, forks, pipe, repeats_in_child, serve, this_process,
};
use squall_bench::sources::{self, Home};
use squall_tools::measure::lanes::Lane;

/// What `slow` takes: longer than a fork on a busy machine.
const SLOWNESS: Duration = Duration::from_millis(20);

fn main() {
    if let Some(child) = this_process() {
        let served = serve(&child, lookup);
        std::process::exit(i32::from(served.is_err()));
    }
    first_bytes_are_timed_inside();
    a_forked_child_draws();
    blocks_come_through_a_pipe();
    what_is_not_there_is_a_failure();
    what_is_said_of_forks_is_true();
    println!("test result: ok. 5 passed");
}

fn lookup(name: &str) -> Option<Fill> {
    Some(match name {
        "squall" => Box::new(squall::fill),
        "slow" => Box::new(|out| {
            thread::sleep(SLOWNESS);
            squall::fill(out);
        }),
        "constant" => Box::new(|out| out.fill(7)),
        _ => return None,
    })
}

/// The medians of three runs, in the order of `lanes`.
fn measure(mut lanes: Vec<Lane>) -> Vec<f64> {
    let mut times = vec![Vec::new(); lanes.len()];
    for _ in 0..3 {
        for (lane, times) in lanes.iter_mut().zip(&mut times) {
            match (lane.batch)(1) {
                Ok(ns) => times.push(ns),
                Err(failure) => panic!("{}: {failure:?}", lane.name),
            }
        }
    }
    let median = |mut times: Vec<f64>| {
        times.sort_by(f64::total_cmp);
        times[1]
    };
    times.into_iter().map(median).collect()
}

/// Starting the process takes a millisecond, and is not in them.
fn first_bytes_are_timed_inside() {
    let times = measure(first_bytes::lanes(&[NOTHING, "squall", "slow"]));
    println!("first bytes of nothing, squall, slow: {times:.0?} ns");
    // A busy machine may interrupt the two clock readings, for less than a process takes to start.
    assert!(times[0] < 5e5 && times[1] < times[2]);
    assert!(times[2] > SLOWNESS.as_nanos() as f64);
}

fn a_forked_child_draws() {
    let drawing = measure(forks::lanes(&[NOTHING, "squall", "slow"], 32));
    let without = measure(forks::lanes(&[NOTHING, "squall", "slow"], 0));
    println!("forks of nothing, squall, slow: {without:.0?} ns, {drawing:.0?} with a draw");
    let slowness = SLOWNESS.as_nanos() as f64;
    assert!(drawing[2] > slowness, "the child draws");
    assert!(without[2] < slowness, "and does not where it should not");
    assert!(without.iter().chain(&drawing).all(|&ns| ns > 1e3));
}

fn blocks_come_through_a_pipe() {
    for len in pipe::LENGTHS {
        let times = measure(pipe::lanes(&[NOTHING, "squall"], len, 4 << 20));
        println!("blocks of {len} of nothing, squall: {times:.0?} ns");
        assert!(times.iter().all(|&ns| ns > 0.0));
    }
    let mut lanes = pipe::lanes(&["constant"], 512, 1 << 20);
    assert!((lanes[0].batch)(1).is_err(), "one byte over and over");
}

fn what_is_not_there_is_a_failure() {
    let names = ["none"];
    let lanes = first_bytes::lanes(&names).into_iter();
    let lanes = lanes
        .chain(forks::lanes(&names, 0))
        .chain(pipe::lanes(&names, 512, 1));
    for mut lane in lanes {
        assert!((lane.batch)(1).is_err());
    }
}

/// No source of this process that is called fit for secrets repeats itself in a forked child; and those of which
/// it is said that they do are the control.
fn what_is_said_of_forks_is_true() {
    let (mut kept, mut repeated) = (0, 0);
    for entry in sources::all().filter(|entry| entry.home == Home::Here) {
        let Ok(mut source) = (entry.open)() else {
            println!("SKIP {}: it is not here", entry.name);
            continue;
        };
        let draw = &mut |out: &mut [u8]| source.fill(out).expect("a source that works");
        if entry.secure {
            assert!(!repeats_in_child(draw).expect("a child"), "{}", entry.name);
            kept += 1;
        } else if entry
            .caveat
            .starts_with("a forked child and a VM clone repeat it")
        {
            assert!(repeats_in_child(draw).expect("a child"), "{}", entry.name);
            repeated += 1;
        }
    }
    println!("forks: {kept} sources do not repeat themselves, {repeated} do");
    assert!(kept >= 5 && repeated >= 5);
}
