//! Words and small arrays: the requests a program makes most.

use std::hint::black_box;

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId};
use rand::Rng as _;
use squall_benches::bench::criterion;
use squall_benches::peers::syscall;
use squall_benches::peers::vdso::Vdso;

type Group<'a> = BenchmarkGroup<'a, WallTime>;

fn main() {
    let mut criterion = criterion();
    let mut group = criterion.benchmark_group("words");
    squall(&mut group);
    thread_rng(&mut group);
    kernel(&mut group);
    group.finish();
    criterion.final_summary();
}

fn squall(group: &mut Group<'_>) {
    measure(group, "squall", "u32", squall::u32);
    measure(group, "squall", "u64", squall::u64);
    measure(group, "squall", "array16", squall::array::<16>);
    measure(group, "squall", "array32", squall::array::<32>);
}

fn thread_rng(group: &mut Group<'_>) {
    let mut held = rand::rng();
    measure(group, "ThreadRng held", "u32", || held.next_u32());
    measure(group, "ThreadRng held", "u64", || held.next_u64());
    measure(
        group,
        "ThreadRng held",
        "array16",
        array::<16>(|out| held.fill_bytes(out)),
    );
    measure(
        group,
        "ThreadRng held",
        "array32",
        array::<32>(|out| held.fill_bytes(out)),
    );
    measure(group, "ThreadRng per call", "u32", || {
        rand::rng().next_u32()
    });
    measure(group, "ThreadRng per call", "u64", || {
        rand::rng().next_u64()
    });
}

fn kernel(group: &mut Group<'_>) {
    measure(group, "getrandom", "u32", array::<4>(syscall::fill));
    if let Some(mut vdso) = Vdso::find() {
        measure(group, "vdso", "u32", array::<4>(|out| vdso.fill(out)));
        measure(group, "vdso", "u64", array::<8>(|out| vdso.fill(out)));
    }
}

/// An array that `fill` wrote.
fn array<const N: usize>(mut fill: impl FnMut(&mut [u8])) -> impl FnMut() -> [u8; N] {
    move || {
        let mut out = [0; N];
        fill(black_box(&mut out));
        out
    }
}

fn measure<T>(group: &mut Group<'_>, source: &str, what: &str, mut draw: impl FnMut() -> T) {
    group.bench_function(BenchmarkId::new(source, what), |bencher| {
        bencher.iter(|| black_box(draw()));
    });
}
