//! Keystream of squall's engines: no generators, but what generators are made of.

use squall::Engine;
use squall::hazmat::{Aes128, Aes256, Cipher, FastKeyErasure, Keystream, MAX_REQUEST, Stores};

use super::{Entry, Home, Opened, here};
use crate::report::model::Group;
use crate::source::Draw;

pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        name: "aes128-vaes512",
        title: "AES-128 keystream, VAES-512",
        open: || aes::<Aes128>(Engine::Vaes512),
        ..KEYSTREAM
    },
    Entry {
        name: "aes128-vaes256",
        title: "AES-128 keystream, VAES-256",
        open: || aes::<Aes128>(Engine::Vaes256),
        ..KEYSTREAM
    },
    Entry {
        name: "aes128-aesni",
        title: "AES-128 keystream, AES-NI",
        open: || aes::<Aes128>(Engine::AesNi),
        ..KEYSTREAM
    },
    Entry {
        name: "aes128-portable",
        title: "AES-128 keystream, portable",
        open: || aes::<Aes128>(Engine::Portable),
        ..KEYSTREAM
    },
    Entry {
        name: "aes256-vaes512",
        title: "AES-256 keystream, VAES-512",
        open: || aes::<Aes256>(Engine::Vaes512),
        ..KEYSTREAM
    },
    Entry {
        name: "aes256-vaes256",
        title: "AES-256 keystream, VAES-256",
        open: || aes::<Aes256>(Engine::Vaes256),
        ..KEYSTREAM
    },
    Entry {
        name: "aes256-aesni",
        title: "AES-256 keystream, AES-NI",
        open: || aes::<Aes256>(Engine::AesNi),
        ..KEYSTREAM
    },
    Entry {
        name: "aes256-portable",
        title: "AES-256 keystream, portable",
        open: || aes::<Aes256>(Engine::Portable),
        ..KEYSTREAM
    },
    Entry {
        name: "chacha20-erasing",
        title: "ChaCha20 with key erasure",
        caveat: "a generator without guards",
        explained: "squall::hazmat::FastKeyErasure: ChaCha20, its key replaced in every request",
        open: || here(ChaCha20(FastKeyErasure::new(&squall::array()))),
        ..KEYSTREAM
    },
];

const KEYSTREAM: Entry = Entry {
    name: "",
    title: "",
    group: Group::Other,
    secure: false,
    caveat: "the same key, the same bytes",
    explained: "squall::hazmat::Keystream by this engine: counter mode under one key",
    home: Home::Here,
    open: || aes::<Aes256>(Engine::Portable),
};

/// Only what this CPU can run.
fn aes<C: Cipher + 'static>(engine: Engine) -> Opened {
    let mut key = C::Key::default();
    squall::fill(key.as_mut());
    let keystream = Keystream::<C>::new(&key, engine).map_err(|error| error.to_string())?;
    here(Aes {
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
