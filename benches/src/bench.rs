//! Criterion, set up alike for every benchmark.

use std::hint::black_box;
use std::time::Duration;

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId, Criterion, SamplingMode, Throughput};

/// Requests from this length on are sampled flat: one of them may take a tenth of a second.
const LARGE: usize = 1 << 24;

/// Criterion with short runs: there are some hundred benchmarks.
pub fn criterion() -> Criterion {
    Criterion::default()
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_millis(600))
        .sample_size(30)
        .configure_from_args()
}

/// Measures `fill` on `out`, as `name` at the buffer's length.
pub fn fills(
    group: &mut BenchmarkGroup<'_, WallTime>,
    name: &str,
    out: &mut [u8],
    mut fill: impl FnMut(&mut [u8]),
) {
    if out.len() >= LARGE {
        group.sampling_mode(SamplingMode::Flat).sample_size(10);
    }
    group.throughput(Throughput::Bytes(out.len() as u64));
    group.bench_function(BenchmarkId::new(name, out.len()), |bencher| {
        bencher.iter(|| fill(black_box(&mut *out)));
    });
}
