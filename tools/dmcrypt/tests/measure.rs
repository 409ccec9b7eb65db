//! Real transfers on loop devices, counted by the kernel.

use std::cell::Cell;
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::fs::OFlags;
use squall_dmcrypt::measure::{
    Direction, Latencies, Plan, Samples, Subject, Workload, prepare, run, workloads,
};
use squall_testing::loops::{Lab, Loop};
use squall_testing::needs::LOOP_DEVICES;
use squall_testing::suite::Test;
use squall_testing::tests;

const SAMPLE: Duration = Duration::from_millis(20);
const SIZE: u64 = 8 << 20;

fn open(path: &Path, writes: bool) -> Arc<File> {
    let direct = OFlags::DIRECT.bits() as i32;
    let mut options = OpenOptions::new();
    options.read(true).write(writes).custom_flags(direct);
    Arc::new(options.open(path).expect("it opens"))
}

fn subject(device: &Loop, bytes: u64) -> Subject {
    Subject {
        name: device.path.display().to_string(),
        file: open(&device.path, true),
        bytes,
    }
}

fn workload(name: &str) -> Workload {
    let mut all = workloads().into_iter();
    all.find(|workload| workload.name == name).unwrap()
}

fn measure(subjects: &[Subject], workloads: &[Workload], rounds: usize) -> Samples {
    let plan = Plan {
        rounds,
        sample: SAMPLE,
    };
    run(subjects, workloads, plan, &|| true, &|_| {})
}

/// The kernel's counters for a device (Documentation/block/stat.rst).
#[derive(Clone, Copy, Debug)]
struct Count {
    read: u64,
    written: u64,
    flushes: u64,
}

fn count(device: &Loop) -> Count {
    let name = device.path.file_name().unwrap().to_str().unwrap();
    let text = fs::read_to_string(format!("/sys/block/{name}/stat")).unwrap();
    let fields: Vec<u64> = text
        .split_whitespace()
        .map(|field| field.parse().unwrap())
        .collect();
    Count {
        read: fields[2] * 512,
        written: fields[6] * 512,
        flushes: fields[15],
    }
}

/// For each block of 4 KiB, whether it looks like keystream: it has nearly every byte value.
fn random_blocks(device: &Loop) -> Vec<bool> {
    let is_random = |block: &[u8]| {
        let mut seen = [false; 256];
        block
            .iter()
            .for_each(|&byte| seen[usize::from(byte)] = true);
        seen.iter().filter(|&&seen| seen).count() > 240
    };
    let content = fs::read(&device.path).unwrap();
    content.chunks(4096).map(is_random).collect()
}

/// The kernel counted the bytes, which others may read too. Divided by the reported rate they give a time between the
/// length of a sample and the duration of the call.
fn rates_are_those_of_the_clock_and_both_directions_happen() {
    let lab = Lab::new();
    let device = lab.device(SIZE);
    let subjects = [subject(&device, SIZE)];
    prepare(&subjects[0], &|| true, &|_| {}).expect("it is filled");
    for workload in workloads() {
        let before = count(&device);
        let clock = Instant::now();
        let measured = measure(&subjects, std::slice::from_ref(&workload), 1);
        let wall = clock.elapsed();
        let after = count(&device);
        let measured = &measured.subjects[0].as_ref().expect("it works")[0];
        let sample = measured.samples[0];
        let read = after.read - before.read;
        let written = after.written - before.written;
        let flushes = after.flushes - before.flushes;
        assert!(sample.bytes >= workload.block as u64, "{workload:?}");
        match workload.direction {
            Direction::Read => {
                assert!(read >= sample.bytes, "{workload:?}");
                assert_eq!((written, flushes), (0, 0), "{workload:?}");
            }
            Direction::Write => assert_eq!((written, flushes), (sample.bytes, 1), "{workload:?}"),
        }
        let time = Duration::from_secs_f64(sample.bytes as f64 / sample.rate);
        assert!(SAMPLE <= time, "{workload:?}: {time:?}");
        assert!(time <= wall, "{workload:?}: {time:?} of {wall:?}");
        assert!(sample.cpu.is_some_and(f64::is_finite));
        let transfers = sample.bytes / workload.block as u64;
        assert_eq!(measured.latencies.count(), transfers);
        transfers_take_their_part_of_the_time(&workload, &measured.latencies, wall.as_secs_f64());
    }
}

/// Every transfer was timed; the slowest took no longer than all, and the times of all of them fill the
/// sample as often as there are transfers at once.
fn transfers_take_their_part_of_the_time(workload: &Workload, latencies: &Latencies, wall: f64) {
    let [fastest, p50, p99, slowest] = [0.0, 0.5, 0.99, 1.0].map(|part| latencies.quantile(part));
    assert!(0.0 < fastest && fastest <= p50 && p50 <= p99 && p99 <= slowest);
    assert!(slowest / 1e9 <= wall * 1.01, "{slowest} ns of {wall} s");
    let least = latencies.count() as f64 * slowest / 1e9 * 1.01;
    let at_once = workload.depth as f64 * SAMPLE.as_secs_f64();
    assert!(
        least >= at_once,
        "{workload:?}: at most {least} s of {at_once} s"
    );
}

fn all_that_is_used_is_filled_with_keystream_and_nothing_else() {
    let lab = Lab::new();
    let device = lab.device(SIZE);
    assert!(random_blocks(&device).iter().all(|is_random| !is_random));
    let used = (3 << 20) + 4096;
    let reported = Cell::new(0);
    prepare(&subject(&device, used), &|| true, &|bytes| {
        reported.set(bytes)
    })
    .expect("it is filled");
    assert_eq!(reported.get(), used);
    let blocks = random_blocks(&device);
    let (filled, rest) = blocks.split_at(used as usize / 4096);
    assert!(filled.iter().all(|&is_random| is_random));
    assert!(rest.iter().all(|is_random| !is_random));
    let small = subject(&device, SIZE * 2);
    let failure = prepare(&small, &|| true, &|_| {}).expect_err("it is smaller");
    assert!(failure.into_text().starts_with(&small.name));
}

/// Random writes reach every block of the used part sooner or later, and none beyond. Sequential writes reach every
/// block that whole transfers fit in.
fn writes_cover_the_range_with_keystream() {
    const PATIENCE: Duration = Duration::from_secs(600);
    let lab = Lab::new();
    let used = (1 << 20) + 4096;
    for (name, covered) in [("write-random-deep", used), ("write-sequential", 1 << 20)] {
        let device = lab.device(SIZE);
        let subjects = [subject(&device, used)];
        let clock = Instant::now();
        let blocks = loop {
            measure(&subjects, &[workload(name)], 1).subjects[0]
                .as_ref()
                .expect("it works");
            let blocks = random_blocks(&device);
            let inside = &blocks[..covered as usize / 4096];
            if inside.iter().all(|&is_random| is_random) {
                break blocks;
            }
            assert!(clock.elapsed() < PATIENCE, "{name}: {inside:?}");
        };
        let beyond = &blocks[covered as usize / 4096..];
        assert!(beyond.iter().all(|is_random| !is_random), "{name}");
    }
}

fn a_device_that_fails_is_out_with_its_reason_and_others_go_on() {
    let lab = Lab::new();
    let [raw, small, locked] = [SIZE, 4096, SIZE].map(|size| lab.device(size));
    let subjects = [
        subject(&raw, SIZE),
        subject(&small, SIZE),
        Subject {
            file: open(&locked.path, false),
            ..subject(&locked, SIZE)
        },
        subject(&raw, 4096),
    ];
    let measured = measure(&subjects, &workloads(), 2);
    assert_eq!(measured.rounds, 2);
    let samples = measured.subjects[0].as_ref().expect("it goes on");
    assert_eq!(samples.len(), 8);
    assert!(samples.iter().all(|list| list.samples.len() == 2));
    let reason = |subject: usize| measured.subjects[subject].as_ref().unwrap_err().as_str();
    for (subject, words) in [
        (1, " of 1048576 bytes"),
        (2, "write 1 MiB: "),
        (3, "smaller than a transfer"),
    ] {
        assert!(reason(subject).contains(words), "{}", reason(subject));
    }
}

fn without_the_first_there_is_nothing_to_compare() {
    let lab = Lab::new();
    let device = lab.device(SIZE);
    let subjects = [subject(&device, 4096), subject(&device, SIZE)];
    let measured = measure(&subjects, &workloads(), 2);
    assert_eq!(measured.rounds, 0);
    assert!(measured.subjects[0].is_err());
    assert!(
        measured.subjects[1]
            .as_ref()
            .unwrap()
            .iter()
            .all(|list| list.samples.is_empty())
    );
}

fn a_broken_round_is_not_counted() {
    let lab = Lab::new();
    let device = lab.device(SIZE);
    let subjects = [subject(&device, SIZE), subject(&device, SIZE)];
    let asked = Cell::new(0);
    let should_continue = || {
        asked.set(asked.get() + 1);
        // A round of two workloads on two devices, and one sample more.
        asked.get() <= 4 + 1
    };
    let reported = Cell::new(0);
    let plan = Plan {
        rounds: 3,
        sample: Duration::ZERO,
    };
    let workloads = [workload("read-random"), workload("write-random")];
    let progress = |done| reported.set(done);
    let measured = run(&subjects, &workloads, plan, &should_continue, &progress);
    assert_eq!(measured.rounds, 1);
    assert_eq!(reported.get(), 2);
    for subject in measured.subjects {
        assert!(subject.unwrap().iter().all(|list| list.samples.len() == 1));
    }
    let before = count(&device).written;
    prepare(&subjects[0], &|| false, &|_| {}).expect("it ends");
    assert_eq!(count(&device).written, before);
}

pub const TESTS: &[Test] = tests![
    rates_are_those_of_the_clock_and_both_directions_happen: [LOOP_DEVICES],
    all_that_is_used_is_filled_with_keystream_and_nothing_else: [LOOP_DEVICES],
    writes_cover_the_range_with_keystream: [LOOP_DEVICES],
    a_device_that_fails_is_out_with_its_reason_and_others_go_on: [LOOP_DEVICES],
    without_the_first_there_is_nothing_to_compare: [LOOP_DEVICES],
    a_broken_round_is_not_counted: [LOOP_DEVICES],
];
