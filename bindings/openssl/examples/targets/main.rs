//! Measures RAND_bytes of the installed OpenSSL with its own generators, with squall's provider, and
//! with a provider that returns constants, which is the lower bound for any provider. They take turns
//! in one process; the results are medians in nanoseconds a call.
//!
//! ```text
//! cargo run --release -p squall-openssl --example targets [NAME=MODULE.so …]
//! ```
//!
//! Each MODULE, another build of the provider with a generator SQUALL, gets a column of its own.

#[path = "../../tests/artifacts.rs"]
mod artifacts;
mod libcrypto;

use std::path::{Path, PathBuf};
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use libcrypto::{Context, Libcrypto};
use squall_tools::measure::contest::{self, Batch, Budget, Contestant, Outcome};
use squall_tools::measure::{BATCH, Orders, Spread, machine};

/// Bytes of a call.
const LENGTHS: [usize; 3] = [16, 32, 16 << 10];
/// Threads that call at once.
const THREADS: [usize; 3] = [1, 2, 8];

/// A source of random bytes: a column of the table.
struct Source {
    name: String,
    context: Context,
}

fn main() {
    let library = Libcrypto::load().unwrap_or_else(|error| fail(&error));
    let sources = sources(&library).unwrap_or_else(|error| fail(&error));
    println!(
        "{}, {} with {}",
        machine::cpu(),
        library.version(),
        machine::kernel()
    );
    println!("nanoseconds a call of RAND_bytes; [of OpenSSL's own in the same round, median]\n");
    print!("{:>7} {:>7}", "bytes", "threads");
    for source in &sources {
        print!(" {:>17}", source.name);
    }
    println!("  squall above constant");
    let mut orders = Orders::default();
    for threads in THREADS {
        for len in LENGTHS {
            let samples = measure(&library, &sources, len, threads, &mut orders);
            show(len, threads, &samples);
        }
    }
}

fn fail(error: &str) -> ! {
    eprintln!("targets: {error}");
    std::process::exit(1)
}

/// OpenSSL's own generator, squall, constants, and the modules that the arguments name.
fn sources(library: &Libcrypto) -> Result<Vec<Source>, String> {
    let modules = artifacts::modules();
    let mut sources = Vec::new();
    let mut add = |name: &str, module: Option<(&Path, &str)>, generator: &str| {
        let context = library.context(module, generator)?;
        let name = name.to_owned();
        sources.push(Source { name, context });
        Ok::<(), String>(())
    };
    add("OpenSSL", None, "CTR-DRBG")?;
    add("squall", Some((modules, "squall")), "SQUALL")?;
    add("constant", Some((modules, "control")), "CONSTANT")?;
    for argument in std::env::args().skip(1) {
        let (name, module) = argument
            .split_once('=')
            .ok_or(format!("{argument}: write NAME=MODULE.so"))?;
        let module = PathBuf::from(module);
        let (Some(folder), Some(file)) = (module.parent(), module.file_stem()) else {
            return Err(format!("{}: not the path of a module", module.display()));
        };
        add(name, Some((folder, &file.to_string_lossy())), "SQUALL")?;
    }
    Ok(sources)
}

/// For each source, nanoseconds a call in each round.
fn measure(
    library: &Libcrypto,
    sources: &[Source],
    len: usize,
    threads: usize,
    orders: &mut Orders,
) -> Vec<Vec<f64>> {
    let contestant =
        |source| Contestant::new("", move |calls| batch(library, source, len, threads, calls));
    let mut contestants: Vec<Contestant> = sources.iter().map(contestant).collect();
    let budget = Budget {
        least: 15,
        most: 1000,
        time: Duration::from_secs(4),
        batch: match threads {
            1 => Batch::Time(BATCH),
            // Much longer than the start of threads, and several time slices if threads share a CPU.
            _ => Batch::Calls(if len > 1000 { 4_000 } else { 40_000 }),
        },
    };
    let outcomes = contest::in_turns(&mut contestants, budget, orders, &|| true);
    let samples = |outcome| match outcome {
        Outcome::Samples(samples) => samples,
        Outcome::Failed(error) => fail(&error),
    };
    outcomes.into_iter().map(samples).collect()
}

/// The mean time of a call, in nanoseconds, while each thread makes `calls` calls.
fn batch(
    library: &Libcrypto,
    source: &Source,
    len: usize,
    threads: usize,
    calls: u64,
) -> Result<f64, String> {
    if threads == 1 {
        let context = library.select(&source.context)?;
        let mut buffer = vec![0; len];
        context.random_bytes(&mut buffer)?;
        let clock = Instant::now();
        for _ in 0..calls {
            context.random_bytes(&mut buffer)?;
        }
        return Ok(clock.elapsed().as_nanos() as f64 / calls as f64);
    }
    let barrier = Barrier::new(threads);
    let one = || {
        let taken = batch_of_thread(library, source, len, calls, &barrier);
        taken.map(|taken| taken.as_nanos() as f64 / calls as f64)
    };
    thread::scope(|scope| {
        let all: Vec<_> = (0..threads).map(|_| scope.spawn(one)).collect();
        let taken = all.into_iter().map(|one| one.join().expect("no panic"));
        taken
            .sum::<Result<f64, String>>()
            .map(|sum| sum / threads as f64)
    })
}

fn batch_of_thread(
    library: &Libcrypto,
    source: &Source,
    len: usize,
    calls: u64,
    barrier: &Barrier,
) -> Result<Duration, String> {
    let context = library.select(&source.context)?;
    let mut buffer = vec![0; len];
    // A thread's first call takes longer, and is not measured.
    context.random_bytes(&mut buffer)?;
    barrier.wait();
    let clock = Instant::now();
    for _ in 0..calls {
        context.random_bytes(&mut buffer)?;
    }
    Ok(clock.elapsed())
}

fn show(len: usize, threads: usize, samples: &[Vec<f64>]) {
    let median = |values: Vec<f64>| Spread::of(values).median;
    let by_round = |column: usize, of: fn(f64, f64) -> f64, beside: usize| {
        let rounds = samples[column].iter().zip(&samples[beside]);
        median(rounds.map(|(value, beside)| of(*value, *beside)).collect())
    };
    print!("{len:>7} {threads:>7}");
    for (column, values) in samples.iter().enumerate() {
        let times = by_round(column, |value, own| own / value, 0);
        print!(" {:>9.1} [{times:>4.2}×]", median(values.clone()));
    }
    println!(
        "  {:>9.1}",
        by_round(1, |squall, constant| squall - constant, 2)
    );
}
