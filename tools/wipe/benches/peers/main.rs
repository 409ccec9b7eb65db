//! Compares `squall wipe` with other programs that wipe, on files and loop devices in memory.
//!
//! The programs take turns. Figures are medians of the rounds, and ratios are medians of the ratios
//! within a round. This needs root, and `cargo build --release` before it. Programs that are not
//! installed are listed and left out.

mod programs;
mod race;
mod targets;

use std::path::Path;
use std::process::ExitCode;

use race::{Contestant, Race};
use squall_tools::Failure;
use squall_tools::measure::{Spread, machine};
use targets::{TargetDirectory, Throttle};

/// Length of a target, in bytes.
const SIZE: u64 = 1 << 30;

/// Rate of the slow devices, in bytes a second: that of a disk.
const SLOW: u64 = 200_000_000;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report("wipe"),
    }
}

fn run() -> Result<(), Failure> {
    // Cargo gives --bench to every benchmark.
    let mut arguments = std::env::args()
        .skip(1)
        .filter(|argument| argument != "--bench");
    let rounds = match arguments.next().as_deref() {
        None => 5,
        Some("--quick") => 3,
        Some(other) => {
            return Err(Failure::Usage(format!(
                "{other:?}: unknown argument: use --quick or none"
            )));
        }
    };
    println!("{}, Linux {}", machine::cpu(), machine::kernel());
    println!("{rounds} rounds, targets of {} MiB\n", SIZE >> 20);
    let directory = TargetDirectory::new()?;

    let file = directory.file("file", SIZE);
    compare_with_zeros(&directory, &file, rounds)?;
    let contestants = programs::of_files(&directory, &file, SIZE)?;
    compare_programs("a file in memory", rounds, contestants);
    let device = directory.device(SIZE);
    let contestants = programs::of_devices(&directory, &device.path, SIZE)?;
    compare_programs("a loop device in memory", rounds, contestants);
    drop(device);
    scaling(&directory, rounds)
}

/// The cost of keystream: compares it with the same transfers of zeros, in many rounds because they are
/// short.
fn compare_with_zeros(
    directory: &TargetDirectory,
    file: &Path,
    rounds: usize,
) -> Result<(), Failure> {
    println!("speed of random bytes, of that of zeros by the same transfers");
    let device = [directory.device(SIZE)];
    let race = |target, rounds| -> Result<f64, Failure> {
        let contestants = programs::random_and_zeros(directory, target)?;
        let race = Race::run(rounds, contestants.into());
        Ok(1.0 / race.speed_of(&race.timings[1]))
    };
    let in_a_file = race(file, 6 * rounds)?;
    println!("  {:<34} {in_a_file:>8.2}", "a file in memory");
    let in_memory = race(&device[0].path, 6 * rounds)?;
    println!("  {:<34} {in_memory:>8.2}", "a loop device in memory");
    let device = [directory.device(SIZE / 4)];
    let throttle = Throttle::begin(&device, SLOW)?;
    let as_a_disk = race(&device[0].path, rounds.min(3))?;
    println!("  {:<34} {as_a_disk:>8.2}\n", "a device of 200 MB/s");
    drop(throttle);
    Ok(())
}

/// One table: each contestant's time, rate, CPU time, and how squall compares.
fn compare_programs(title: &str, rounds: usize, contestants: Vec<Contestant>) {
    println!("{title}");
    println!(
        "  {:<34} {:>8} {:>10} {:>12} {:>18}",
        "", "s", "GB/s", "CPU s/GB", "of squall's speed"
    );
    let race = Race::run(rounds, contestants);
    for timing in &race.timings {
        let name = &timing.name;
        if let Some(why) = &timing.failed {
            println!("  {name:<34} left out: {why}");
            continue;
        }
        let [seconds, cpu] =
            [&timing.seconds, &timing.cpu].map(|all| Spread::of(all.clone()).median);
        let gb = SIZE as f64 / 1e9;
        let (rate, cost, speed) = (gb / seconds, cpu / gb, race.speed_of(timing));
        println!("  {name:<34} {seconds:>8.3} {rate:>10.2} {cost:>12.3} {speed:>18.2}");
    }
    println!();
}

/// One, two and four devices at once: in memory, and as slow as disks.
fn scaling(directory: &TargetDirectory, rounds: usize) -> Result<(), Failure> {
    for (title, throttle) in [
        ("devices in memory at once", None),
        ("devices of 200 MB/s at once", Some(SLOW)),
    ] {
        println!("{title}");
        println!(
            "  {:>8} {:>8} {:>10} {:>14}",
            "devices", "s", "GB/s", "of one alone"
        );
        let size = SIZE / 4;
        let devices: Vec<_> = (0..4).map(|_| directory.device(size)).collect();
        let _slow = match throttle {
            Some(rate) => Some(Throttle::begin(&devices, rate)?),
            None => None,
        };
        let counts = [1, 2, 4];
        let contestants = counts.map(|count| programs::of_many(directory, &devices[..count]));
        let contestants: Result<Vec<_>, _> = contestants.into_iter().collect();
        let rounds = throttle.map_or(rounds, |_| rounds.min(3));
        let race = Race::run(rounds, contestants?);
        for (timing, count) in race.timings.iter().zip(counts) {
            let seconds = Spread::of(timing.seconds.clone()).median;
            let rate = (size * count as u64) as f64 / 1e9 / seconds;
            let times = race.speed_of(timing) * count as f64;
            println!("  {count:>8} {seconds:>8.3} {rate:>10.2} {times:>14.2}");
        }
        println!();
    }
    Ok(())
}
