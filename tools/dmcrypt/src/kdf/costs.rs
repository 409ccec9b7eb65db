//! Finds the costs with which a derivation takes a given time, by the rules of cryptsetup 2.8
//! (lib/utils_pbkdf.c and lib/crypto_backend/pbkdf_check.c): Argon2 makes at least four passes, over at
//! most 1 GiB and at most half of the memory, in at most four threads and no more than there are CPUs;
//! more memory comes before more passes. PBKDF2 is measured for at least half a second of CPU time.

use std::time::Duration;

use squall_tools::Failure;

use super::memory::Memory;

/// Bounds of Argon2.
const LEAST_PASSES: u64 = 4;
const MOST_KIB: u64 = 1 << 20;
const MOST_THREADS: usize = 4;

/// Memory that the search begins with, in KiB.
const FIRST_KIB: u64 = 64 << 10;

/// A time is right from this part of the wanted one to that.
const RIGHT: std::ops::RangeInclusive<f64> = 0.95..=1.1;

/// How often costs are tried: on a busy machine no time is ever right.
const TRIES: usize = 12;

/// Iterations of PBKDF2 to begin with, and the time that suffices.
const FIRST_ITERATIONS: u32 = 1 << 12;
const LONG: Duration = Duration::from_millis(500);

/// The costs of a derivation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Costs {
    /// Passes over the memory, or iterations.
    pub iterations: u32,
    /// Memory, if the function takes any.
    pub memory_kib: Option<u32>,
    /// Threads that share the work.
    pub threads: u32,
}

/// What was found.
#[derive(Clone, Copy, Debug)]
pub struct Found {
    /// The costs to use.
    pub costs: Costs,
    /// How long the derivation took that was measured last.
    pub took: Duration,
    /// Iterations per second, of functions without memory.
    pub iterations_per_second: Option<f64>,
}

/// What a machine allows.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The most memory in KiB.
    pub memory_kib: u64,
    /// The most threads.
    pub threads: u32,
}

impl Limits {
    /// The limits of this machine.
    pub fn of_machine() -> Limits {
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        Limits {
            memory_kib: Memory::of_machine().limit_kib().min(MOST_KIB),
            threads: cpus.min(MOST_THREADS) as u32,
        }
    }
}

/// The costs with which Argon2 takes `time`; `timed` derives once.
pub fn argon2(
    time: Duration,
    limits: &Limits,
    mut timed: impl FnMut(Costs) -> Result<Duration, Failure>,
) -> Result<Found, Failure> {
    let costs = |passes: u64, memory_kib: u64| Costs {
        iterations: u32::try_from(passes).unwrap_or(u32::MAX),
        memory_kib: Some(memory_kib as u32),
        threads: limits.threads,
    };
    let least = FIRST_KIB.min(limits.memory_kib);
    let (mut passes, mut memory) = (LEAST_PASSES, least);
    let mut took = timed(costs(passes, memory))?;
    for _ in 1..TRIES {
        let part = took.as_secs_f64() / time.as_secs_f64();
        if RIGHT.contains(&part) {
            break;
        }
        let work = (passes * memory) as f64 / part;
        let next_memory = (work as u64 / LEAST_PASSES).clamp(least, limits.memory_kib);
        let next_passes = (work as u64 / next_memory).max(LEAST_PASSES);
        if (next_passes, next_memory) == (passes, memory) {
            break;
        }
        (passes, memory) = (next_passes, next_memory);
        took = timed(costs(passes, memory))?;
    }
    Ok(Found {
        costs: costs(passes, memory),
        took,
        iterations_per_second: None,
    })
}

/// The iterations with which PBKDF2 takes `time`, computed from a shorter run; `timed` derives once.
pub fn pbkdf2(
    time: Duration,
    mut timed: impl FnMut(Costs) -> Result<Duration, Failure>,
) -> Result<Found, Failure> {
    let costs = |iterations| Costs {
        iterations,
        memory_kib: None,
        threads: 1,
    };
    let mut iterations = FIRST_ITERATIONS;
    let mut took = timed(costs(iterations))?;
    while took < LONG.min(time) && iterations < u32::MAX / 2 {
        iterations *= 2;
        took = timed(costs(iterations))?;
    }
    let per_second = f64::from(iterations) / took.as_secs_f64();
    Ok(Found {
        costs: costs((per_second * time.as_secs_f64()) as u32),
        took,
        iterations_per_second: Some(per_second),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIME: Duration = Duration::from_secs(2);

    /// The costs that a machine finds whose Argon2 passes over `kib_per_ms`, and what it tried.
    fn found(kib_per_ms: u64, memory_kib: u64) -> (Found, Vec<Costs>) {
        let limits = Limits {
            memory_kib,
            threads: 2,
        };
        let mut tried = Vec::new();
        let found = argon2(TIME, &limits, |costs| {
            tried.push(costs);
            let work = u64::from(costs.iterations) * u64::from(costs.memory_kib.unwrap_or(0));
            Ok(Duration::from_millis(work / kib_per_ms))
        });
        (found.expect("no failure"), tried)
    }

    #[test]
    fn memory_comes_before_passes() {
        // Enough for four passes over 500 MiB.
        let (slow, tried) = found(1024, 1 << 20);
        assert_eq!(slow.costs.iterations, 4);
        assert!(
            (480..=520).contains(&(slow.costs.memory_kib.unwrap_or(0) >> 10)),
            "{slow:?}"
        );
        assert!(tried.len() <= 3, "{tried:?}");
        // Enough for more passes than four over all of 1 GiB.
        let (fast, _) = found(10 * 1024, 1 << 20);
        assert_eq!(
            (fast.costs.iterations, fast.costs.memory_kib),
            (20, Some(1 << 20))
        );
        assert_eq!(fast.costs.threads, 2);
        assert!(RIGHT.contains(&(fast.took.as_secs_f64() / TIME.as_secs_f64())));
    }

    #[test]
    fn nothing_is_below_the_least_or_above_the_limit() {
        let (slow, _) = found(1, 1 << 20);
        assert_eq!(
            (slow.costs.iterations, slow.costs.memory_kib),
            (4, Some(64 << 10))
        );
        let (small, tried) = found(1024, 32 << 10);
        assert_eq!(small.costs.memory_kib, Some(32 << 10));
        assert!(small.costs.iterations > 60, "{small:?}");
        assert!(tried.iter().all(|costs| costs.memory_kib == Some(32 << 10)));
    }

    /// A machine whose time is never right ends the search.
    #[test]
    fn a_busy_machine_ends_too() {
        let limits = Limits {
            memory_kib: 1 << 20,
            threads: 1,
        };
        let mut tried = 0;
        let found = argon2(TIME, &limits, |_| {
            tried += 1;
            Ok(Duration::from_millis([9000, 300][tried % 2]))
        });
        found.expect("no failure");
        assert_eq!(tried, TRIES);
    }

    #[test]
    fn pbkdf2_is_computed_from_half_a_second() {
        let mut tried = Vec::new();
        let found = pbkdf2(TIME, |costs| {
            tried.push(costs.iterations);
            Ok(Duration::from_nanos(u64::from(costs.iterations) * 1000))
        });
        let found = found.expect("no failure");
        assert_eq!(found.costs.iterations, 2_000_000);
        assert_eq!(found.iterations_per_second, Some(1e6));
        assert!(tried.is_sorted_by(|one, next| one * 2 == *next));
        assert!(found.took >= LONG);
        let quick = pbkdf2(Duration::from_millis(10), |_| Ok(Duration::from_millis(20)));
        assert_eq!(
            quick.expect("no failure").costs.iterations,
            FIRST_ITERATIONS / 2
        );
    }
}
