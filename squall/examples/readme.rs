//! The example of the project's README.
//!
//!     cargo run --release -p squall --example readme

fn main() -> Result<(), squall::Error> {
    let key: [u8; 32] = squall::array(); // keys, nonces, tokens

    let mut buffer = vec![0; 1 << 20];
    squall::fill(&mut buffer); // any length
    let number = squall::u64();

    let mut stream = squall::Stream::new(&key); // reproducible: the same key, the same bytes
    stream.seek(1 << 40);
    stream.fill(&mut buffer)?;
    println!("{number}");
    Ok(())
}
