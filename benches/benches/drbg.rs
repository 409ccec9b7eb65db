//! CTR_DRBG by request length, with and without additional input, and its reseed.

use std::hint::black_box;

use criterion::Criterion;
use squall::hazmat::{Aes128, Aes256, Cipher, CtrDrbg, MAX_REQUEST};
use squall_benches::bench::{criterion, fills};

const LENGTHS: [usize; 4] = [32, 256, 16 << 10, MAX_REQUEST];

/// As long as the seed of AES-256; the start of it serves AES-128.
const SEED: [u8; 48] = [7; 48];

/// Additional input as the per-thread generator gives it at a refill: two words.
const INPUT: [u8; 16] = [9; 16];

fn main() {
    let mut criterion = criterion();
    drbg::<Aes128>(&mut criterion, "drbg-aes128");
    drbg::<Aes256>(&mut criterion, "drbg-aes256");
    criterion.final_summary();
}

fn drbg<C: Cipher>(criterion: &mut Criterion, name: &str) {
    let mut group = criterion.benchmark_group(name);
    let seed = &SEED[..C::SEED_LEN];
    let mut drbg = CtrDrbg::<C>::instantiate(seed, &[]).expect("a seed of the right length");
    // First, for it has no length, and a group keeps the length it was given.
    group.bench_function("reseed", |bencher| {
        bencher.iter(|| drbg.reseed(black_box(seed), &[]));
    });
    for len in LENGTHS {
        let out = &mut vec![0; len][..];
        for (name, input) in [("generate", &[][..]), ("generate+input", &INPUT[..])] {
            fills(&mut group, name, out, |out| {
                drbg.generate(out, black_box(input))
                    .expect("a request within the limits");
            });
        }
    }
}
