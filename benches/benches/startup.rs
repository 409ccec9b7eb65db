//! A new process that draws its first 32 bytes: the whole of it by Criterion, and what the call
//! took in there as medians.

use std::path::Path;
use std::time::Duration;

use criterion::Criterion;
use squall_benches::bench::criterion;
use squall_benches::startup::{Source, start};
use squall_measure::Spread;

const HELPER: &str = env!("CARGO_BIN_EXE_first-bytes");

/// Starts of each source for the medians.
const STARTS: usize = 301;

fn main() {
    let mut criterion = criterion();
    processes(&mut criterion);
    calls();
    criterion.final_summary();
}

fn processes(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("startup");
    for source in Source::ALL {
        group.bench_function(source.name(), |bencher| {
            bencher.iter_custom(|count| {
                let wall = |_| Duration::from_nanos(start(Path::new(HELPER), source).wall as u64);
                (0..count).map(wall).sum()
            });
        });
    }
}

fn calls() {
    let starts: Vec<_> = (0..STARTS)
        .map(|_| Source::ALL.map(|source| start(Path::new(HELPER), source).inside))
        .collect();
    for (i, source) in Source::ALL.into_iter().enumerate() {
        let spread = Spread::of(starts.iter().map(|round| round[i]).collect());
        println!(
            "startup/{} in the process: {:.1} µs (quartiles {:.1} to {:.1})",
            source.name(),
            spread.median / 1e3,
            spread.low / 1e3,
            spread.high / 1e3,
        );
    }
}
