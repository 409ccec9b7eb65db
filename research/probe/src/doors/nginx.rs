//! nginx with TLS on a socket. An output consists of the values that it draws for a handshake.

use std::fs;
use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use squall_probe::hello::{client_hello, read_drawn_values};

use super::RUN;
use crate::Result;
use crate::generator::{Bits, Generator, words};
use crate::process;

/// The server's path in the initramfs, and its configuration, which names the socket and the PID file
/// relative to the directory in which the server starts.
const PROGRAM: &str = "/usr/sbin/nginx";
const CONFIGURATION: &str = "/doors/nginx.conf";
const SOCKET: &str = "socket";

/// Longest time for its start and for an answer, on an emulated machine that others share.
const TIMEOUT: Duration = Duration::from_secs(600);

/// Pause between two attempts to connect while it starts.
const PAUSE: Duration = Duration::from_millis(10);

/// A running server, and the ClientHello that it is sent.
pub struct Nginx {
    socket: PathBuf,
    hello: Vec<u8>,
}

impl Nginx {
    /// Starts a server in the directory `name` with only these environment variables, and waits until
    /// it answers.
    pub fn start(name: &str, environment: &[(&str, &str)]) -> Result<Nginx> {
        let directory = Path::new(RUN).join(name);
        let failed = |error: io::Error| format!("{PROGRAM} ({name}): {error}");
        fs::create_dir_all(&directory).map_err(failed)?;
        Command::new(PROGRAM)
            .args(["-c", CONFIGURATION, "-e", "stderr", "-p"])
            .arg(&directory)
            .current_dir(&directory)
            .env_clear()
            .envs(environment.iter().copied())
            .stdin(Stdio::null())
            .spawn()
            .map_err(failed)?;
        let nginx = Nginx {
            socket: directory.join(SOCKET),
            hello: client_hello(),
        };
        nginx
            .wait()
            .map_err(|why| format!("{PROGRAM} ({name}): {why}"))?;
        Ok(nginx)
    }

    fn wait(&self) -> Result<()> {
        let deadline = Instant::now() + TIMEOUT;
        while let Err(error) = self.shake() {
            process::check_children()?;
            if Instant::now() > deadline {
                return Err(format!("no answer within {} s: {error}", TIMEOUT.as_secs()));
            }
            std::thread::sleep(PAUSE);
        }
        Ok(())
    }

    /// Starts a handshake, returns the values that the server drew for it, and closes the connection.
    fn shake(&self) -> io::Result<Bits> {
        let mut server = UnixStream::connect(&self.socket)?;
        server.set_read_timeout(Some(TIMEOUT))?;
        server.write_all(&self.hello)?;
        read_drawn_values(&mut server).map(|bytes| words(&bytes))
    }
}

impl Generator for Nginx {
    fn draw(&mut self) -> Option<Bits> {
        let shaken = self.shake();
        let at = self.socket.display();
        Some(shaken.unwrap_or_else(|error| panic!("{PROGRAM} at {at}: {error}")))
    }
}
