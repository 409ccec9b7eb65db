//! A stream gives the reference's bytes at its position, after any sequence of seeks and requests,
//! and an error with nothing written past its end.

#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use squall::{Error, Stream};
use squall_fuzz::guarded::Guarded;
use squall_fuzz::{Number, aes_engines};
use squall_reference::Aes;

/// Steps that are run: more cost time and reach nothing new.
const MOST_STEPS: usize = 16;

/// Length of a stream.
const END: u128 = 1 << 64;

#[derive(Arbitrary, Debug)]
enum Step {
    /// To a number modulo 2^64.
    Seek(Number),
    /// A request of `len` modulo 4096 bytes.
    Fill { len: u16, offset: u8 },
}

#[derive(Arbitrary, Debug)]
struct Session {
    seed: [u8; 32],
    steps: Vec<Step>,
}

/// What a request for `len` bytes at `position` returns.
fn expected(seed: &[u8; 32], position: u128, len: usize) -> Result<Vec<u8>, Error> {
    if position + len as u128 > END {
        return Err(Error::EndOfStream);
    }
    let skipped = (position % 16) as usize;
    let mut blocks = Aes::new(seed).keystream(position / 16, skipped + len);
    Ok(blocks.split_off(skipped))
}

/// The buffer's bytes after a request, which an error leaves as they were.
fn read(stream: &mut Stream, len: usize, offset: usize) -> Result<Vec<u8>, Error> {
    let mut guarded = Guarded::new(offset, len);
    let before = guarded.buffer().to_vec();
    let result = stream.fill(guarded.buffer());
    assert!(guarded.guards_are_intact(), "{stream:?}: guard bytes");
    if result.is_err() {
        assert!(guarded.buffer() == before, "{stream:?}: written on error");
    }
    result.map(|()| guarded.buffer().to_vec())
}

fuzz_target!(|session: Session| {
    let new = |engine| Stream::new_on(engine, &session.seed).expect("available");
    let mut streams: Vec<_> = aes_engines().map(new).collect();
    let mut position = 0u128;
    for step in session.steps.iter().take(MOST_STEPS) {
        match step {
            Step::Seek(offset) => {
                position = offset.get() % END;
                streams.iter_mut().for_each(|s| s.seek(position as u64));
            }
            Step::Fill { len, offset } => {
                let len = usize::from(len % 4096);
                let expected = expected(&session.seed, position, len);
                for stream in &mut streams {
                    assert!(
                        read(stream, len, (*offset).into()) == expected,
                        "{stream:?}"
                    );
                }
                position += expected.map_or(0, |bytes| bytes.len() as u128);
            }
        }
        let shown = u64::try_from(position).ok();
        assert!(streams.iter().all(|s| s.position() == shown), "{position}");
    }
});
