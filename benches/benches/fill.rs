//! Filling a buffer, by its length, from every source a program would think of.

use criterion::Criterion;
use rand::Rng as _;
use squall_benches::bench::{criterion, fills};
use squall_benches::peers::syscall;
use squall_benches::peers::urandom::Urandom;
use squall_benches::peers::vdso::Vdso;

const LENGTHS: [usize; 14] = [
    1,
    4,
    16,
    32,
    64,
    256,
    257,
    1 << 10,
    4 << 10,
    16 << 10,
    64 << 10,
    1 << 20,
    16 << 20,
    256 << 20,
];

/// Longest request for the kernel's interfaces, whose speed no longer changes.
const KERNEL_MAX: usize = 1 << 20;

fn main() {
    let mut criterion = criterion();
    let buffer = &mut vec![1; LENGTHS[LENGTHS.len() - 1]][..];
    user_space(&mut criterion, buffer);
    kernel(&mut criterion, buffer);
    fresh(&mut criterion, buffer);
    criterion.final_summary();
}

fn user_space(criterion: &mut Criterion, buffer: &mut [u8]) {
    let mut group = criterion.benchmark_group("fill");
    let mut thread_rng = rand::rng();
    for len in LENGTHS {
        let out = &mut buffer[..len];
        fills(&mut group, "squall", out, squall::fill);
        fills(&mut group, "ThreadRng", out, |out| {
            thread_rng.fill_bytes(out)
        });
        fills(&mut group, "memset", out, |out| out.fill(0));
    }
}

fn kernel(criterion: &mut Criterion, buffer: &mut [u8]) {
    let mut group = criterion.benchmark_group("fill");
    let (mut vdso, mut urandom) = (Vdso::find(), Urandom::open());
    for len in LENGTHS.into_iter().filter(|&len| len <= KERNEL_MAX) {
        let out = &mut buffer[..len];
        fills(&mut group, "getrandom", out, syscall::fill);
        if let Some(vdso) = &mut vdso {
            fills(&mut group, "vdso", out, |out| vdso.fill(out));
        }
        if let Some(urandom) = &mut urandom {
            fills(&mut group, "urandom", out, |out| urandom.fill(out));
        }
    }
}

fn fresh(criterion: &mut Criterion, buffer: &mut [u8]) {
    let mut group = criterion.benchmark_group("fill");
    fills(
        &mut group,
        "squall-fresh",
        &mut buffer[..32],
        squall::fill_fresh,
    );
}
