//! The kernel's entropy pool: bytes go in, and its generator reseeds from it (random(4)).
//!
//! The only unsafe code of `squall seed` is here: two ioctls of include/uapi/linux/random.h.

#![allow(unsafe_code)]

use core::ffi::c_int;
use std::fs::File;
use std::io;

use rustix::ioctl::{NoArg, Opcode, Updater, ioctl, opcode};
use zeroize::Zeroize;

pub const PATH: &str = "/dev/urandom";

/// Bytes in a contribution: one output block of Whirlwind with SHA-512.
pub const LEN: usize = 64;

/// `RNDADDENTROPY`, whose number has the size of `int[2]`, the head of what it takes.
const ADD_ENTROPY: Opcode = opcode::write::<[c_int; 2]>(b'R', 0x03);

const RESEED: Opcode = opcode::none(b'R', 0x07);

/// Bytes for the pool, wiped in the end: the kernel's `struct rand_pool_info`.
#[repr(C)]
pub struct Contribution {
    credited_bits: c_int,
    len: c_int,
    pub bytes: [u8; LEN],
}

impl Contribution {
    /// Zeros, to be filled, that claim `credit` bits of entropy.
    pub fn new(credit: u16) -> Contribution {
        Contribution {
            credited_bits: c_int::from(credit),
            len: LEN as c_int,
            bytes: [0; LEN],
        }
    }
}

impl Drop for Contribution {
    fn drop(&mut self) {
        self.bytes.zeroize();
    }
}

/// The kernel's generator, open.
pub struct KernelPool(File);

impl KernelPool {
    /// Opens the device, which anyone may.
    pub fn open() -> io::Result<KernelPool> {
        File::open(PATH).map(KernelPool)
    }

    /// Mixes `contribution` into the pool, where it joins what is there.
    pub fn add(&self, contribution: &mut Contribution) -> rustix::io::Result<()> {
        // SAFETY: the kernel takes `struct rand_pool_info` for this number: two ints and as many
        // bytes as the second says, which `Contribution` lays out and `new` sets.
        unsafe { ioctl(&self.0, Updater::<ADD_ENTROPY, _>::new(contribution)) }
    }

    /// Makes the generator take a new seed from the pool at once.
    pub fn reseed(&self) -> rustix::io::Result<()> {
        // SAFETY: the kernel takes no argument for this number.
        unsafe { ioctl(&self.0, NoArg::<RESEED>::new()) }
    }
}
