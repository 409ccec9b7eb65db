//! Every generator, on every engine, answers any sequence of requests as the slow one does: the
//! same bytes, the same errors, and an error changes nothing.

#![no_main]

use std::fmt::Debug;

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use squall_drbg::{
    Aes128, Aes256, Cipher, CtrDrbg, CtrDrbgDf, Engine, Error, FastKeyErasure, MAX_REQUEST,
};
use squall_fuzz::drbg::{SlowCtrDrbgDf, SlowFastKeyErasure};
use squall_fuzz::requests::{Drbg, generated};
use squall_fuzz::{Material, aes_engines};
use squall_reference::CtrDrbg as SlowCtrDrbg;

/// Requests that are run: more cost time and reach nothing new.
const MOST_REQUESTS: usize = 12;

#[derive(Arbitrary, Debug)]
enum Generator {
    Aes128,
    Aes256,
    Aes128Df,
    Aes256Df,
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
    Instantiate(Material, Material, Material),
    Reseed(Material, Material),
    Generate(Len, Material),
    GenerateWithPredictionResistance(Len, Material, Material),
}

#[derive(Arbitrary, Debug)]
struct Session {
    generator: Generator,
    entropy: Material,
    nonce: Material,
    personalization: Material,
    requests: Vec<Request>,
}

/// The slow generator and that of every engine, in the same state.
struct All<F, S> {
    slow: S,
    fast: Vec<F>,
}

impl<F: Drbg + Debug, S: Drbg> All<F, S> {
    /// None if the input is refused, by all alike.
    fn instantiate(
        slow: Result<S, Error>,
        instantiate_on: impl Fn(Engine) -> Result<F, Error>,
    ) -> Option<Self> {
        let mut fast = Vec::new();
        for engine in aes_engines() {
            let drbg = instantiate_on(engine);
            assert_eq!(drbg.as_ref().err(), slow.as_ref().err(), "{engine}");
            fast.extend(drbg);
        }
        Some(All {
            slow: slow.ok()?,
            fast,
        })
    }

    /// The states are the same, also after a request that was refused.
    fn compare(&mut self) {
        let expected = self.slow.generate(32, b"");
        for drbg in &mut self.fast {
            assert!(drbg.generate(32, b"") == expected, "{drbg:?}");
        }
    }

    /// All serve the request alike. A reseed is a request for no bytes.
    fn ask(&mut self, request: &Request, input_len: usize) {
        let expected = served(&mut self.slow, request, input_len);
        for drbg in &mut self.fast {
            assert!(served(drbg, request, input_len) == expected, "{drbg:?}");
        }
    }
}

/// A request's output.
fn served(drbg: &mut impl Drbg, request: &Request, input_len: usize) -> Result<Vec<u8>, Error> {
    match request {
        Request::Instantiate(..) => unreachable!("the caller makes new generators"),
        Request::Reseed(entropy, additional) => drbg
            .reseed(entropy.get(input_len), additional.get(input_len))
            .map(|()| Vec::new()),
        Request::Generate(len, additional) => drbg.generate(len.get(), additional.get(input_len)),
        Request::GenerateWithPredictionResistance(len, entropy, additional) => {
            drbg.generate_resistant(len.get(), entropy.get(input_len), additional.get(input_len))
        }
    }
}

/// Asks the generators that `instantiate` makes of entropy, nonce and personalization string.
fn check<F: Drbg + Debug, S: Drbg>(
    session: &Session,
    input_len: usize,
    instantiate: impl Fn(&[u8], &[u8], &[u8]) -> Option<All<F, S>>,
) {
    let instantiate = |entropy: &Material, nonce: &Material, personalization: &Material| {
        let [entropy, nonce, personalization] =
            [entropy, nonce, personalization].map(|input| input.get(input_len));
        instantiate(entropy, nonce, personalization)
    };
    let mut all = instantiate(&session.entropy, &session.nonce, &session.personalization);
    for request in session.requests.iter().take(MOST_REQUESTS) {
        match (request, &mut all) {
            (Request::Instantiate(entropy, nonce, personalization), _) => {
                all = instantiate(entropy, nonce, personalization).or(all);
            }
            (_, Some(all)) => all.ask(request, input_len),
            (_, None) => {}
        }
    }
    all.iter_mut().for_each(All::compare);
}

fn check_ctr_drbg<C: Cipher>(session: &Session) {
    check(session, C::SEED_LEN, |entropy, _, personalization| {
        let mut slow = SlowCtrDrbg::unseeded(C::KEY_LEN);
        let slow = Drbg::reseed(&mut slow, entropy, personalization).map(|()| slow);
        All::instantiate(slow, |engine| {
            CtrDrbg::<C>::instantiate_on(engine, entropy, personalization)
        })
    });
}

fn check_ctr_drbg_df<C: Cipher>(session: &Session) {
    check(session, C::KEY_LEN, |entropy, nonce, personalization| {
        let slow = SlowCtrDrbgDf::instantiate(C::KEY_LEN, entropy, nonce, personalization);
        All::instantiate(slow, |engine| {
            CtrDrbgDf::<C>::instantiate_on(engine, entropy, nonce, personalization)
        })
    });
}

fn check_fast_key_erasure(session: &Session) {
    let mut key = session.entropy.key();
    let mut fast = FastKeyErasure::new(&key);
    let mut slow = SlowFastKeyErasure::new(key);
    for request in session.requests.iter().take(MOST_REQUESTS) {
        match request {
            Request::Instantiate(entropy, ..) => {
                key = entropy.key();
                (fast, slow) = (FastKeyErasure::new(&key), SlowFastKeyErasure::new(key));
            }
            Request::Reseed(entropy, _) => {
                fast.reseed(&entropy.key());
                slow.reseed(&entropy.key());
            }
            Request::Generate(len, additional)
            // It has no prediction resistance.
            | Request::GenerateWithPredictionResistance(len, additional, _) => {
                let additional = additional.get(32);
                let out = generated(len.get(), |out| fast.generate(out, additional));
                assert!(out == slow.generate(len.get(), additional));
            }
        }
    }
    assert!(generated(32, |out| fast.generate(out, b"")) == slow.generate(32, b""));
}

fuzz_target!(|session: Session| match session.generator {
    Generator::Aes128 => check_ctr_drbg::<Aes128>(&session),
    Generator::Aes256 => check_ctr_drbg::<Aes256>(&session),
    Generator::Aes128Df => check_ctr_drbg_df::<Aes128>(&session),
    Generator::Aes256Df => check_ctr_drbg_df::<Aes256>(&session),
    Generator::ChaCha20 => check_fast_key_erasure(&session),
});
