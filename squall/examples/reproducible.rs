//! Writes test data from a seed, and checks a part of it later without making the rest.
//!
//! The same seed gives the same bytes on every machine. It is not for keys: whoever knows the
//! seed knows all of them.
//!
//!     cargo run --release -p squall --example reproducible

use squall::{Error, Stream};

const SEED: [u8; 32] = *b"a seed of 32 bytes for test data";

fn main() -> Result<(), Error> {
    let mut data = vec![0; 1 << 20];
    Stream::new(&SEED).fill(&mut data)?;

    // Seeking takes no time, because every block is computed from its own number.
    let mut part = [0; 100];
    let mut second_stream = Stream::new(&SEED);
    second_stream.seek(777_777);
    second_stream.fill(&mut part)?;
    assert_eq!(part, data[777_777..777_877]);
    println!("bytes 777777 to 777876 are the same: {:02x?}…", &part[..8]);

    // 16 EiB further on the stream ends.
    second_stream.seek(u64::MAX);
    assert_eq!(second_stream.fill(&mut part), Err(Error::EndOfStream));
    Ok(())
}
