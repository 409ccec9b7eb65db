//! A stream into the standard input of a program, for as long as it reads and may run, and what it
//! prints.

use std::io::{self, Read as _, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use squall_tools::Failure;

/// Bytes that are asked for at a time: what a pipe holds.
const CHUNK: usize = 1 << 16;

#[derive(Debug)]
pub(super) struct Output {
    pub(super) text: String,
    pub(super) in_time: bool,
}

/// Runs `command` on the stream from `fill`, and kills it after `time`.
///
/// # Errors
/// Outer: it did not start. Inner: the stream failed.
pub(super) fn feed(
    command: &mut Command,
    time: Duration,
    fill: &mut dyn FnMut(&mut [u8]) -> Result<(), Failure>,
) -> io::Result<Result<Output, Failure>> {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = command.spawn()?;
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    let (end, ended) = mpsc::channel();
    Ok(thread::scope(|scope| {
        let end_of_output = end.clone();
        let reader = scope.spawn(move || {
            let mut text = Vec::new();
            // What was read before an error is what there is.
            let _ = stdout.map(|mut stdout| stdout.read_to_end(&mut text));
            let _ = end_of_output.send(());
            text
        });
        let watch = scope.spawn(move || watch(child, &ended, time));
        let written = stdin.map_or(Ok(()), |stdin| write(stdin, fill));
        if written.is_err() {
            let _ = end.send(());
        }
        let text = reader.join().unwrap_or_default();
        let in_time = watch.join().unwrap_or(false);
        written.map(|()| Output {
            text: String::from_utf8_lossy(&text).into_owned(),
            in_time,
        })
    }))
}

/// Waits for the end, or for the end of `time`, and gives whether it was the former.
fn watch(mut child: Child, ended: &Receiver<()>, time: Duration) -> bool {
    let in_time = ended.recv_timeout(time).is_ok();
    // One that has ended cannot be killed, and that is well.
    let _ = child.kill();
    let _ = child.wait();
    in_time
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
