//! Measures how fast a pipe is if making the bytes costs nothing: the upper limit for `squall stream`.
//!
//! `pipe_ceiling write CHUNK | pipe_ceiling read CHUNK SIZE` writes one constant buffer over and
//! over into a pipe of 1 MiB, reads SIZE bytes, and prints the rate. The reader serves any
//! writer: `squall stream | pipe_ceiling read 1048576 8000000000`.

use std::env;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::time::Instant;

fn main() -> io::Result<()> {
    let arguments: Vec<_> = env::args().skip(1).collect();
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["write", chunk] => write(number(chunk)),
        ["read", chunk, size] => read(number(chunk), number(size)),
        _ => Err(io::Error::other("use: write CHUNK, or read CHUNK SIZE")),
    }
}

fn number(text: &str) -> usize {
    text.parse().expect("sizes are numbers of bytes")
}

fn write(chunk: usize) -> io::Result<()> {
    let mut file = std::fs::File::from(io::stdout().as_fd().try_clone_to_owned()?);
    rustix::pipe::fcntl_setpipe_size(&file, 1 << 20)?;
    let buffer = vec![0x5a; chunk];
    loop {
        match file.write_all(&buffer) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
            result => result?,
        }
    }
}

fn read(chunk: usize, size: usize) -> io::Result<()> {
    let mut file = std::fs::File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let mut buffer = vec![1; chunk];
    let mut total = file.read(&mut buffer)?;
    let started = Instant::now();
    while total < size {
        match file.read(&mut buffer)? {
            0 => break,
            len => total += len,
        }
    }
    let rate = total as f64 / started.elapsed().as_secs_f64() / 1e9;
    println!("{rate:.2} GB/s ({total} bytes)");
    Ok(())
}
