//! Whether a run has the memory that it needs, and may write to the ends of its files: asked before anything is written.

use rustix::process::{Resource, getrlimit};
use squall_drives::{Kind, Target, shown};
use squall_tools::{Failure, units};

use crate::pipeline::TRANSFER;

/// Fails unless this process may write all of `targets` (RLIMIT_FSIZE is for files only), and there is memory for the work
/// on them.
pub fn check(targets: &[Target]) -> Result<(), Failure> {
    let longest = getrlimit(Resource::Fsize).current.unwrap_or(u64::MAX);
    for target in targets {
        let size = target.identity.size;
        if target.identity.kind == Kind::File && size > longest {
            return Err(Failure::Usage(format!(
                "{}: it has {size} bytes, and this process may write {longest} bytes of a file (`ulimit -f`): nothing \
                 was written: raise the limit",
                shown(&target.identity.given)
            )));
        }
    }
    match free_memory() {
        Some(free) if fitting(1, targets.len(), free) == 0 => Err(Failure::Runtime(format!(
            "{} targets need {} of memory, and {} are free: nothing was written: name fewer at a time",
            targets.len(),
            units::volume(needed(1, targets.len())),
            units::volume(free)
        ))),
        _ => Ok(()),
    }
}

/// How many transfers a drive may have in flight, at most `asked`, while memory must do for `drives`.
pub fn depth(asked: u32, drives: usize) -> u32 {
    let fitting = free_memory().map(|free| fitting(asked, drives, free));
    fitting.unwrap_or(asked).max(1)
}

/// The most transfers, up to `asked`, that each of `drives` can have in flight in three quarters of `free` bytes.
fn fitting(asked: u32, drives: usize, free: u64) -> u32 {
    let fits = |depth: &u32| needed(*depth, drives) <= free / 4 * 3;
    (1..=asked).rev().find(fits).unwrap_or(0)
}

/// The memory that `drives` take: each has a buffer for each transfer in flight, and one for what is compared.
fn needed(depth: u32, drives: usize) -> u64 {
    (u64::from(depth) + 1) * drives as u64 * TRANSFER as u64
}

/// The memory that the kernel can give without swapping; `None` if it does not tell.
fn free_memory() -> Option<u64> {
    let known = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = known
        .lines()
        .find_map(|it| it.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn many_drives_have_fewer_transfers_in_flight() {
        for (drives, mib, expected) in [
            (1, 1000, 4),
            (128, 1000, 4),
            (128, 600, 2),
            (128, 400, 1),
            (128, 300, 0),
            (0, 0, 4),
        ] {
            assert_eq!(fitting(4, drives, mib * MIB), expected, "{drives} {mib}");
        }
        assert!(free_memory().is_some_and(|free| free > MIB));
    }
}
