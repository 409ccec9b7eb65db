//! Hashing secrets, and leaving nothing of them behind.

use sha2::Digest;
use sha2::digest::{FixedOutputReset, Output};

use crate::secret::wipe;

/// Hashes `parts`, one behind the other, and writes the first bytes of the hash to `out`.
pub(super) fn hash<D: Digest + FixedOutputReset>(parts: &[&[u8]], out: &mut [u8]) {
    let mut hash = D::new();
    for part in parts {
        Digest::update(&mut hash, part);
    }
    let mut digest = Output::<D>::default();
    // By reference: a hash that is moved leaves its input behind.
    FixedOutputReset::finalize_into_reset(&mut hash, &mut digest);
    out.copy_from_slice(&digest[..out.len()]);
    wipe(&mut digest);
}
