//! Measures what other crates draw through squall-getrandom, in turns with the same by the system call.
//!
//! `cargo run --release -p squall-getrandom --example cost [SECONDS]` measures each call for that time (5 by
//! default). It prints medians in nanoseconds, and how many times as fast squall was, with the quartiles over
//! the rounds.

use std::convert::Infallible;
use std::hint::black_box;
use std::time::Duration;

use rand::rand_core::UnwrapErr;
use rand::rngs::SysRng;
use rand::{Rng, RngExt, TryRng};
use squall_tools::measure::{Effort, Peer, Spread, in_turns};
use uuid::Uuid;

/// The kernel's generator by the system call: what [`SysRng`] is in a program without squall-getrandom.
struct SystemCall;

fn from_kernel<const N: usize>() -> [u8; N] {
    let mut out = [0; N];
    SystemCall.fill_bytes(&mut out);
    out
}

impl TryRng for SystemCall {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(u32::from_ne_bytes(from_kernel()))
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(u64::from_ne_bytes(from_kernel()))
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Infallible> {
        // SAFETY: the slice is writable for its length.
        let count = unsafe { libc::syscall(libc::SYS_getrandom, out.as_mut_ptr(), out.len(), 0) };
        assert_eq!(
            count,
            out.len() as i64,
            "the kernel serves short requests whole"
        );
        Ok(())
    }
}

/// Measures the same with squall and with the system call.
fn compare(name: &str, squall: impl FnMut(), kernel: impl FnMut(), time: Duration) {
    let effort = Effort { rounds: 50, time };
    let times = in_turns(vec![Peer::new(squall), Peer::new(kernel)], effort);
    let rounds = times[0].iter().zip(&times[1]);
    let ratios = Spread::of(rounds.map(|(squall, kernel)| kernel / squall).collect());
    let [squall, kernel] = [0, 1].map(|peer: usize| Spread::of(times[peer].clone()).median);
    println!(
        "{name:<28} {squall:8.1} {kernel:8.1}   {:.1} × ({:.1} to {:.1})",
        ratios.median, ratios.low, ratios.high
    );
}

/// Compares what `rand` makes of [`SysRng`] and of the system call.
macro_rules! compare_generators {
    ($name:literal, $time:ident, |$rng:ident| $draw:expr) => {
        compare(
            $name,
            || {
                let $rng = &mut UnwrapErr(SysRng);
                black_box($draw);
            },
            || {
                let $rng = &mut SystemCall;
                black_box($draw);
            },
            $time,
        )
    };
}

fn main() {
    let seconds = std::env::args().nth(1).map_or(5.0, |seconds| {
        seconds
            .parse()
            .expect("the number of seconds for each call")
    });
    let time = Duration::from_secs_f64(seconds);
    assert!(squall_getrandom::is_active());
    println!("ns                             squall   system call");
    compare(
        "Uuid::new_v4()",
        || {
            black_box(Uuid::new_v4());
        },
        || {
            let bytes = from_kernel();
            black_box(uuid::Builder::from_random_bytes(bytes).into_uuid());
        },
        time,
    );
    compare_generators!("SysRng.random::<u64>()", time, |rng| rng.random::<u64>());
    // rand draws each byte of an array by itself.
    compare_generators!("SysRng.random::<[u8; 32]>()", time, |rng| rng
        .random::<[u8; 32]>());
    compare_generators!("SysRng.fill_bytes, 32 bytes", time, |rng| {
        let mut bytes = [0; 32];
        rng.fill_bytes(&mut bytes);
        bytes
    });
}
