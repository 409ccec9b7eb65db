//! Random arrays, vectors, and memory that is not initialised.

use core::mem::MaybeUninit;

use crate::thread_generator::{RequestKind, fill};
use squall_drbg::MAX_REQUEST;

/// Fills memory that may be uninitialised, and returns it as bytes. Same as [`fill`](crate::fill) in
/// everything else.
///
/// The memory is set to zeros first, 64 KiB at a time, which the CPU's caches absorb. Each such part is
/// a request of its own.
///
/// ```
/// let mut salt = [std::mem::MaybeUninit::uninit(); 16];
/// let salt: &mut [u8] = squall::fill_uninit(&mut salt);
/// # assert_eq!(salt.len(), 16);
/// ```
pub fn fill_uninit(out: &mut [MaybeUninit<u8>]) -> &mut [u8] {
    for part in out.chunks_mut(MAX_REQUEST) {
        part.fill(MaybeUninit::new(0));
        // SAFETY: every byte of the part was just initialised.
        fill(RequestKind::Unique, unsafe { initialised(part) });
    }
    // SAFETY: every byte of each part was initialised.
    unsafe { initialised(out) }
}

/// # Safety
/// Every byte is initialised.
unsafe fn initialised(bytes: &mut [MaybeUninit<u8>]) -> &mut [u8] {
    // SAFETY: the caller's promise. The slice is the same, and MaybeUninit<u8> has the layout of u8.
    unsafe { core::slice::from_raw_parts_mut(bytes.as_mut_ptr().cast(), bytes.len()) }
}

/// A random array of `N` bytes. Same as [`fill`](crate::fill) in everything else.
#[inline]
pub fn array<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    fill(RequestKind::Unique, &mut bytes);
    bytes
}

/// `M` random arrays of `N` bytes each, by one request. Same as [`fill`](crate::fill) in everything else.
///
/// For up to 256 bytes altogether this is faster than [`array()`] for each. A longer request has a fixed cost, which
/// some twenty keys of 32 bytes make up for.
///
/// ```
/// let [encryption_key, signing_key] = squall::arrays::<32, 2>();
/// # assert_ne!(encryption_key, signing_key);
/// ```
#[inline]
pub fn arrays<const N: usize, const M: usize>() -> [[u8; N]; M] {
    let mut arrays = [[0; N]; M];
    fill(RequestKind::Unique, arrays.as_flattened_mut());
    arrays
}

/// An endless iterator of random arrays of `N` bytes. Each is a request of its own, made when it is taken:
/// nothing is kept that a fork or a clone could repeat. Same as [`fill`](crate::fill) in everything else.
///
/// ```
/// let keys: Vec<[u8; 32]> = squall::iter().take(3).collect();
/// let numbers = squall::iter().map(u64::from_ne_bytes);
/// # assert_eq!(numbers.take(5).count(), 5);
/// # assert_eq!(keys.len(), 3);
/// ```
#[inline]
pub fn iter<const N: usize>() -> impl Iterator<Item = [u8; N]> + Clone {
    core::iter::repeat_with(array)
}

/// A vector of `len` random bytes. The only request that allocates. Same as [`fill`](crate::fill) in
/// everything else.
///
/// # Panics
/// If `len` exceeds `isize::MAX`. Where there is not enough memory, the program is aborted, as by any vector.
pub fn bytes(len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    fill(RequestKind::Unique, &mut bytes);
    bytes
}
