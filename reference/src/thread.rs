//! How a thread of squall serves requests, on a CPU with AES instructions.
//!
//! What makes a thread reseed, and when a tick begins, is the guards' (`squall/src/guard/`), and so are seeds the entropy
//! sources'. Simulations (`SimulationRng`) get no request pads.

use crate::{Aes, CtrDrbg, MAX_REQUEST, xor};

/// Longest request that is served from the buffer, in bytes.
const SMALL: usize = 256;

/// Length of the first refill after a seeding or in a tick, in bytes; each next one is twice as long.
const FIRST_REFILL: usize = 256;

/// Length of the buffer, in bytes.
const CAPACITY: usize = 3584;

/// What a thread knows of its machine.
#[derive(Clone, Copy)]
pub struct Machine {
    pub is_vm: bool,
    /// Whether copies of the machine and of the process are noticed before their next request.
    pub shows_copies: bool,
    /// The cycle counter, and two words of the random instruction.
    pub noise: fn() -> [u64; 3],
}

/// A thread's generator, its request pads and its buffer.
pub struct Thread {
    pub machine: Machine,
    drbg: CtrDrbg,
    pads: Aes,
    /// Bytes that no request has had.
    buffer: Vec<u8>,
    next_refill: usize,
    /// Whether the generator has served no request in this tick of the kernel's clock.
    is_new_tick: bool,
}

impl Thread {
    /// A thread with its first seed.
    pub fn new(machine: Machine, seed: &[u8; 48]) -> Thread {
        let mut thread = Thread {
            machine,
            drbg: CtrDrbg::unseeded(32),
            pads: Aes::new(&[0; 32]),
            buffer: Vec::new(),
            next_refill: 0,
            is_new_tick: true,
        };
        thread.seed(seed);
        thread
    }

    /// Reseeds the generator, which then gives the key of the request pads.
    pub fn seed(&mut self, seed: &[u8; 48]) {
        self.drbg
            .reseed(seed, &[])
            .expect("a seed has seedlen bytes");
        self.pads = Aes::new(&self.generate(32, 0));
        self.begin_tick();
    }

    /// Discards the buffer: in a new tick, the process may have been restored.
    pub fn begin_tick(&mut self) {
        self.buffer.clear();
        self.next_refill = FIRST_REFILL;
        self.is_new_tick = true;
    }

    /// A request of `len` bytes.
    pub fn fill(&mut self, len: usize) -> Vec<u8> {
        if len > SMALL {
            return self.fill_in_place(len);
        }
        self.is_new_tick = false;
        if self.buffer.len() < len {
            self.buffer = self.generate(self.next_refill, 2);
            self.next_refill = CAPACITY.min(2 * self.next_refill);
        }
        let taken = self.buffer.split_off(self.buffer.len() - len);
        if self.machine.shows_copies {
            taken
        } else {
            self.pad(taken)
        }
    }

    /// XORs a request pad, which the cycle counter and a random word number.
    fn pad(&self, taken: Vec<u8>) -> Vec<u8> {
        let [cycles, word, _] = (self.machine.noise)();
        let first = u128::from(word) << 64 | u128::from(cycles << 4);
        xor(&taken, &self.pads.keystream(first, taken.len()))
    }

    /// A request that is too long for the buffer. In a VM, no signal of clones is believed alone.
    fn fill_in_place(&mut self, len: usize) -> Vec<u8> {
        let mut out = Vec::new();
        while out.len() < len {
            let needs_input = self.is_new_tick || self.machine.is_vm || !self.machine.shows_copies;
            self.is_new_tick = false;
            let part = MAX_REQUEST.min(len - out.len());
            out.extend(self.generate(part, if needs_input { 3 } else { 0 }));
        }
        out
    }

    /// Generates with so many words of noise as additional input.
    fn generate(&mut self, len: usize, words: usize) -> Vec<u8> {
        let noise = (self.machine.noise)().map(u64::to_le_bytes);
        let additional = noise[..words].as_flattened();
        self.drbg
            .generate(len, additional)
            .expect("it keeps to the limits")
    }
}
