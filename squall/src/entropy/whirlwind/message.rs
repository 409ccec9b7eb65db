//! The message that is hashed to a block of output: `3 | fast seed | slow seed | counter | cycles |
//! process | CPU | hardware`. Numbers have 64 bits, process and CPU 32; hardware has 32 bytes.

use core::marker::PhantomData;

use super::functions::{Functions, MAX_SEED_LEN};
use super::seed::SeedBytes;
use crate::entropy::machine::{HARDWARE_LEN, Machine};
use squall_drbg::internal::Secret;

/// Separates outputs from the initial seeds, which are the hashes of 1 and 2.
const OUTPUT: u64 = 3;

const NUMBER_LEN: usize = size_of::<u64>();
const MAX_LEN: usize = 4 * NUMBER_LEN + 2 * MAX_SEED_LEN + HARDWARE_LEN;

pub(super) struct Message<F: Functions> {
    bytes: Secret<MAX_LEN>,
    functions: PhantomData<F>,
}

impl<F: Functions> Message<F> {
    const SEEDS: usize = NUMBER_LEN;
    const COUNTERS: usize = Self::SEEDS + 2 * F::SEED_LEN;
    const MACHINE: usize = Self::COUNTERS + 2 * NUMBER_LEN;
    const HARDWARE: usize = Self::MACHINE + NUMBER_LEN;
    const LEN: usize = Self::HARDWARE + HARDWARE_LEN;

    /// An empty message; its fields are written in place.
    pub fn zeroed() -> Self {
        Message {
            bytes: Secret::zeroed(),
            functions: PhantomData,
        }
    }

    /// Sets the fields that `machine` provides: process, CPU and hardware words.
    pub fn set_machine(&mut self, machine: &impl Machine) {
        let bytes = &mut self.bytes;
        bytes[..Self::SEEDS].copy_from_slice(&OUTPUT.to_be_bytes());
        let place = u64::from(machine.process()) << 32 | u64::from(machine.cpu());
        bytes[Self::MACHINE..Self::HARDWARE].copy_from_slice(&place.to_be_bytes());
        let hardware = bytes[Self::HARDWARE..].first_chunk_mut();
        machine.random(hardware.expect("a message ends with the hardware's bytes"));
    }

    /// Sets the seeds to what `write` stores in the fast and the slow one.
    pub fn set_seeds(&mut self, write: impl FnOnce(&mut SeedBytes, &mut SeedBytes)) {
        let (mut fast, mut slow) = (SeedBytes::zeroed(), SeedBytes::zeroed());
        write(&mut fast, &mut slow);
        let seeds = &mut self.bytes[Self::SEEDS..Self::COUNTERS];
        let (first, second) = seeds.split_at_mut(F::SEED_LEN);
        first.copy_from_slice(&fast[..F::SEED_LEN]);
        second.copy_from_slice(&slow[..F::SEED_LEN]);
    }

    /// Sets the counter and the cycle count.
    pub fn set_counters(&mut self, counter: u64, cycles: u64) {
        let counters = &mut self.bytes[Self::COUNTERS..Self::MACHINE];
        let (first, second) = counters.split_at_mut(NUMBER_LEN);
        first.copy_from_slice(&counter.to_be_bytes());
        second.copy_from_slice(&cycles.to_be_bytes());
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..Self::LEN]
    }
}
