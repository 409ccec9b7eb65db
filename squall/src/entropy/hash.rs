//! Hashes secrets, and wipes the copies that this makes.

use sha2::Digest;
use sha2::digest::{FixedOutputReset, Output};

use crate::secret::wipe;

/// Hashes the concatenation of `parts`, and writes the first bytes of the hash to `out`.
pub(super) fn hash<D: Digest + FixedOutputReset>(parts: &[&[u8]], out: &mut [u8]) {
    let mut hash = D::new();
    for part in parts {
        Digest::update(&mut hash, part);
    }
    let mut digest = Output::<D>::default();
    // By reference: moving the hash would leave a copy of its input behind.
    FixedOutputReset::finalize_into_reset(&mut hash, &mut digest);
    out.copy_from_slice(&digest[..out.len()]);
    wipe(&mut digest);
}
