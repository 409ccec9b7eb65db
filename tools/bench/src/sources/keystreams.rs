//! Keystream of squall's engines: no generators, but what generators are made of.

use squall::Engine;
use squall::hazmat::{Aes128, Aes256, Cipher, FastKeyErasure, Keystream, MAX_REQUEST, Stores};

use super::entry::{Entry, Opened, in_process};
use crate::source::Draw;

pub(super) const ENTRIES: &[Entry] = &[
    keystream("aes128-vaes512", "AES-128 keystream, VAES-512", || {
        aes::<Aes128>(Engine::Vaes512)
    }),
    keystream("aes128-vaes256", "AES-128 keystream, VAES-256", || {
        aes::<Aes128>(Engine::Vaes256)
    }),
    keystream("aes128-aesni", "AES-128 keystream, AES-NI", || {
        aes::<Aes128>(Engine::AesNi)
    }),
    keystream("aes128-portable", "AES-128 keystream, portable", || {
        aes::<Aes128>(Engine::Portable)
    }),
    keystream("aes256-vaes512", "AES-256 keystream, VAES-512", || {
        aes::<Aes256>(Engine::Vaes512)
    }),
    keystream("aes256-vaes256", "AES-256 keystream, VAES-256", || {
        aes::<Aes256>(Engine::Vaes256)
    }),
    keystream("aes256-aesni", "AES-256 keystream, AES-NI", || {
        aes::<Aes256>(Engine::AesNi)
    }),
    keystream("aes256-portable", "AES-256 keystream, portable", || {
        aes::<Aes256>(Engine::Portable)
    }),
    Entry {
        name: "chacha20-erasing",
        title: "ChaCha20 with key erasure",
        caveat: "a generator without guards",
        explained: "squall::hazmat::FastKeyErasure: ChaCha20, its key replaced in every request",
        open: || in_process(ChaCha20(FastKeyErasure::new(&squall::array()))),
        ..KEYSTREAM
    },
];

const KEYSTREAM: Entry = keystream("", "", || aes::<Aes256>(Engine::Portable));

const fn keystream(name: &'static str, title: &'static str, open: fn() -> Opened) -> Entry {
    Entry {
        name,
        title,
        caveat: "the same key, the same bytes",
        explained: "squall::hazmat::Keystream by this engine: counter mode under one key",
        open,
        ..Entry::DEFAULT
    }
}

fn aes<C: Cipher + 'static>(engine: Engine) -> Opened {
    let mut key = C::Key::default();
    squall::fill(key.as_mut());
    let keystream = Keystream::<C>::new(&key, engine).map_err(|error| error.to_string())?;
    in_process(Aes {
        keystream,
        counter: 0,
    })
}

struct Aes<C: Cipher> {
    keystream: Keystream<C>,
    counter: u128,
}

impl<C: Cipher> Draw for Aes<C> {
    #[inline]
    fn fill(&mut self, out: &mut [u8]) {
        let stores = Stores::for_len(out.len());
        self.keystream.fill(self.counter, out, stores);
        self.counter += out.len().div_ceil(16) as u128;
    }
}

struct ChaCha20(FastKeyErasure);

impl Draw for ChaCha20 {
    #[inline]
    fn fill(&mut self, out: &mut [u8]) {
        for part in out.chunks_mut(MAX_REQUEST) {
            let made = self.0.generate(part, &[]);
            made.expect("a request within the limit");
        }
    }
}
