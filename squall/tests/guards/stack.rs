//! Backtracking resistance includes the stack: a request leaves no key there, neither the
//! generator's own nor a round key that a kernel had to spill.
//!
//! That rests on secrets being wiped, built where they are used, and never moved. Optimised builds
//! keep to it; an unoptimised one moves them and leaves keys.

use std::collections::HashSet;

use chacha20::ChaCha20;
use chacha20::cipher::{KeyIvInit, StreamCipher};
use sha2::{Digest, Sha512};
use squall::Engine;
use squall::testing::{KEY_OFFSETS_FOR_TESTING, page_address_for_testing};
use squall_reference::Aes;

use crate::Verdict;
use crate::aes256::{KEY_WORDS, round_keys};
use crate::drops::drop_page;
use crate::reseeds::repeat_until_no_reseed;

/// Words of the generator's state: a key and V.
const STATE_WORDS: usize = 6;

/// Words of the round keys of pads.
const PAD_WORDS: usize = 30;

/// Depth that is searched, in words.
pub const DEPTH: usize = (24 << 10) / 8;

pub mod call;

/// Requests of every kind leave no key on the stack. The verdict is `Broken` only if all kinds leave
/// one: if the search finds only some, it is the search that is broken.
pub fn no_keys_left(engine: Engine) -> Verdict {
    squall::hazmat::use_engine(engine).unwrap();
    squall::u32();
    // A pad's keys are read from the page, round by round, and never copied.
    if !pads().is_empty() {
        assert_eq!([with_pad::<16>(), with_pad::<256>()], [None; 2]);
    }
    let found = [
        ("seeding", seeding(engine)),
        ("refilling", refilling(engine)),
        ("generated in place", in_place(engine)),
    ];
    if found.iter().all(|(_, depth)| depth.is_none()) {
        return Verdict::Held;
    }
    assert!(found.iter().all(|(_, depth)| depth.is_some()), "{found:?}");
    Verdict::Broken(format!("keys found at these depths, in bytes: {found:?}"))
}

/// Requests without a seeding leave no V of the generator's state either. V is not secret without
/// the key, but shows what such a request leaves.
pub fn no_counters_left() -> Verdict {
    squall::hazmat::use_engine(crate::NATIVE).unwrap();
    let search = || {
        squall::fill(&mut [0; 300]);
        let before = state();
        let stack = stack_after(|| squall::fill(&mut [0; 300]));
        match find(&stack, &[counters(&before), counters(&state())].concat()) {
            None => Verdict::Held,
            Some(depth) => Verdict::Broken(format!("V found at a depth of {depth} bytes")),
        }
    };
    repeat_until_no_reseed(|| (), search)
}

/// V of this state, as stored and as a number.
fn counters(state: &[u64]) -> Vec<u64> {
    let [first, second] = [state[KEY_WORDS], state[KEY_WORDS + 1]];
    vec![first, second, second.swap_bytes(), first.swap_bytes()]
}

/// Neither a request from a new seed nor a seeding leaves the seed or what it was hashed from. The bytes
/// of the kernel and of the root are zeros here, so that the seed is known.
pub fn no_seeds_left() -> Verdict {
    let kinds: [(&str, fn()); 2] = [
        ("fill_fresh", || squall::fill_fresh(&mut [0; 32])),
        ("seeding", || squall::fill(&mut [0; 300])),
    ];
    let material = seed_material();
    let mut found = Vec::new();
    for (kind, draw) in kinds {
        squall::u32();
        drop_page();
        found.extend(find(&stack_after(draw), &material).map(|depth| (kind, depth)));
    }
    // In some builds, code after the seeding overwrites its traces.
    if found.is_empty() {
        Verdict::Held
    } else {
        Verdict::Broken(format!("seeds found at these depths, in bytes: {found:?}"))
    }
}

/// The words of the hash whose first bytes are the seed, as bytes and as numbers; the first words of the
/// message that is hashed; and the last sixteen of its schedule (FIPS 180-4 section 6.4.2), from which
/// the message follows, by themselves and with their constants added.
fn seed_material() -> Vec<u64> {
    const TAG: &[u8] = b"squall seed 2";
    let message = [TAG, &[0; 96]].concat();
    let mut block = message.clone();
    block.push(0x80);
    block.resize(120, 0);
    block.extend((8 * message.len() as u64).to_be_bytes());
    let numbers = |bytes: &[u8]| -> Vec<u64> {
        let words = bytes.as_chunks().0.iter();
        words.map(|&word| u64::from_be_bytes(word)).collect()
    };
    let schedule = schedule(&numbers(&block));
    let with_constants: Vec<u64> = schedule[64..]
        .iter()
        .zip(LAST_CONSTANTS)
        .map(|(word, constant)| word.wrapping_add(constant))
        .collect();
    let hash = numbers(&Sha512::digest(&message));
    let as_bytes = |numbers: &[u64]| -> Vec<u64> { numbers.iter().map(|n| n.to_be()).collect() };
    [
        &schedule[..2],
        &schedule[64..],
        &with_constants,
        &hash,
        &as_bytes(&schedule[..2]),
        &as_bytes(&hash),
    ]
    .concat()
}

/// The message schedule of this block.
fn schedule(block: &[u64]) -> Vec<u64> {
    let small_sigma_0 = |x: u64| x.rotate_right(1) ^ x.rotate_right(8) ^ (x >> 7);
    let small_sigma_1 = |x: u64| x.rotate_right(19) ^ x.rotate_right(61) ^ (x >> 6);
    let mut words = block.to_vec();
    for t in 16..80 {
        let sum = small_sigma_1(words[t - 2])
            .wrapping_add(words[t - 7])
            .wrapping_add(small_sigma_0(words[t - 15]))
            .wrapping_add(words[t - 16]);
        words.push(sum);
    }
    words
}

/// The last sixteen of SHA-512's constants (FIPS 180-4 section 4.2.3).
const LAST_CONSTANTS: [u64; 16] = [
    0xca27_3ece_ea26_619c,
    0xd186_b8c7_21c0_c207,
    0xeada_7dd6_cde0_eb1e,
    0xf57d_4f7f_ee6e_d178,
    0x06f0_67aa_7217_6fba,
    0x0a63_7dc5_a2c8_98a6,
    0x113f_9804_bef9_0dae,
    0x1b71_0b35_131c_471b,
    0x28db_77f5_2304_7d84,
    0x32ca_ab7b_40c7_2493,
    0x3c9e_be0a_15c9_bebc,
    0x431d_67c4_9c10_0d4c,
    0x4cc5_d4be_cb3e_42b6,
    0x597f_299c_fc65_7e2a,
    0x5fcb_6fab_3ad6_faec,
    0x6c44_198c_4a47_5817,
];

/// A stream does not leave its key, which is expanded in place.
pub fn streams_leave_no_keys() -> Verdict {
    for engine in Engine::available().filter(|engine| engine.is_aes()) {
        let mut key = Box::new([0; 32]);
        squall::fill_fresh(&mut key[..]);
        let (words, _) = key.as_chunks();
        let words: Vec<u64> = words.iter().map(|&word| u64::from_ne_bytes(word)).collect();
        let stack = stack_after(|| use_stream(engine, &key));
        if let Some(depth) = find(&stack, &round_keys(&words)) {
            return Verdict::Broken(format!("{engine}: a key at a depth of {depth} bytes"));
        }
    }
    Verdict::Held
}

#[inline(never)]
fn use_stream(engine: Engine, key: &[u8; 32]) {
    let streams = [squall::Stream::new_on(engine, key).unwrap()];
    for mut stream in std::hint::black_box(streams) {
        stream.fill(&mut [0; 300]).unwrap();
    }
}

/// A request that seeds an empty page.
fn seeding(engine: Engine) -> Option<usize> {
    squall::u32();
    drop_page();
    let stack = stack_after(|| squall::fill(&mut [0; 300]));
    find(&stack, &[keys_after(engine), pads()].concat())
}

/// A request that fills the buffer anew.
fn refilling(engine: Engine) -> Option<usize> {
    loop {
        let before = state();
        let stack = stack_after(|| squall::fill(&mut [0; 16]));
        if state() != before {
            return find(
                &stack,
                &[keys_of(engine, &before), keys_after(engine)].concat(),
            );
        }
    }
}

/// A request that is too long for the buffer.
fn in_place(engine: Engine) -> Option<usize> {
    let before = state();
    let stack = stack_after(|| squall::fill(&mut [0; 300]));
    find(
        &stack,
        &[keys_of(engine, &before), keys_after(engine)].concat(),
    )
}

/// A request that is served from the buffer, with a request pad.
fn with_pad<const LEN: usize>() -> Option<usize> {
    loop {
        let before = state();
        let stack = stack_after(|| squall::fill(&mut [0; LEN]));
        if state() == before {
            return find(&stack, &pads());
        }
    }
}

/// The keys of a request that began with this state: it mixes in additional input, which is zeros
/// here, and then generates.
fn keys_of(engine: Engine, state: &[u64]) -> Vec<u64> {
    let bytes: Vec<u8> = state.iter().flat_map(|word| word.to_ne_bytes()).collect();
    let key: &[u8; 32] = bytes.first_chunk().unwrap();
    let mixed = match engine {
        Engine::ChaCha20 => {
            let mut keystream = vec![0; 32];
            ChaCha20::new(key.into(), &[0; 12].into()).apply_keystream(&mut keystream);
            keystream
        }
        _ => {
            let v = u128::from_be_bytes(bytes[32..].try_into().unwrap());
            Aes::new(key).keystream(v.wrapping_add(1), 32)
        }
    };
    let words = |key: &[u8]| -> Vec<u64> {
        let words = key.as_chunks().0.iter();
        words.map(|&word| u64::from_ne_bytes(word)).collect()
    };
    [words(key), words(&mixed)]
        .iter()
        .flat_map(|key| expanded(engine, key))
        .collect()
}

/// The key that the last request stored in the page.
fn keys_after(engine: Engine) -> Vec<u64> {
    expanded(engine, &state()[..KEY_WORDS])
}

fn expanded(engine: Engine, key: &[u64]) -> Vec<u64> {
    match engine {
        Engine::ChaCha20 => key.to_vec(),
        _ => round_keys(key),
    }
}

fn state() -> Vec<u64> {
    words_of_page(KEY_OFFSETS_FOR_TESTING[0], STATE_WORDS)
}

/// The round keys of pads; empty if there are none.
pub fn pads() -> Vec<u64> {
    let pads = words_of_page(KEY_OFFSETS_FOR_TESTING[1], PAD_WORDS);
    pads.into_iter().filter(|&word| word != 0).collect()
}

/// `words` words of this thread's page, from offset `at` on.
pub fn words_of_page(at: usize, words: usize) -> Vec<u64> {
    let page = page_address_for_testing() as *const u64;
    let word = |index| {
        // SAFETY: the page is mapped, and these words are within it.
        unsafe { page.byte_add(at).add(index).read_volatile() }
    };
    (0..words).map(word).collect()
}

/// The stack after `work`.
fn stack_after(work: impl Fn()) -> Vec<u64> {
    let mut stack = vec![0; DEPTH];
    prepare_stack();
    call::with_clear_registers(&work);
    copy_stack(&mut stack);
    stack
}

/// Maps the stack as deep as it is searched, and fills it with zeros.
#[inline(never)]
pub fn prepare_stack() {
    std::hint::black_box([0u64; 2 * DEPTH]);
}

/// Copies the stack below this function without calling anything that would write there.
#[inline(never)]
pub fn copy_stack(copy: &mut [u64]) {
    let here: *const u64;
    // SAFETY: copies a register.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        std::arch::asm!("mov {}, rsp", out(reg) here, options(nomem, nostack));
    }
    // SAFETY: as above.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        std::arch::asm!("mov {}, sp", out(reg) here, options(nomem, nostack));
    }
    for (place, depth) in copy.iter_mut().zip(1..) {
        // SAFETY: the stack is mapped that deep; nothing is written.
        *place = unsafe { here.wrapping_sub(depth).read_volatile() };
    }
}

/// The depth in `stack`, in bytes, of any of `words`, wherever it begins.
pub fn find_words(stack: &[u64], words: impl Iterator<Item = u64>) -> Option<usize> {
    let words: HashSet<[u8; 8]> = words.map(u64::to_ne_bytes).collect();
    let bytes = upwards(stack);
    let at = bytes.windows(8).rposition(|bytes| words.contains(bytes));
    at.map(|at| bytes.len() - at)
}

/// The stack's bytes; the stack was copied downwards.
fn upwards(stack: &[u64]) -> Vec<u8> {
    let words = stack.iter().rev();
    words.flat_map(|word| word.to_ne_bytes()).collect()
}

/// The depth in `stack`, in bytes, of any 16 bytes of `keys`, wherever they begin.
fn find(stack: &[u64], keys: &[u64]) -> Option<usize> {
    let pairs = keys.as_chunks::<2>().0;
    let pairs: HashSet<[u8; 16]> = pairs.iter().map(in_memory).collect();
    let bytes = upwards(stack);
    let at = bytes.windows(16).rposition(|bytes| pairs.contains(bytes));
    at.map(|at| bytes.len() - at)
}

/// Two words as bytes.
fn in_memory(words: &[u64; 2]) -> [u8; 16] {
    let [low, high] = words.map(u64::to_ne_bytes);
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&low);
    bytes[8..].copy_from_slice(&high);
    bytes
}
