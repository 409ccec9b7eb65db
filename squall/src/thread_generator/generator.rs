//! The generator in a page: which cipher it uses, and how its state is loaded and stored.
//!
//! The page holds plain bytes, so that a page zeroed at any moment is nothing worse than a useless key.
//! The state is copied out before use, so that a request works on one unchanging state.

use core::sync::atomic::{AtomicU8, Ordering};

use crate::entropy::{SEED_LEN, Seed};
use crate::error::Error;
use crate::guard::page::{Page, STATE_LEN};
use squall_drbg::internal::{BLOCK, Secret, State};
use squall_drbg::{Aes256, CtrDrbg, Engine, FastKeyErasure, Stores};

const KEY_LEN: usize = 32;

/// A thread's generator, copied out of its page for one request.
pub(super) enum Generator {
    Aes(CtrDrbg<Aes256>),
    ChaCha(FastKeyErasure),
}

impl Generator {
    /// Lets `work` use the generator whose state `page` holds, then stores the new state.
    #[inline]
    pub fn in_page(page: Page, engine: Engine, work: impl FnOnce(&mut Generator)) {
        let mut state = Secret::zeroed();
        page.load_state(&mut state);
        Self::in_state(&mut state, engine, work);
        page.store_state(&state);
    }

    /// Lets `work` use a generator instantiated with `seed`, then wipes the generator.
    pub fn with_seed(seed: &Seed, work: impl FnOnce(&mut Generator)) {
        Self::in_state(&mut Secret::zeroed(), engine(), |generator| {
            generator.reseed(seed);
            work(generator);
        });
    }

    #[inline]
    fn in_state(state: &mut [u8; STATE_LEN], engine: Engine, work: impl FnOnce(&mut Generator)) {
        let mut generator = match engine {
            Engine::ChaCha20 => {
                let (key, _) = state
                    .split_first_chunk()
                    .expect("a state begins with a key");
                Generator::ChaCha(FastKeyErasure::from_state(key))
            }
            // Seedings are far fewer than 2^48 requests apart, so the counter starts anew.
            engine => Generator::Aes(CtrDrbg::from_state(engine, state)),
        };
        work(&mut generator);
        match &generator {
            Generator::Aes(drbg) => drbg.store(state),
            Generator::ChaCha(generator) => {
                generator.store(state.first_chunk_mut().expect("a state begins with a key"));
            }
        }
    }

    /// Mixes in a seed. With a state of zeros, this is instantiation.
    pub fn reseed(&mut self, seed: &Seed) {
        match self {
            Generator::Aes(drbg) => {
                drbg.reseed_unwiped(&seed[..], &[])
                    .expect("a seed has the generator's seed length");
            }
            Generator::ChaCha(generator) => {
                // A seed is longer than a key.
                generator.reseed_unwiped(&seed[..KEY_LEN]);
            }
        }
    }

    /// Fills `out`, at most 2^16 bytes, mixing in up to four words of additional input.
    #[inline]
    pub fn generate(&mut self, out: &mut [u8], input: &[u64], stores: Stores) {
        let mut bytes = [0u8; KEY_LEN];
        for (place, word) in bytes.chunks_exact_mut(size_of::<u64>()).zip(input) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        let input = &bytes[..size_of_val(input)];
        let generated = match self {
            Generator::Aes(drbg) => drbg.generate_unwiped(out, input, stores),
            Generator::ChaCha(generator) => generator.generate_unwiped(out, input),
        };
        generated.expect("requests keep to the generator's limits");
    }
}

const _: () = assert!(SEED_LEN == KEY_LEN + BLOCK && STATE_LEN == KEY_LEN + BLOCK);

/// The engine in use; 0 before it was chosen.
static ENGINE: AtomicU8 = AtomicU8::new(0);

/// The engine every thread's generator uses.
pub(crate) fn engine() -> Engine {
    let chosen = ENGINE.load(Ordering::Relaxed);
    match Engine::ALL
        .into_iter()
        .find(|&engine| engine as u8 == chosen)
    {
        Some(engine) => engine,
        None => {
            let best = Engine::best();
            // Not in place of an engine that the program has chosen meanwhile.
            let _ = ENGINE.compare_exchange(0, best as u8, Ordering::Relaxed, Ordering::Relaxed);
            best
        }
    }
}

/// An engine of the same cipher for a process's first small request, because finding the best one
/// takes longer than serving it.
pub(super) fn first_engine() -> Engine {
    match ENGINE.load(Ordering::Relaxed) {
        0 if Engine::AesNi.is_available() => Engine::AesNi,
        _ => engine(),
    }
}

/// Makes every thread's generator use `engine` from its next refill on.
pub(crate) fn use_engine(engine: Engine) -> Result<(), Error> {
    if !engine.is_available() {
        return Err(Error::EngineUnavailable(engine));
    }
    ENGINE.store(engine as u8, Ordering::Relaxed);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_seeds_give_different_outputs() {
        let of = |first| {
            let mut seed = Seed::zeroed();
            seed[0] = first;
            let mut out = [0; 32];
            Generator::with_seed(&seed, |generator| {
                generator.generate(&mut out, &[], Stores::Cached)
            });
            out
        };
        assert_eq!(of(1), of(1));
        assert_ne!(of(1), of(2));
    }

    #[test]
    fn the_engine_is_the_best_or_the_one_asked_for() {
        assert_eq!(engine(), Engine::best());
        for asked in Engine::available() {
            assert_eq!(use_engine(asked), Ok(()));
            assert_eq!(engine(), asked);
        }
        use_engine(Engine::best()).expect("it is available");
        let missing = Engine::ALL
            .into_iter()
            .find(|engine| !engine.is_available());
        if let Some(missing) = missing {
            assert_eq!(use_engine(missing), Err(Error::EngineUnavailable(missing)));
        }
    }
}
