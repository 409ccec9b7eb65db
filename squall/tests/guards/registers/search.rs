//! Requests, and the search for what they left in the registers.

use aes::cipher::{Array, BlockCipherDecrypt, KeyInit};
use squall::Engine;
use squall::testing::{KEY_OFFSETS_FOR_TESTING, page_address_for_testing};

use super::Finding;
use super::dump::{Registers, registers_after};
use crate::NATIVE;
use crate::aes256::{KEY_WORDS, key_of_round_keys, next_round_key, round_keys};
use crate::drops::drop_page;
use crate::stack::words_of_page;

/// Bytes asked for: every class of lengths, from one byte to streaming stores.
const LENGTHS: [usize; 17] = [
    1,
    4,
    8,
    16,
    24,
    32,
    48,
    64,
    100,
    256,
    257,
    304,
    4096,
    16_384,
    65_536,
    65_552,
    1 << 24,
];

/// Requests of each length.
const REPETITIONS: usize = 40;

pub fn draws() -> Vec<Finding> {
    // NATIVE serves a process's first request, before squall has found out what the CPU can do. So no
    // function of `Engine` may be called before it.
    let mut findings = vec![Finding {
        engine: NATIVE,
        request: "first request".to_owned(),
        leaked: secrets_after_draw(NATIVE, &mut [0; 32]),
    }];
    for engine in Engine::available() {
        squall::hazmat::use_engine(engine).unwrap();
        squall::fill(&mut [0; 257]);
        let mut report = |request: String, leaked| {
            findings.push(Finding {
                engine,
                request,
                leaked,
            });
        };
        for len in LENGTHS {
            let mut out = vec![0; len];
            // The first request of each length seeds the page.
            drop_page();
            let times = if len > 4096 { 2 } else { REPETITIONS };
            let leaked = (0..times).find_map(|_| secrets_after_draw(engine, &mut out));
            report(format!("{len} bytes"), leaked);
        }
        drop_page();
        let leaked = (0..REPETITIONS).find_map(|_| secrets_after_numbers(engine));
        report("numbers".to_owned(), leaked);
        let mut out = [0; 64];
        let registers = registers_after(|| squall::fill_fresh(&mut out));
        let leaked = find_secrets(engine, &registers, &[], &out);
        report("fill_fresh".to_owned(), leaked);
    }
    findings
}

fn secrets_after_draw(engine: Engine, out: &mut [u8]) -> Option<String> {
    let mut known = secrets_of_page();
    let registers = registers_after(|| squall::fill(out));
    known.extend(secrets_of_page());
    find_secrets(engine, &registers, &known, out)
}

fn secrets_after_numbers(engine: Engine) -> Option<String> {
    let mut known = secrets_of_page();
    let registers = registers_after(|| {
        std::hint::black_box((squall::u32(), squall::u64()));
    });
    known.extend(secrets_of_page());
    find_secrets(engine, &registers, &known, &[])
}

/// The generator's key in this thread's page, and the first round keys of pads; empty before the first
/// draw.
fn secrets_of_page() -> Vec<Key> {
    if page_address_for_testing() == 0 {
        return Vec::new();
    }
    KEY_OFFSETS_FOR_TESTING
        .map(|at| {
            words_of_page(at, KEY_WORDS)
                .try_into()
                .expect("a key's words")
        })
        .to_vec()
}

/// A 256-bit key.
pub type Key = [u64; KEY_WORDS];

pub fn key_of(bytes: &[u8; 32]) -> Key {
    let (words, _) = bytes.as_chunks();
    std::array::from_fn(|i| u64::from_ne_bytes(words[i]))
}

/// Describes a secret of the request that is still in `registers`, if the search finds one.
pub fn find_secrets(
    engine: Engine,
    registers: &Registers,
    known: &[Key],
    out: &[u8],
) -> Option<String> {
    if engine == Engine::ChaCha20 {
        let key = known
            .iter()
            .find(|key| has_words_of(registers, key.as_slice()));
        return key.map(|_| "words of the key".to_owned());
    }
    let lanes = registers.lanes();
    has_known(registers, known)
        .or_else(|| has_schedule(&lanes))
        .or_else(|| has_key_of(&lanes, out))
}

/// ChaCha20 and AES's key expansion have the key in words of 32 bits; two of them are no accident.
fn has_words_of(registers: &Registers, key: &[u64]) -> bool {
    let halves = |word: u64| [word as u32, (word >> 32) as u32];
    let left: Vec<u32> = registers.words().flat_map(halves).collect();
    let found = key.iter().flat_map(|&word| halves(word));
    found
        .filter(|word| *word != 0 && left.contains(word))
        .count()
        >= 2
}

/// Whether words of a seed or of a counter are left.
pub fn find_words(registers: &Registers, words: &[u64]) -> Option<String> {
    let mut left = registers.words();
    let found = left.any(|word| word != 0 && words.contains(&word));
    found.then(|| "a word of a seed or a counter".to_owned())
}

fn has_known(registers: &Registers, known: &[Key]) -> Option<String> {
    let left: Vec<u64> = registers.words().collect();
    let known: Vec<_> = known.iter().map(|key| round_keys(key)).collect();
    let mut words = known.iter().flatten();
    let found = words.any(|word| *word != 0 && left.contains(word))
        || known.iter().any(|keys| has_words_of(registers, keys));
    found.then(|| "a round key of the page's keys".to_owned())
}

/// Finds three successive round keys of any key.
fn has_schedule(lanes: &[u128]) -> Option<String> {
    for (&first, &second) in pairs(lanes) {
        for number in 0..13 {
            if lanes.contains(&next_round_key(first, second, number)) {
                return Some(format!("round keys {number} to {}", number + 2));
            }
        }
    }
    None
}

/// Finds two successive round keys of a key that decrypts the output to consecutive counters.
fn has_key_of(lanes: &[u128], out: &[u8]) -> Option<String> {
    let (blocks, _) = out.as_chunks();
    let [first_block, second_block, ..] = *blocks else {
        return None;
    };
    for (&first, &second) in pairs(lanes) {
        for number in 0..14 {
            let key = key_of_round_keys(first, second, number);
            let cipher = aes::Aes256Dec::new(&Array(key));
            let decrypt = |block: [u8; 16]| {
                let mut block = Array(block);
                cipher.decrypt_block(&mut block);
                u128::from_be_bytes(block.0)
            };
            if decrypt(first_block).wrapping_add(1) == decrypt(second_block) {
                return Some(format!(
                    "round keys {number} and {} of the output's",
                    number + 1
                ));
            }
        }
    }
    None
}

fn pairs(lanes: &[u128]) -> impl Iterator<Item = (&u128, &u128)> {
    lanes
        .iter()
        .flat_map(|first| lanes.iter().map(move |second| (first, second)))
}
