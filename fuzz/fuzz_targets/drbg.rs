//! Every generator, on every engine, answers any sequence of requests as the slow one does: the
//! same bytes, the same errors, and an error changes nothing.

#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use squall_drbg::{Aes128, Aes256, CtrDrbg, FastKeyErasure, MAX_REQUEST};
use squall_fuzz::ctr::Reference;
use squall_fuzz::drbg::{SlowCtrDrbg, SlowFastKeyErasure, generated};
use squall_fuzz::{Material, aes_engines};

/// Requests that are run: more cost time and reach nothing new.
const MOST_REQUESTS: usize = 12;

#[derive(Arbitrary, Debug)]
enum Generator {
    Aes128,
    Aes256,
    ChaCha20,
}

/// Mostly a length below 1024. The highest 256 stand for those around the longest allowed, which
/// take so much longer that few of them find more than many.
#[derive(Arbitrary, Clone, Copy, Debug)]
struct Len(u16);

impl Len {
    fn get(self) -> usize {
        match self.0 {
            0xff00.. => MAX_REQUEST - 128 + usize::from(self.0 & 0xff),
            _ => usize::from(self.0 % 1024),
        }
    }
}

#[derive(Arbitrary, Debug)]
enum Request {
    Instantiate(Material, Material),
    Reseed(Material, Material),
    Generate(Len, Material),
}

#[derive(Arbitrary, Debug)]
struct Session {
    generator: Generator,
    entropy: Material,
    personalization: Material,
    requests: Vec<Request>,
}

/// The slow generator and that of every engine, in the same state.
struct All<C: Reference> {
    slow: SlowCtrDrbg<C>,
    fast: Vec<CtrDrbg<C>>,
}

impl<C: Reference> All<C> {
    /// None if the input is refused, by all alike.
    fn instantiate(entropy: &Material, personalization: &Material) -> Option<Self> {
        let (entropy, personalization) = (input::<C>(entropy), input::<C>(personalization));
        let slow = SlowCtrDrbg::instantiate(entropy, personalization);
        let mut fast = Vec::new();
        for engine in aes_engines() {
            let drbg = CtrDrbg::instantiate_on(engine, entropy, personalization);
            assert_eq!(drbg.as_ref().err(), slow.as_ref().err(), "{engine}");
            fast.extend(drbg);
        }
        Some(All {
            slow: slow.ok()?,
            fast,
        })
    }

    fn reseed(&mut self, entropy: &Material, additional: &Material) {
        let (entropy, additional) = (input::<C>(entropy), input::<C>(additional));
        let expected = self.slow.reseed(entropy, additional);
        for drbg in &mut self.fast {
            assert_eq!(drbg.reseed(entropy, additional), expected, "{drbg:?}");
        }
    }

    fn generate(&mut self, len: usize, additional: &Material) {
        let additional = input::<C>(additional);
        let expected = self.slow.generate(len, additional);
        for drbg in &mut self.fast {
            let out = generated(len, |out| drbg.generate(out, additional));
            assert!(out == expected, "{drbg:?}");
        }
    }
}

fn input<C: Reference>(material: &Material) -> &[u8] {
    material.get(C::SEED_LEN)
}

fn check_ctr_drbg<C: Reference>(session: &Session) {
    let Some(mut all) = All::<C>::instantiate(&session.entropy, &session.personalization) else {
        return;
    };
    for request in session.requests.iter().take(MOST_REQUESTS) {
        match request {
            Request::Instantiate(entropy, personalization) => {
                all = All::instantiate(entropy, personalization).unwrap_or(all);
            }
            Request::Reseed(entropy, additional) => all.reseed(entropy, additional),
            Request::Generate(len, additional) => all.generate(len.get(), additional),
        }
    }
}

fn check_fast_key_erasure(session: &Session) {
    let mut key = session.entropy.key();
    let mut fast = FastKeyErasure::new(&key);
    let mut slow = SlowFastKeyErasure::new(key);
    for request in session.requests.iter().take(MOST_REQUESTS) {
        match request {
            Request::Instantiate(entropy, _) => {
                key = entropy.key();
                (fast, slow) = (FastKeyErasure::new(&key), SlowFastKeyErasure::new(key));
            }
            Request::Reseed(entropy, _) => {
                fast.reseed(&entropy.key());
                slow.reseed(&entropy.key());
            }
            Request::Generate(len, additional) => {
                let additional = additional.get(32);
                let out = generated(len.get(), |out| fast.generate(out, additional));
                assert!(out == slow.generate(len.get(), additional));
            }
        }
    }
}

fuzz_target!(|session: Session| match session.generator {
    Generator::Aes128 => check_ctr_drbg::<Aes128>(&session),
    Generator::Aes256 => check_ctr_drbg::<Aes256>(&session),
    Generator::ChaCha20 => check_fast_key_erasure(&session),
});
