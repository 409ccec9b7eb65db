//! The reference that the library is compared with: Whirlwind as the paper describes it, slow and obvious, with
//! the hashes of the crate `sha2`. The attacker of the game also uses it: whoever knows a state can continue
//! from there.

use aes::Aes256;
use aes::cipher::{Array, BlockCipherEncrypt, KeyInit};
use sha2::block_api::{compress256, compress512};
use sha2::{Digest, Sha256, Sha512};
use squall::entropy::{Input, Machine};

use super::script::ScriptedMachine;

/// The functions h and H by name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Functions {
    Sha512,
    Sha256,
    DaviesMeyer,
}

impl Functions {
    fn hash(self, message: &[u8]) -> Vec<u8> {
        match self {
            Functions::Sha256 => Sha256::digest(message).to_vec(),
            _ => Sha512::digest(message).to_vec(),
        }
    }

    fn compress(self, seed: &[u8], block: &[u8]) -> Vec<u8> {
        match self {
            Functions::Sha512 => sha512_compress(seed, block),
            Functions::Sha256 => sha256_compress(seed, block),
            Functions::DaviesMeyer => davies_meyer(seed, block),
        }
    }

    /// Bytes of a block of the compression function.
    fn block_len(self) -> usize {
        match self {
            Functions::Sha256 => 64,
            _ => 128,
        }
    }
}

/// One block into a chaining value, both as big-endian bytes.
fn sha512_compress(seed: &[u8], block: &[u8]) -> Vec<u8> {
    let words: &[[u8; 8]; 8] = seed.as_chunks().0.try_into().unwrap();
    let mut state = words.map(u64::from_be_bytes);
    compress512(&mut state, &[block.try_into().unwrap()]);
    state.map(u64::to_be_bytes).concat()
}

fn sha256_compress(seed: &[u8], block: &[u8]) -> Vec<u8> {
    let words: &[[u8; 4]; 8] = seed.as_chunks().0.try_into().unwrap();
    let mut state = words.map(u32::from_be_bytes);
    compress256(&mut state, &[block.try_into().unwrap()]);
    state.map(u32::to_be_bytes).concat()
}

/// Each lane of 16 bytes becomes E(key, lane) XOR lane, for the block's keys in turn.
fn davies_meyer(seed: &[u8], block: &[u8]) -> Vec<u8> {
    let mut lanes: Vec<[u8; 16]> = seed.as_chunks().0.to_vec();
    for key in block.chunks(32) {
        let cipher = Aes256::new_from_slice(key).unwrap();
        for lane in &mut lanes {
            let mut encrypted = Array::from(*lane);
            cipher.encrypt_block(&mut encrypted);
            *lane = std::array::from_fn(|i| lane[i] ^ encrypted[i]);
        }
    }
    lanes.concat()
}

#[derive(Clone)]
pub struct Reference {
    functions: Functions,
    pub machine: ScriptedMachine,
    pub fast: Vec<u8>,
    pub slow: Vec<u8>,
    pub published: Vec<u8>,
    fast_buffer: Vec<u8>,
    slow_buffer: Vec<u8>,
    slow_compressions: u64,
    pub inputs: u64,
    outputs: u64,
}

impl Reference {
    pub fn new(functions: Functions, machine: ScriptedMachine) -> Reference {
        let second = functions.hash(&2u64.to_be_bytes());
        Reference {
            functions,
            machine,
            fast: functions.hash(&1u64.to_be_bytes()),
            slow: second.clone(),
            published: second,
            fast_buffer: vec![],
            slow_buffer: vec![],
            slow_compressions: 0,
            inputs: 0,
            outputs: 0,
        }
    }

    pub fn add(&mut self, input: Input) {
        let [v1, v2] = input.values;
        let words = [input.source, input.cycles, v1, v2];
        let bytes = words.map(u32::to_be_bytes).concat();
        let is_slow = self.inputs.is_multiple_of(10);
        self.inputs += 1;
        if is_slow {
            self.slow_buffer.extend(bytes);
            if self.slow_buffer.len() == self.functions.block_len() {
                self.slow = self.functions.compress(&self.slow, &self.slow_buffer);
                self.slow_buffer.clear();
                self.slow_compressions += 1;
                if self.slow_compressions.is_multiple_of(50) {
                    self.published = self.slow.clone();
                }
            }
        } else {
            self.fast_buffer.extend(bytes);
            if self.fast_buffer.len() == self.functions.block_len() {
                self.fast = self.functions.compress(&self.fast, &self.fast_buffer);
                self.fast_buffer.clear();
            }
        }
        if self.inputs == 100 {
            self.published = self.slow.clone();
        }
    }

    fn add_own(&mut self, source: u32, number: u64) {
        let cycles = self.machine.cycles() as u32;
        let values = [number as u32, (number >> 32) as u32];
        self.add(Input {
            source,
            cycles,
            values,
        });
    }

    pub fn generate(&mut self, len: usize) -> Vec<u8> {
        let size = self.fast.len();
        let blocks = len.div_ceil(size) as u64;
        let first = self.outputs;
        self.outputs += blocks;
        self.add_own(0x5751_0003, 0);
        let seed = self.fast.clone();
        self.fast = self
            .functions
            .compress(&seed, &vec![0; self.functions.block_len()]);
        let mut out = vec![];
        for i in 0..blocks {
            let mut hardware = [0; 32];
            self.machine.random(&mut hardware);
            let message = [
                &3u64.to_be_bytes()[..],
                &seed,
                &self.published,
                &(first + i).to_be_bytes(),
                &self.machine.cycles().to_be_bytes(),
                &self.machine.process().to_be_bytes(),
                &self.machine.cpu().to_be_bytes(),
                &hardware,
            ]
            .concat();
            out.extend(self.functions.hash(&message));
        }
        self.add_own(0x5751_0004, 0);
        out.truncate(len);
        out
    }

    /// Goes back to the state `before`, except for the fast seed, to repeat the outputs after it: the
    /// attacker knows all the rest.
    pub fn rewind(&mut self, before: &Reference, machine: ScriptedMachine) {
        let fast = self.fast.clone();
        *self = before.clone();
        self.machine = machine;
        self.fast = fast;
    }

    pub fn bootstrap(&mut self) {
        let mut mixed = 0u64;
        for i in 0..100 {
            let count = self.machine.cycles();
            self.add_own(0x5751_0001, count);
            for j in 0..count % 1024 {
                mixed = (j / (count + 1)).wrapping_sub(mixed.wrapping_mul(i));
            }
        }
        self.add_own(0x5751_0002, mixed);
        self.published = self.slow.clone();
    }
}
