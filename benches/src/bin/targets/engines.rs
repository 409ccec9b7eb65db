//! Rows about keystream: engines beside OpenSSL's EVP, 16 KiB a call.

use squall::Engine;
use squall::hazmat::{Aes128, Aes256, Cipher, FastKeyErasure, Keystream, Stores};
use squall_benches::peers::openssl::{self, Evp};
use squall_benches::peers::skip;
use squall_measure::compare;

use crate::report::{Report, Row, Target};

const LEN: usize = 16 << 10;

/// What the 512-bit engine is to reach beside OpenSSL 3.0, which uses AES-NI.
const VAES_TARGET: f64 = 4.0;

/// What 512-bit VAES can gain over AES-NI on Zen 4.
const VAES_BOUND: f64 = 2.0;

pub fn measure(report: &mut Report) {
    for (engine, target) in [(Engine::Vaes512, VAES_TARGET), (Engine::AesNi, 1.0)] {
        if engine.is_available() {
            aes::<Aes128>(
                report,
                engine,
                "AES-128",
                openssl::Cipher::Aes128Ctr,
                target,
            );
            aes::<Aes256>(
                report,
                engine,
                "AES-256",
                openssl::Cipher::Aes256Ctr,
                target,
            );
        } else {
            skip(engine.name(), "this CPU lacks its instructions");
        }
    }
    chacha20(report);
}

/// A closure that writes 16 KiB of keystream a call.
pub fn keystream<C: Cipher>(engine: Engine) -> impl FnMut(&mut [u8]) {
    let keystream = Keystream::<C>::new(&C::Key::default(), engine).expect("an available engine");
    let mut counter = 0;
    move |out| {
        keystream.fill(counter, out, Stores::Cached);
        counter += out.len() as u128 / 16;
    }
}

fn aes<C: Cipher>(
    report: &mut Report,
    engine: Engine,
    name: &str,
    theirs: openssl::Cipher,
    target: f64,
) {
    let name = format!("engine {engine}, {name}, 16 KiB");
    against_openssl(report, name, theirs, target, keystream::<C>(engine));
}

fn chacha20(report: &mut Report) {
    let mut ours = FastKeyErasure::new(&[0; 32]);
    let fill = |out: &mut [u8]| ours.generate(out, &[]).expect("a request within the limit");
    let name = "ChaCha20 with key erasure, 16 KiB".into();
    against_openssl(report, name, openssl::Cipher::ChaCha20, 1.0, fill);
}

fn against_openssl(
    report: &mut Report,
    name: String,
    theirs: openssl::Cipher,
    target: f64,
    ours: impl FnMut(&mut [u8]),
) {
    let Some(mut evp) = Evp::new(theirs) else {
        return;
    };
    let pairs = compare(&mut vec![0; LEN][..], ours, |out| evp.fill(out));
    let row = Row::new(name, "OpenSSL's EVP", Target::Speedup(target), pairs).with_speeds(LEN);
    report.add(row, || (target > VAES_BOUND).then(vaes_note));
}

fn vaes_note() -> String {
    format!(
        "Bound, VAES-512: a Zen 4 core (EPYC, family 25 model 17) has two AES units of 256 bits. \
         Each cycle they do one round of 4 blocks with VAES, and of 2 with AES-NI. OpenSSL 3.0 \
         uses AES-NI, so against an AES-NI loop of the same efficiency VAES gains \
         {VAES_BOUND:.0} × at most."
    )
}
