//! QEMU's control socket: JSON commands and answers, a line each (QEMU's docs/interop/qmp-spec).

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use serde_json::{Value, json};
use squall_command::Failure;
use squall_command::failure::cause;

/// Longest time an answer may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// A connection that is ready for commands.
#[derive(Debug)]
pub(super) struct Qmp {
    stream: BufReader<UnixStream>,
}

impl Qmp {
    /// Greets a QEMU that has just been started.
    pub fn new(stream: UnixStream) -> Result<Qmp, Failure> {
        let timeouts = stream
            .set_read_timeout(Some(PATIENCE))
            .and_then(|()| stream.set_write_timeout(Some(PATIENCE)));
        timeouts.map_err(|error| silent(&error))?;
        let mut qmp = Qmp {
            stream: BufReader::new(stream),
        };
        qmp.receive()?;
        qmp.execute("qmp_capabilities", json!({}))?;
        Ok(qmp)
    }

    /// Does `command` and gives what it returns.
    pub fn execute(&mut self, command: &str, arguments: Value) -> Result<Value, Failure> {
        let line = json!({ "execute": command, "arguments": arguments }).to_string() + "\n";
        self.stream
            .get_mut()
            .write_all(line.as_bytes())
            .map_err(|error| silent(&error))?;
        loop {
            let mut answer = self.receive()?;
            if let Some(error) = answer.get("error") {
                let reason = error["desc"].as_str().unwrap_or("unknown error");
                return Err(Failure::Runtime(format!(
                    "QEMU refused {command}: {reason}"
                )));
            }
            if answer.get("return").is_some() {
                return Ok(answer["return"].take());
            }
        }
    }

    fn receive(&mut self) -> Result<Value, Failure> {
        let mut line = String::new();
        match self.stream.read_line(&mut line) {
            Ok(0) => Err(silent(&io::ErrorKind::UnexpectedEof.into())),
            Ok(_) => serde_json::from_str(&line)
                .map_err(|_| Failure::Runtime(format!("QEMU said: {}", line.trim()))),
            Err(error) => Err(silent(&error)),
        }
    }
}

fn silent(error: &io::Error) -> Failure {
    Failure::Runtime(format!("QEMU does not answer: {}", cause(error)))
}
