//! QEMU's control socket: JSON commands and answers, one per line (QEMU's docs/interop/qmp-spec).

use std::io::{self, BufRead, BufReader, ErrorKind, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use serde_json::{Value, json};
use squall_tool_base::Failure;
use squall_tool_base::failure::cause;

/// A connection that is ready for commands.
#[derive(Debug)]
pub struct Qmp {
    stream: BufReader<UnixStream>,
}

impl Qmp {
    /// Connects to a QEMU that has just started. Every answer must come within `timeout`.
    pub fn new(stream: UnixStream, timeout: Duration) -> Result<Qmp, Failure> {
        let timeouts = stream
            .set_read_timeout(Some(timeout))
            .and_then(|()| stream.set_write_timeout(Some(timeout)));
        timeouts.map_err(|error| no_answer(&error))?;
        let mut qmp = Qmp {
            stream: BufReader::new(stream),
        };
        qmp.receive()?;
        qmp.execute("qmp_capabilities", json!({}))?;
        Ok(qmp)
    }

    /// Executes `command` and returns its result.
    pub fn execute(&mut self, command: &str, arguments: Value) -> Result<Value, Failure> {
        let line = json!({ "execute": command, "arguments": arguments }).to_string() + "\n";
        self.stream
            .get_mut()
            .write_all(line.as_bytes())
            .map_err(|error| no_answer(&error))?;
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
            Ok(0) => Err(no_answer(&ErrorKind::UnexpectedEof.into())),
            Ok(_) => serde_json::from_str(&line)
                .map_err(|_| Failure::Runtime(format!("QEMU sent invalid JSON: {}", line.trim()))),
            Err(error) => Err(no_answer(&error)),
        }
    }
}

fn no_answer(error: &io::Error) -> Failure {
    Failure::Runtime(match error.kind() {
        ErrorKind::UnexpectedEof | ErrorKind::BrokenPipe | ErrorKind::ConnectionReset => {
            "QEMU ended".into()
        }
        ErrorKind::WouldBlock => "QEMU hangs: it does not answer".into(),
        _ => format!("the connection to QEMU failed: {}", cause(error)),
    })
}
