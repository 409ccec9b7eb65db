//! Keystream by length: every engine of this CPU beside RustCrypto's crates and OpenSSL.

use criterion::Criterion;
use criterion::measurement::WallTime;
use squall::Engine;
use squall::hazmat::{Aes128, Aes256, Cipher, FastKeyErasure, Keystream, MAX_REQUEST, Stores};
use squall_bench::source::Draw as _;
use squall_bench::sources::libcrypto::{self, Evp};
use squall_benches::bench::{criterion, fills};
use squall_benches::rustcrypto::{self, cipher};

type Group<'a> = criterion::BenchmarkGroup<'a, WallTime>;

const LENGTHS: [usize; 5] = [64, 256, 1 << 10, 16 << 10, 1 << 20];

fn main() {
    let mut criterion = criterion();
    aes::<Aes128>(
        &mut criterion,
        "aes128",
        libcrypto::Cipher::Aes128Ctr,
        |group, out| {
            let mut peer = cipher::<rustcrypto::Aes128Ctr>();
            fills(group, "aes+ctr", out, |out| {
                rustcrypto::fill(&mut peer, out)
            });
        },
    );
    aes::<Aes256>(
        &mut criterion,
        "aes256",
        libcrypto::Cipher::Aes256Ctr,
        |group, out| {
            let mut peer = cipher::<rustcrypto::Aes256Ctr>();
            fills(group, "aes+ctr", out, |out| {
                rustcrypto::fill(&mut peer, out)
            });
        },
    );
    chacha20(&mut criterion);
    criterion.final_summary();
}

fn aes<C: Cipher>(
    criterion: &mut Criterion,
    name: &str,
    theirs: libcrypto::Cipher,
    rustcrypto: impl Fn(&mut Group<'_>, &mut [u8]),
) {
    let mut group = criterion.benchmark_group(name);
    for len in LENGTHS {
        let out = &mut vec![0; len][..];
        for engine in Engine::available().filter(|engine| engine.is_aes()) {
            let keystream =
                Keystream::<C>::new(&C::Key::default(), engine).expect("an available AES engine");
            let mut counter = 0;
            fills(&mut group, engine.name(), out, |out| {
                keystream.fill(counter, out, Stores::Cached);
                counter += out.len() as u128 / 16;
            });
        }
        rustcrypto(&mut group, out);
        openssl(&mut group, theirs, out);
    }
}

/// Fast key erasure takes a block more than the keystream, and a new key every 64 KiB.
fn chacha20(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("chacha20");
    for len in LENGTHS {
        let out = &mut vec![0; len][..];
        let mut ours = FastKeyErasure::new(&[0; 32]);
        fills(&mut group, "squall", out, |out| {
            for part in out.chunks_mut(MAX_REQUEST) {
                ours.generate(part, &[])
                    .expect("a request within the limit");
            }
        });
        let mut peer = cipher::<rustcrypto::ChaCha20>();
        fills(&mut group, "chacha20", out, |out| {
            rustcrypto::fill(&mut peer, out)
        });
        openssl(&mut group, libcrypto::Cipher::ChaCha20, out);
    }
}

fn openssl(group: &mut Group<'_>, cipher: libcrypto::Cipher, out: &mut [u8]) {
    match Evp::new(cipher) {
        Ok(mut evp) => fills(group, "openssl", out, |out| evp.fill(out)),
        Err(reason) => println!("SKIP openssl: {reason}"),
    }
}
