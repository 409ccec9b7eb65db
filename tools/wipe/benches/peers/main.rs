//! `squall wipe` beside the programs that people wipe with, on files and loop devices in memory.
//!
//! All take turns; a figure is the median of the rounds, a ratio that of single rounds' ratios.
//! Root, and `cargo build --release` before. Programs that are not installed are left out by name.

mod field;
mod peers;
mod race;
mod throttle;

use std::path::Path;
use std::process::ExitCode;

use field::Field;
use race::{Race, Racer};
use squall_tools::Failure;
use squall_tools::measure::Spread;
use throttle::Throttle;

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
            return Err(Failure::Usage(format!("{other:?}: only --quick is known")));
        }
    };
    println!(
        "{}, Linux {}",
        squall_tools::measure::machine::cpu(),
        squall_tools::measure::machine::kernel()
    );
    println!("{rounds} rounds, targets of {} MiB\n", SIZE >> 20);
    let field = Field::new()?;

    let file = field.file("file", SIZE);
    beside_zeros(&field, &file, rounds)?;
    beside_peers(
        "a file in memory",
        rounds,
        peers::of_files(&field, &file, SIZE)?,
    );
    let device = field.device(SIZE);
    beside_peers(
        "a loop device in memory",
        rounds,
        peers::of_devices(&field, &device.path, SIZE)?,
    );
    drop(device);
    scaling(&field, rounds)
}

/// What keystream costs: the same transfers of zeros beside it, in many rounds, as they are short.
fn beside_zeros(field: &Field, file: &Path, rounds: usize) -> Result<(), Failure> {
    println!("speed of random bytes, of that of zeros by the same transfers");
    let device = [field.device(SIZE)];
    let race = |target, rounds| -> Result<f64, Failure> {
        let racers = peers::random_and_zeros(field, target)?;
        let race = Race::run(rounds, racers.into());
        Ok(1.0 / race.speed_of(&race.timings[1]))
    };
    println!(
        "  {:<34} {:>8.2}",
        "a file in memory",
        race(file, 6 * rounds)?
    );
    let in_memory = race(&device[0].path, 6 * rounds)?;
    println!("  {:<34} {in_memory:>8.2}", "a loop device in memory");
    let device = [field.device(SIZE / 4)];
    let throttle = Throttle::begin(&device, SLOW)?;
    let as_a_disk = race(&device[0].path, rounds.min(3))?;
    println!("  {:<34} {as_a_disk:>8.2}\n", "a device of 200 MB/s");
    drop(throttle);
    Ok(())
}

/// One table: each racer's time, rate, CPU time, and how squall compares.
fn beside_peers(title: &str, rounds: usize, racers: Vec<Racer>) {
    println!("{title}");
    println!(
        "  {:<34} {:>8} {:>10} {:>12} {:>18}",
        "", "s", "GB/s", "CPU s/GB", "of squall's speed"
    );
    let race = Race::run(rounds, racers);
    for timing in &race.timings {
        match &timing.failed {
            Some(why) => println!("  {:<34} left out: {why}", timing.name),
            None => println!(
                "  {:<34} {:>8.3} {:>10.2} {:>12.3} {:>18.2}",
                timing.name,
                Spread::of(timing.seconds.clone()).median,
                SIZE as f64 / 1e9 / Spread::of(timing.seconds.clone()).median,
                Spread::of(timing.cpu.clone()).median / (SIZE as f64 / 1e9),
                race.speed_of(timing),
            ),
        }
    }
    println!();
}

/// One, two and four devices at once: in memory, and as slow as disks.
fn scaling(field: &Field, rounds: usize) -> Result<(), Failure> {
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
        let devices: Vec<_> = (0..4).map(|_| field.device(size)).collect();
        let _slow = match throttle {
            Some(rate) => Some(Throttle::begin(&devices, rate)?),
            None => None,
        };
        let counts = [1, 2, 4];
        let racers = counts.map(|count| peers::of_many(field, &devices[..count]));
        let racers: Result<Vec<_>, _> = racers.into_iter().collect();
        let rounds = if throttle.is_some() {
            rounds.min(3)
        } else {
            rounds
        };
        let race = Race::run(rounds, racers?);
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
