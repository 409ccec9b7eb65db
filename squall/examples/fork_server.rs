//! Forks workers as a server does, each of which draws a session identifier.
//!
//! A generator that keeps its state in ordinary memory would give the same bytes in each worker.
//! squall notices the fork by itself; no worker has to reseed anything.
//!
//!     cargo run --release -p squall --example fork_server

use std::io::{Read, pipe};
use std::os::fd::AsRawFd;

const WORKERS: usize = 4;

fn main() -> std::io::Result<()> {
    // The state that every worker inherits.
    let _: [u8; 16] = squall::array();
    let (mut reader, writer) = pipe()?;
    for _ in 0..WORKERS {
        // SAFETY: this process has one thread, and the child only draws, writes and ends.
        if unsafe { libc::fork() } == 0 {
            let session: [u8; 16] = squall::array();
            // SAFETY: writes from an array of this length, then ends without destructors.
            unsafe {
                libc::write(writer.as_raw_fd(), session.as_ptr().cast(), session.len());
                libc::_exit(0);
            }
        }
    }
    drop(writer);
    let mut sessions = vec![squall::array()];
    for _ in 0..WORKERS {
        let mut session = [0; 16];
        reader.read_exact(&mut session)?;
        sessions.push(session);
    }
    for session in &sessions {
        println!("{:032x}", u128::from_be_bytes(*session));
    }
    sessions.sort_unstable();
    sessions.dedup();
    assert_eq!(sessions.len(), WORKERS + 1, "every process has its own");
    Ok(())
}
