//! Every engine writes the reference's keystream, wherever the counter starts and the buffer lies,
//! whole or split, and nothing outside the buffer.

#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use squall_drbg::{Aes128, Aes256, Cipher, Keystream, Stores};
use squall_fuzz::guarded::Guarded;
use squall_fuzz::{Number, aes_engines};
use squall_reference::Aes;

#[derive(Arbitrary, Debug)]
struct Request {
    key: [u8; 32],
    counter: Number,
    /// Taken modulo 8192.
    len: u16,
    offset: u8,
    /// Blocks in the first part, modulo those there are.
    split: u16,
    streaming: [bool; 2],
    is_aes_128: bool,
}

impl Request {
    fn stores(&self, part: usize) -> Stores {
        if self.streaming[part] {
            Stores::Streaming
        } else {
            Stores::Cached
        }
    }

    fn check<C: Cipher>(&self) {
        let mut key = C::Key::default();
        key.as_mut().copy_from_slice(&self.key[..C::KEY_LEN]);
        let (counter, len) = (self.counter.get(), usize::from(self.len % 8192));
        let expected = Aes::new(key.as_ref()).keystream(counter, len);
        let split = usize::from(self.split) % (len / 16 + 1);
        for engine in aes_engines() {
            let keystream = Keystream::<C>::new(&key, engine).expect("available");
            let mut guarded = Guarded::new(self.offset.into(), len);
            let (head, tail) = guarded.buffer().split_at_mut(16 * split);
            keystream.fill(counter.wrapping_add(split as u128), tail, self.stores(1));
            keystream.fill(counter, head, self.stores(0));
            assert!(guarded.buffer() == expected, "{engine}: keystream");
            assert!(guarded.guards_are_intact(), "{engine}: guard bytes");
        }
    }
}

fuzz_target!(|request: Request| {
    if request.is_aes_128 {
        request.check::<Aes128>()
    } else {
        request.check::<Aes256>()
    }
});
