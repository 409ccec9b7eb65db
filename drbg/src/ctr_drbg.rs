//! CTR_DRBG of NIST SP 800-90A Rev. 1, section 10.2.1, without derivation function; `ctr_drbg_df.rs` adds it.
//!
//! The state is the standard's: Key, V and the reseed counter, in plain bytes. A request expands
//! the key when it begins and wipes the expanded key when it ends. Each key serves one request, so
//! none is expanded twice. The output and the update after it are one run of keystream.

use core::fmt;

use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::Error;
use crate::engine::{Aes256, BLOCK, Cipher, Engine, ExpandedKey, Stores};
use crate::secret::{Secret, State, try_without_traces, wipe, without_traces};

/// Maximum number of bytes per request: 2^19 bits (SP 800-90A table 3).
pub const MAX_REQUEST: usize = 1 << 16;

/// Maximum number of requests between reseeds (SP 800-90A table 3).
const RESEED_INTERVAL: u64 = 1 << 48;

/// `seedlen` of the longest key, in bytes.
pub(crate) const MAX_SEED_LEN: usize = 48;

/// A deterministic random bit generator: CTR_DRBG with AES, no derivation function.
///
/// Without derivation function, entropy input must have full entropy and exactly `seedlen`
/// bytes: 32 for [`Aes128`](crate::Aes128), 48 for [`Aes256`](crate::Aes256). Other input is for
/// [`CtrDrbgDf`](crate::CtrDrbgDf).
///
/// # Security
/// Backtracking resistant: the key is replaced after every request. Prediction resistant for requests
/// that bring fresh entropy, by [`generate_with_prediction_resistance`](CtrDrbg::generate_with_prediction_resistance).
/// The state lives where the caller puts it and is wiped there on drop; moving the value leaves a
/// copy behind, from which all output until the next reseed can be computed.
///
/// # Forks and clones
/// Not protected: a copy of the state, by `fork` or by a VM snapshot, repeats the output. This is a
/// building block; the crate `squall` protects its generators.
///
/// # Source
/// NIST SP 800-90A Rev. 1 sections 9 and 10.2.1; checked against the 1440 vectors of
/// NIST's CAVP without derivation function, for AES-128 and AES-256.
pub struct CtrDrbg<C: Cipher> {
    key: C::Key,
    v: u128,
    /// Requests served since the last reseed, plus one.
    reseed_counter: u64,
    engine: Engine,
}

impl<C: Cipher> CtrDrbg<C> {
    /// Instantiates the generator on the best AES engine of this CPU (section 10.2.1.3.1).
    ///
    /// `personalization` may be empty and has at most `seedlen` bytes.
    ///
    /// # Errors
    /// [`Error::EntropyLength`], [`Error::InputTooLong`].
    pub fn instantiate(entropy: &[u8], personalization: &[u8]) -> Result<Self, Error> {
        Self::instantiate_on(Engine::best_aes(), entropy, personalization)
    }

    /// Same as [`CtrDrbg::instantiate`], on the given engine.
    ///
    /// # Errors
    /// Also [`Error::EngineUnavailable`].
    pub fn instantiate_on(
        engine: Engine,
        entropy: &[u8],
        personalization: &[u8],
    ) -> Result<Self, Error> {
        without_traces(|| {
            let mut drbg = Self::unseeded(engine)?;
            drbg.reseed_unwiped(entropy, personalization)?;
            Ok(drbg)
        })
    }

    /// A generator with key and V of zeros, with which an instantiation begins.
    pub(crate) fn unseeded(engine: Engine) -> Result<Self, Error> {
        if !engine.is_aes() || !engine.is_available() {
            return Err(Error::EngineUnavailable(engine));
        }
        Ok(CtrDrbg {
            key: C::Key::default(),
            v: 0,
            reseed_counter: 1,
            engine,
        })
    }

    /// Mixes fresh entropy into the state (section 10.2.1.4.1).
    ///
    /// `entropy` has exactly `seedlen` bytes; `additional` may be empty and has at most as many.
    ///
    /// # Errors
    /// [`Error::EntropyLength`], [`Error::InputTooLong`]; the state is unchanged then.
    pub fn reseed(&mut self, entropy: &[u8], additional: &[u8]) -> Result<(), Error> {
        try_without_traces(|| self.reseed_unwiped(entropy, additional))
    }

    /// [`CtrDrbg::reseed`]. The caller wipes the stack and clears the registers.
    #[doc(hidden)]
    #[inline]
    pub fn reseed_unwiped(&mut self, entropy: &[u8], additional: &[u8]) -> Result<(), Error> {
        if entropy.len() != C::SEED_LEN {
            return Err(Error::EntropyLength {
                required: C::SEED_LEN,
                given: entropy.len(),
            });
        }
        let mut seed_material = Secret::zeroed();
        pad::<C>(additional, &mut seed_material)?;
        for (s, e) in seed_material.iter_mut().zip(entropy) {
            *s ^= e;
        }
        self.reseed_with(&seed_material);
        Ok(())
    }

    /// The part of a reseed that both variants have in common. The caller wipes and clears.
    #[inline]
    pub(crate) fn reseed_with(&mut self, seed_material: &[u8; MAX_SEED_LEN]) {
        self.update(seed_material);
        self.reseed_counter = 1;
    }

    /// Fills `out`, at most 2^16 bytes, after mixing in `additional`, which may be empty and has
    /// at most `seedlen` bytes (section 10.2.1.5.1).
    ///
    /// # Errors
    /// [`Error::RequestTooLong`], [`Error::ReseedRequired`], [`Error::InputTooLong`]; nothing is
    /// written and the state is unchanged then.
    pub fn generate(&mut self, out: &mut [u8], additional: &[u8]) -> Result<(), Error> {
        try_without_traces(|| self.generate_unwiped(out, additional, Stores::Cached))
    }

    /// Fills `out`, at most 2^16 bytes, with prediction resistance: reseeds with `entropy`, which has
    /// exactly `seedlen` bytes, and `additional`, which may be empty and has at most as many, and
    /// generates without additional input (section 9.3.1, steps 7 and 8).
    ///
    /// # Errors
    /// [`Error::RequestTooLong`], [`Error::EntropyLength`], [`Error::InputTooLong`]; nothing is written
    /// and the state is unchanged then.
    pub fn generate_with_prediction_resistance(
        &mut self,
        out: &mut [u8],
        entropy: &[u8],
        additional: &[u8],
    ) -> Result<(), Error> {
        self.generate_after(out, |drbg| drbg.reseed_unwiped(entropy, additional))
    }

    /// Generates without additional input after `reseed`, which fails only if it changes nothing. Both variants have
    /// this in common.
    pub(crate) fn generate_after(
        &mut self,
        out: &mut [u8],
        reseed: impl FnOnce(&mut Self) -> Result<(), Error>,
    ) -> Result<(), Error> {
        if out.len() > MAX_REQUEST {
            return Err(Error::RequestTooLong { given: out.len() });
        }
        try_without_traces(|| {
            reseed(self)?;
            self.generate_unwiped(out, b"", Stores::Cached)
        })
    }

    /// The reseed counter: 1 after a reseed, and one more after each request. After 2^48 requests,
    /// [`generate`](CtrDrbg::generate) is refused.
    pub fn reseed_counter(&self) -> u64 {
        self.reseed_counter
    }

    pub(crate) fn engine(&self) -> Engine {
        self.engine
    }

    /// [`CtrDrbg::generate`] with a choice of stores. The caller wipes the stack and clears the registers.
    #[doc(hidden)]
    #[inline]
    pub fn generate_unwiped(
        &mut self,
        out: &mut [u8],
        additional: &[u8],
        stores: Stores,
    ) -> Result<(), Error> {
        if out.len() > MAX_REQUEST {
            return Err(Error::RequestTooLong { given: out.len() });
        }
        if self.reseed_counter > RESEED_INTERVAL {
            return Err(Error::ReseedRequired);
        }
        let mut input = Secret::zeroed();
        pad::<C>(additional, &mut input)?;
        if !additional.is_empty() {
            self.update(&input);
        }
        let mut expanded = ExpandedKey::empty(self.engine);
        expanded.set(&self.key);
        expanded.keystream(self.v.wrapping_add(1), out, stores);
        self.v = self.v.wrapping_add(out.len().div_ceil(BLOCK) as u128);
        self.update_under(&expanded, &input);
        self.reseed_counter += 1;
        Ok(())
    }

    /// CTR_DRBG_Update (section 10.2.1.2).
    #[inline]
    fn update(&mut self, provided_data: &[u8; MAX_SEED_LEN]) {
        let mut expanded = ExpandedKey::empty(self.engine);
        expanded.set(&self.key);
        self.update_under(&expanded, provided_data);
    }

    /// CTR_DRBG_Update with the current key already expanded.
    #[inline]
    fn update_under(&mut self, expanded: &ExpandedKey<C>, provided_data: &[u8; MAX_SEED_LEN]) {
        let mut temp = Secret::<MAX_SEED_LEN>::zeroed();
        expanded.keystream(
            self.v.wrapping_add(1),
            &mut temp[..C::SEED_LEN],
            Stores::Cached,
        );
        for (t, p) in temp.iter_mut().zip(provided_data) {
            *t ^= p;
        }
        let (key, v) = temp[..C::SEED_LEN].split_at(C::KEY_LEN);
        self.key.as_mut().copy_from_slice(key);
        self.v = u128::from_be_bytes(v.try_into().expect("a seed is a key and a block"));
    }
}

/// Copies `input` to the front of `place`, which holds zeros.
#[inline]
fn pad<C: Cipher>(input: &[u8], place: &mut Secret<MAX_SEED_LEN>) -> Result<(), Error> {
    if input.len() > C::SEED_LEN {
        return Err(Error::InputTooLong {
            allowed: C::SEED_LEN,
            given: input.len(),
        });
    }
    place[..input.len()].copy_from_slice(input);
    Ok(())
}

impl CtrDrbg<Aes256> {
    /// The generator whose state [`State::store`] stored; its reseed counter starts anew.
    #[doc(hidden)]
    #[inline]
    pub fn from_state(engine: Engine, state: &[u8; MAX_SEED_LEN]) -> Self {
        debug_assert!(engine.is_aes() && engine.is_available());
        let (key, v) = state
            .split_first_chunk()
            .expect("a state is a key and a block");
        CtrDrbg {
            key: *key,
            v: u128::from_be_bytes(v.try_into().expect("a state is a key and a block")),
            reseed_counter: 1,
            engine,
        }
    }
}

impl State<MAX_SEED_LEN> for CtrDrbg<Aes256> {
    #[inline]
    fn store(&self, state: &mut [u8; MAX_SEED_LEN]) {
        let (key, v) = state.split_at_mut(self.key.len());
        key.copy_from_slice(&self.key);
        v.copy_from_slice(&self.v.to_be_bytes());
    }
}

impl<C: Cipher> Drop for CtrDrbg<C> {
    fn drop(&mut self) {
        wipe(self.key.as_mut());
        self.v.zeroize();
    }
}

impl<C: Cipher> ZeroizeOnDrop for CtrDrbg<C> {}

impl<C: Cipher> fmt::Debug for CtrDrbg<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CtrDrbg")
            .field("engine", &self.engine)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Aes128;
    use crate::secret::tests::around_drop;

    fn state(drbg: &CtrDrbg<Aes256>) -> [u8; MAX_SEED_LEN] {
        let mut state = [0; MAX_SEED_LEN];
        drbg.store(&mut state);
        state
    }

    #[cfg_attr(miri, ignore = "it takes many minutes")]
    #[test]
    fn limits_are_errors_and_change_nothing() {
        let mut drbg = CtrDrbg::<Aes256>::instantiate(&[7; 48], b"").unwrap();
        let before = state(&drbg);
        let mut out = vec![0x5a; MAX_REQUEST + 1];
        assert_eq!(
            drbg.generate(&mut out, b""),
            Err(Error::RequestTooLong {
                given: MAX_REQUEST + 1
            })
        );
        let too_long = Error::InputTooLong {
            allowed: 48,
            given: 49,
        };
        assert_eq!(drbg.generate(&mut out[..1], &[0; 49]), Err(too_long));
        assert_eq!(drbg.reseed(&[0; 48], &[0; 49]), Err(too_long));
        let wrong = Error::EntropyLength {
            required: 48,
            given: 47,
        };
        assert_eq!(drbg.reseed(&[0; 47], b""), Err(wrong));
        assert_eq!(
            CtrDrbg::<Aes256>::instantiate(&[0; 47], b"").unwrap_err(),
            wrong
        );
        let wrong = Error::EntropyLength {
            required: 32,
            given: 48,
        };
        assert_eq!(
            CtrDrbg::<Aes128>::instantiate(&[0; 48], b"").unwrap_err(),
            wrong
        );
        assert!(out.iter().all(|&byte| byte == 0x5a));
        assert_eq!(state(&drbg), before);
        drbg.generate(&mut out[..MAX_REQUEST], &[0; 48]).unwrap();
    }

    #[test]
    fn a_reseed_is_required_after_2_48_requests() {
        let mut drbg = CtrDrbg::<Aes256>::instantiate(&[7; 48], b"").unwrap();
        drbg.reseed_counter = RESEED_INTERVAL;
        let mut out = [0; 32];
        drbg.generate(&mut out, b"").unwrap();
        assert_eq!(drbg.generate(&mut out, b""), Err(Error::ReseedRequired));
        drbg.reseed(&[8; 48], b"").unwrap();
        drbg.generate(&mut out, b"").unwrap();
        assert_eq!(drbg.reseed_counter(), 2);
        drbg.reseed_counter = RESEED_INTERVAL + 1;
        drbg.generate_with_prediction_resistance(&mut out, &[9; 48], b"")
            .unwrap();
        assert_eq!(drbg.reseed_counter(), 2);
    }

    #[test]
    fn a_refused_request_changes_nothing() {
        let mut drbg = CtrDrbg::<Aes256>::instantiate(&[7; 48], b"").unwrap();
        drbg.reseed_counter = RESEED_INTERVAL + 1;
        let before = state(&drbg);
        let mut out = [0x5a; 32];
        let refused = drbg.generate(&mut out, &[8; 48]);
        assert_eq!(refused, Err(Error::ReseedRequired));
        assert_eq!((state(&drbg), out), (before, [0x5a; 32]));
    }

    #[test]
    fn the_key_is_replaced_by_every_request() {
        let mut drbg = CtrDrbg::<Aes256>::instantiate(&[7; 48], b"").unwrap();
        let before = state(&drbg);
        drbg.generate(&mut [], b"").unwrap();
        assert_ne!(state(&drbg)[..32], before[..32]);
    }

    #[test]
    fn dropping_a_generator_wipes_it() {
        let drbg = CtrDrbg::<Aes256>::instantiate(&[7; 48], b"").unwrap();
        let [(key, v), wiped] = around_drop(drbg, |drbg| {
            // SAFETY: the value's memory; both are plain bytes, before and after its drop.
            unsafe {
                (
                    (&raw const (*drbg).key).read_volatile(),
                    (&raw const (*drbg).v).read_volatile(),
                )
            }
        });
        assert!(key != [0; 32] && v != 0);
        assert_eq!(wiped, ([0; 32], 0));
    }

    #[test]
    fn chacha20_is_not_an_engine_for_aes() {
        let refused = CtrDrbg::<Aes256>::instantiate_on(Engine::ChaCha20, &[0; 48], b"");
        assert_eq!(
            refused.unwrap_err(),
            Error::EngineUnavailable(Engine::ChaCha20)
        );
    }
}
