//! The connection to a guest's agent: requests and answers in turn (see agent.sh).

use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use squall_tools::Failure;
use squall_tools::failure::{at, cause};

use crate::emulator::{Machine, PAUSE, Wait};

/// Longest time between two checks of the machine.
const CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// A connection to the agent.
#[derive(Debug)]
pub struct AgentConnection {
    stream: UnixStream,
    /// How many bytes of a file, or of a command, one request may have.
    pub piece: usize,
    /// Bytes that were received but not read yet.
    received: Vec<u8>,
}

impl AgentConnection {
    /// Connects to QEMU's socket at `path`.
    pub fn open(path: &Path) -> Result<AgentConnection, Failure> {
        AgentConnection::over(UnixStream::connect(path).map_err(at(path))?, usize::MAX)
    }

    /// A connection over this stream, for requests with at most `piece` bytes of a file or a command.
    pub fn over(stream: UnixStream, piece: usize) -> Result<AgentConnection, Failure> {
        let timeouts = stream
            .set_read_timeout(Some(CHECK_INTERVAL))
            .and_then(|()| stream.set_write_timeout(Some(CHECK_INTERVAL)));
        timeouts.map_err(|error| Failure::Runtime(cause(&error)))?;
        Ok(AgentConnection {
            stream,
            piece,
            received: Vec::new(),
        })
    }

    /// Sends all of `bytes`.
    pub fn send(
        &mut self,
        mut bytes: &[u8],
        machine: &mut Machine,
        wait: &mut Wait,
    ) -> Result<(), Failure> {
        while !bytes.is_empty() {
            let sent = transferred(self.stream.write(bytes))?;
            bytes = &bytes[sent..];
            if sent == 0 {
                check_machine(machine, wait)?;
            }
        }
        Ok(())
    }

    /// Reads a line, and returns it without its line break.
    pub fn line(&mut self, machine: &mut Machine, wait: &mut Wait) -> Result<String, Failure> {
        loop {
            if let Some(end) = self.received.iter().position(|&byte| byte == b'\n') {
                let line: Vec<_> = self.received.drain(..=end).collect();
                return Ok(String::from_utf8_lossy(&line[..end]).into_owned());
            }
            self.receive(machine, wait)?;
        }
    }

    /// Reads `len` bytes.
    pub fn bytes(
        &mut self,
        len: usize,
        machine: &mut Machine,
        wait: &mut Wait,
    ) -> Result<Vec<u8>, Failure> {
        while self.received.len() < len {
            self.receive(machine, wait)?;
        }
        let rest = self.received.split_off(len);
        Ok(std::mem::replace(&mut self.received, rest))
    }

    fn receive(&mut self, machine: &mut Machine, wait: &mut Wait) -> Result<(), Failure> {
        let mut buffer = [0; 1 << 16];
        let read = transferred(self.stream.read(&mut buffer))?;
        self.received.extend_from_slice(&buffer[..read]);
        if read == 0 {
            check_machine(machine, wait)?;
        }
        Ok(())
    }
}

/// The number of bytes transferred. 0 if none could be transferred yet, or if QEMU is about to end.
fn transferred(result: io::Result<usize>) -> Result<usize, Failure> {
    use ErrorKind::{BrokenPipe, ConnectionReset, Interrupted, WouldBlock};
    match result {
        Ok(count) => Ok(count),
        Err(error) => match error.kind() {
            BrokenPipe | ConnectionReset | Interrupted | WouldBlock => Ok(0),
            _ => Err(Failure::Runtime(format!(
                "the connection to the agent in the VM failed: {}",
                cause(&error)
            ))),
        },
    }
}

/// Fails if there is no point in waiting further.
fn check_machine(machine: &mut Machine, wait: &mut Wait) -> Result<(), Failure> {
    machine.host().interrupt.check()?;
    machine.check(wait)?;
    sleep(PAUSE);
    Ok(())
}
