//! Order statistics of cycle counts.

/// The least of `cycles`. None if there are none.
pub fn least(cycles: &[u64]) -> Option<u64> {
    cycles.iter().min().copied()
}

/// The upper median of `cycles`. None if there are none.
pub fn median(cycles: &[u64]) -> Option<u64> {
    let mut sorted = cycles.to_vec();
    sorted.sort_unstable();
    sorted.get(sorted.len() / 2).copied()
}
