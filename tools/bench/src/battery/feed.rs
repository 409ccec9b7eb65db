//! A stream into the standard input of a program, for as long as it reads and may run, and what it
//! prints.

use std::io::{Read as _, Write};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use squall_tools::Failure;

use crate::subprocess::Subprocess;

/// Bytes that are asked for at a time: what a pipe holds.
const CHUNK: usize = 1 << 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    ByItself,
    /// Its time was up.
    Stopped,
    NotFound,
}

/// Runs `program` on the stream from `fill` by timeout(1), which ends it after `time`: how it ended,
/// and what it printed.
///
/// # Errors
/// The stream failed, or timeout(1) did not start.
pub(super) fn feed(
    program: &Command,
    time: Duration,
    fill: &mut dyn FnMut(&mut [u8]) -> Result<(), Failure>,
) -> Result<(Ended, String), Failure> {
    let mut command = Command::new("timeout");
    command.arg(time.as_secs().to_string());
    command.arg(program.get_program()).args(program.get_args());
    let variables = program.get_envs();
    command.envs(variables.filter_map(|(name, value)| Some((name, value?))));
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut process = Subprocess::start(&mut command)?;
    let stdin = process.0.stdin.take().expect("a pipe");
    let mut stdout = process.0.stdout.take().expect("a pipe");
    let reader = thread::spawn(move || {
        let mut text = Vec::new();
        // What was read before an error is what there is.
        let _ = stdout.read_to_end(&mut text);
        String::from_utf8_lossy(&text).into_owned()
    });
    write(stdin, fill)?;
    let text = reader.join().unwrap_or_default();
    let ended = match process.0.wait().ok().and_then(|status| status.code()) {
        Some(124) => Ended::Stopped,
        Some(127) => Ended::NotFound,
        _ => Ended::ByItself,
    };
    Ok((ended, text))
}

/// Writes until the reader has gone.
fn write(
    mut stdin: impl Write,
    fill: &mut dyn FnMut(&mut [u8]) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut chunk = vec![0; CHUNK];
    loop {
        fill(&mut chunk)?;
        if stdin.write_all(&chunk).is_err() {
            return Ok(());
        }
    }
}
