//! The kernel's entropy pool, from which its generator reseeds (random(4)).
//!
//! All unsafe code of `squall seed` is here: two ioctls of include/uapi/linux/random.h.

#![allow(unsafe_code)]

use core::ffi::c_int;
use std::fs::File;
use std::io;

use rustix::ioctl::{NoArg, Opcode, Updater, ioctl, opcode};
use zeroize::Zeroize;

pub const PATH: &str = "/dev/urandom";

/// Bytes in a contribution: one output block of Whirlwind with SHA-512.
pub const LEN: usize = 64;

/// `RNDADDENTROPY`. Its number encodes the size of `int[2]`, the header of its argument.
const ADD_ENTROPY: Opcode = opcode::write::<[c_int; 2]>(b'R', 0x03);

const RESEED: Opcode = opcode::none(b'R', 0x07);

/// The kernel's `struct rand_pool_info`: bytes for the pool, wiped when dropped.
#[repr(C)]
pub struct Contribution {
    credited_bits: c_int,
    len: c_int,
    pub bytes: [u8; LEN],
}

impl Contribution {
    /// A contribution of zeros, to be filled, that claims `credit` bits of entropy.
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
    /// Opens the device, which every user may do.
    pub fn open() -> io::Result<KernelPool> {
        File::open(PATH).map(KernelPool)
    }

    /// Mixes `contribution` into the pool; what the pool holds stays in it.
    pub fn add(&self, contribution: &mut Contribution) -> rustix::io::Result<()> {
        // SAFETY: the kernel takes `struct rand_pool_info` for this number: two ints and as many
        // bytes as the second says, which `Contribution` lays out and `new` sets.
        unsafe { ioctl(&self.0, Updater::<ADD_ENTROPY, _>::new(contribution)) }
    }

    /// Makes the generator reseed from the pool at once.
    pub fn reseed(&self) -> rustix::io::Result<()> {
        // SAFETY: the kernel takes no argument for this number.
        unsafe { ioctl(&self.0, NoArg::<RESEED>::new()) }
    }
}
