//! The offsets of transfers: sequential or random.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::model::Workload;

/// The position of sequential transfers.
#[derive(Debug, Default)]
pub struct Offsets {
    /// The next sequential offset in bytes.
    next: AtomicU64,
}

impl Offsets {
    /// The offset of the next transfer of `workload` in the first `bytes` of the device: a multiple
    /// of the transfer's size. `None` if `bytes` is less than one transfer.
    pub fn next(&self, workload: &Workload, bytes: u64) -> Option<u64> {
        let block = workload.block as u64;
        let blocks = bytes / block;
        if blocks == 0 {
            return None;
        }
        let number = if workload.is_random {
            below(blocks)
        } else {
            (self.next.fetch_add(block, Ordering::Relaxed) / block) % blocks
        };
        Some(number * block)
    }
}

/// A random number below `bound`; its bias is less than `bound` / 2^64.
fn below(bound: u64) -> u64 {
    ((u128::from(squall::u64()) * u128::from(bound)) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::measure::workloads;

    fn workload(is_random: bool) -> Workload {
        let is_wanted = |workload: &Workload| workload.is_random == is_random;
        workloads().into_iter().find(is_wanted).unwrap()
    }

    #[test]
    fn sequential_offsets_wrap_at_the_end() {
        let large = workload(false);
        let offsets = Offsets::default();
        let mebibytes: Vec<u64> = (0..5)
            .map(|_| offsets.next(&large, (3 << 20) + 4096).unwrap() >> 20)
            .collect();
        assert_eq!(mebibytes, [0, 1, 2, 0, 1]);
        assert_eq!(offsets.next(&large, (1 << 20) - 1), None);
    }

    #[test]
    fn random_offsets_are_spread_and_in_range() {
        let small = workload(true);
        let offsets = Offsets::default();
        let bytes = 64 * 4096 + 512;
        let offsets: Vec<u64> = (0..4096)
            .map(|_| offsets.next(&small, bytes).unwrap())
            .collect();
        assert!(offsets.iter().all(|offset| offset % 4096 == 0));
        let found: BTreeSet<u64> = offsets.iter().map(|offset| offset / 4096).collect();
        assert_eq!(found, (0..64).collect());
        let is_next = |pair: &[u64]| pair[1] == pair[0] + 4096;
        let runs = offsets.windows(2).filter(|pair| is_next(pair)).count();
        assert!(runs < 200, "{runs} of 4095 follow the one before, not 64");
    }
}
