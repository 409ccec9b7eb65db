//! Rows about filling buffers.

use rand::Rng as _;
use squall::Engine;
use squall::hazmat::Aes256;
use squall_benches::peers::urandom::Urandom;
use squall_measure::{Pairs, compare};

use crate::engines;
use crate::report::{Report, Row, Target};

const MEDIUM: usize = 16 << 10;
const LARGE: usize = 256 << 20;

pub fn measure(report: &mut Report) {
    let engine = medium(report);
    large(report, engine);
    arrays::<16>(report);
    arrays::<32>(report);
    slices(report, 16);
    slices(report, 32);
}

/// Measures 16 KiB and returns the time of the engine alone, in nanoseconds.
fn medium(report: &mut Report) -> f64 {
    let against = |theirs: &mut dyn FnMut(&mut [u8])| against(MEDIUM, theirs);
    let pairs = against(&mut engines::keystream::<Aes256>(Engine::best_aes()));
    let engine = pairs.theirs().median;
    let target = Target::Percent(85.0);
    let row = Row::new("fill, 16 KiB", "the AES-256 engine", target, pairs);
    report.add(row.with_speeds(MEDIUM), || None);
    if let Some(mut urandom) = Urandom::open() {
        let pairs = against(&mut |out| urandom.fill(out));
        let bound = pairs.theirs().median / engine;
        let target = Target::Speedup(50.0);
        let row = Row::new("fill, 16 KiB", "/dev/urandom", target, pairs);
        report.add(row.with_speeds(MEDIUM), || {
            Some(format!(
                "Bound, /dev/urandom: the AES-256 engine alone is {bound:.1} × as fast."
            ))
        });
    }
    engine
}

/// Zeros are a case of their own: some memory systems store them at twice the speed of other
/// bytes, EPYC 9004 among them, which no random bytes can have.
fn large(report: &mut Report, engine: f64) {
    for (peer, byte) in [("memset to 0x5a", 0x5a), ("memset to 0", 0)] {
        let pairs = against(LARGE, |out| out.fill(byte));
        let engine_speed = MEDIUM as f64 / engine;
        let bound = engine_speed / (LARGE as f64 / pairs.theirs().median);
        let row = Row::new("fill, 256 MiB", peer, Target::Speedup(0.4), pairs);
        report.add(row.with_speeds(LARGE), || {
            Some(format!(
                "Bound, {peer}: the AES-256 engine alone, in the cache, makes {engine_speed:.1} \
                 GB/s, {bound:.2} × memset."
            ))
        });
    }
}

/// Arrays: the length is known when the program is compiled.
fn arrays<const N: usize>(report: &mut Report) {
    let mut thread_rng = rand::rng();
    let pairs = compare(
        &mut [0; N],
        |out| squall::fill(out),
        |out| thread_rng.fill_bytes(out),
    );
    small(report, format!("fill, {N} B, an array"), pairs);
}

/// Slices: the length is known at run time only.
fn slices(report: &mut Report, len: usize) {
    let mut thread_rng = rand::rng();
    let pairs = against(len, |out| thread_rng.fill_bytes(out));
    small(report, format!("fill, {len} B, a slice"), pairs);
}

fn small(report: &mut Report, name: String, pairs: Pairs) {
    let row = Row::new(name, "ThreadRng, held", Target::Part(0.5), pairs);
    report.add(row, || None);
}

/// [`squall::fill`] beside `theirs`.
fn against(len: usize, theirs: impl FnMut(&mut [u8])) -> Pairs {
    compare(&mut vec![1; len][..], squall::fill, theirs)
}
