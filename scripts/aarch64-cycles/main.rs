//! Makes LEN bytes of keystream, or XORs them, between two calls of `mark`, by the loop named:
//!
//!     aarch64-cycles LOOP aes-128|aes-256|chacha20 bare|xor LEN
//!
//! `../aarch64-cycles.py` runs it in an emulator that records the instructions.

#[path = "."]
mod engine {
    //! The engine's files, and what they expect around them.
    use crate::between;

    pub const BLOCK: usize = 16;
    pub const CACHED_SCHEDULE_LEN: usize = 15 * BLOCK;

    pub enum Stores {
        Cached,
    }

    pub fn without_carry(counter: u128, out: &mut [u8], mut each: impl FnMut(u128, &mut [u8])) {
        each(counter, out);
    }

    #[path = "../../squall/src/engine/aarch64/mod.rs"]
    mod aarch64;

    pub fn run(is_256: bool, xors: bool, out: &mut [u8]) {
        if xors {
            assert!(is_256, "squall XORs AES-256 only");
            let mut keys = [0; CACHED_SCHEDULE_LEN];
            aarch64::cached_schedule::expand(&[1; 32], &mut keys);
            return between(|| aarch64::cached_schedule::xor_keystream(&keys, 1, out));
        }
        let mut key = aarch64::Expanded::empty();
        if is_256 {
            aarch64::schedule::expand_256(&[1; 32], &mut key.keys)
        } else {
            aarch64::schedule::expand_128(&[1; 16], &mut key.keys)
        }
        let rounds = if is_256 { 14 } else { 10 };
        between(|| key.keystream(rounds, 1, out, Stores::Cached));
    }
}
#[allow(dead_code)]
#[path = "../../squall/src/hwcap.rs"]
mod hwcap;
mod secret {
    pub fn wipe(words: &mut [u8]) {
        words.fill(0);
        zeroize::optimization_barrier(words);
    }
}

use cipher::{KeyIvInit, StreamCipher};
use std::hint::black_box;

/// What is executed between its two calls is what counts.
#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn mark() {
    black_box(());
}

fn between(work: impl FnOnce()) {
    mark();
    work();
    mark();
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [name, cipher, output, len] = arguments.as_slice() else {
        panic!("LOOP aes-128|aes-256|chacha20 bare|xor LEN");
    };
    let is_256 = cipher == "aes-256";
    let mut out = vec![0; len.parse().unwrap()];
    if cipher == "chacha20" {
        run_chacha20(name, output == "xor", &mut out);
        return drop(black_box(out));
    }
    match (name.as_str(), output.as_str()) {
        ("squall", output) => engine::run(is_256, output == "xor", &mut out),
        ("aes-crate", output) => match (is_256, output == "xor") {
            (false, false) => write::<ctr::Ctr128BE<aes::Aes128Enc>>(&[1; 16], &mut out),
            (false, true) => apply::<ctr::Ctr128BE<aes::Aes128Enc>>(&[1; 16], &mut out),
            (true, false) => write::<ctr::Ctr128BE<aes::Aes256Enc>>(&[1; 32], &mut out),
            (true, true) => apply::<ctr::Ctr128BE<aes::Aes256Enc>>(&[1; 32], &mut out),
        },
        #[cfg(openssl)]
        ("openssl", "xor") => foreign(openssl::SET_KEY, openssl::CTR, is_256, &mut out),
        #[cfg(openssl)]
        ("openssl-eor3", "xor") => foreign(openssl::SET_KEY, openssl::EOR3, is_256, &mut out),
        #[cfg(aws_lc)]
        ("aws-lc", "xor") => foreign(aws_lc::SET_KEY, aws_lc::CTR, is_256, &mut out),
        _ => panic!("this program has no such loop"),
    }
    black_box(out);
}

fn run_chacha20(name: &str, xors: bool, out: &mut [u8]) {
    match (name, xors) {
        ("squall", false) => {
            let mut generator = squall::hazmat::FastKeyErasure::new(&[1; 32]);
            between(|| generator.generate(out, &[]).unwrap());
        }
        ("chacha20-crate", false) => write_with::<chacha20::ChaCha20>(&[1; 32], &[0; 12], out),
        #[cfg(openssl)]
        ("openssl", true) => {
            let (key, counter) = ([1; 8], [0; 4]);
            let (place, len) = (out.as_mut_ptr(), out.len());
            // SAFETY: `out` is read and written in place; key and counter have their lengths.
            between(|| unsafe { openssl::ChaCha20_ctr32_dflt(place, place, len, &key, &counter) });
        }
        _ => panic!("this program has no such loop"),
    }
}

fn write<C: KeyIvInit + StreamCipher>(key: &[u8], out: &mut [u8]) {
    write_with::<C>(key, &[0; 16], out)
}

fn write_with<C: KeyIvInit + StreamCipher>(key: &[u8], nonce: &[u8], out: &mut [u8]) {
    let mut cipher = C::new_from_slices(key, nonce).unwrap();
    between(|| cipher.write_keystream(out));
}

fn apply<C: KeyIvInit + StreamCipher>(key: &[u8], out: &mut [u8]) {
    let mut cipher = C::new_from_slices(key, &[0; 16]).unwrap();
    between(|| cipher.apply_keystream(out));
}

/// AES_KEY as OpenSSL and AWS-LC have it.
#[cfg(any(openssl, aws_lc))]
#[repr(C)]
struct Schedule {
    keys: [u32; 60],
    rounds: u32,
}

#[cfg(any(openssl, aws_lc))]
type SetKey = unsafe extern "C" fn(*const u8, i32, *mut Schedule) -> i32;
#[cfg(any(openssl, aws_lc))]
type Ctr = unsafe extern "C" fn(*const u8, *mut u8, usize, *const Schedule, *const u8);

#[cfg(openssl)]
mod openssl {
    use super::*;
    unsafe extern "C" {
        fn aes_v8_set_encrypt_key(key: *const u8, bits: i32, schedule: *mut Schedule) -> i32;
        fn aes_v8_ctr32_encrypt_blocks(
            from: *const u8,
            to: *mut u8,
            blocks: usize,
            key: *const Schedule,
            counter: *const u8,
        );
        fn aes_v8_ctr32_encrypt_blocks_unroll12_eor3(
            from: *const u8,
            to: *mut u8,
            blocks: usize,
            key: *const Schedule,
            counter: *const u8,
        );
    }
    unsafe extern "C" {
        pub fn ChaCha20_ctr32_dflt(
            to: *mut u8,
            from: *const u8,
            len: usize,
            key: &[u32; 8],
            counter: &[u32; 4],
        );
    }

    /// The CPU's features, of which NEON is the first: OpenSSL's ChaCha20 reads them.
    #[unsafe(no_mangle)]
    static OPENSSL_armcap_P: u32 = 1;

    pub const SET_KEY: SetKey = aes_v8_set_encrypt_key;
    pub const CTR: Ctr = aes_v8_ctr32_encrypt_blocks;
    pub const EOR3: Ctr = aes_v8_ctr32_encrypt_blocks_unroll12_eor3;
}

#[cfg(aws_lc)]
mod aws_lc {
    use super::*;
    unsafe extern "C" {
        fn aes_hw_set_encrypt_key(key: *const u8, bits: i32, schedule: *mut Schedule) -> i32;
        fn aes_hw_ctr32_encrypt_blocks(
            from: *const u8,
            to: *mut u8,
            blocks: usize,
            key: *const Schedule,
            counter: *const u8,
        );
    }
    pub const SET_KEY: SetKey = aes_hw_set_encrypt_key;
    pub const CTR: Ctr = aes_hw_ctr32_encrypt_blocks;
}

#[cfg(any(openssl, aws_lc))]
fn foreign(set_key: SetKey, ctr: Ctr, is_256: bool, out: &mut [u8]) {
    let mut schedule = Schedule {
        keys: [0; 60],
        rounds: 0,
    };
    let bits = if is_256 { 256 } else { 128 };
    let (place, blocks) = (out.as_mut_ptr(), out.len() / 16);
    // SAFETY: the key has that many bits, the schedule is laid out as theirs, and whole blocks of `out`
    // are read and written in place.
    unsafe {
        set_key([1; 32].as_ptr(), bits, &mut schedule);
        between(|| ctr(place, place, blocks, &schedule, [0; 16].as_ptr()));
    }
}
