//! The process that serves a source.

use std::io::{self, Write};

use rustix::process::{Signal, set_parent_process_death_signal};
use squall_tools::Failure;
use squall_tools::failure::cause;

use crate::source::{Request, Source};
use crate::sources::Opened;

/// Serves the source `opened` on standard input and output until the input ends, or the thread that
/// started this process does. Of threads it knows nothing.
///
/// # Errors
/// Input or output has failed; that of a source is an answer.
pub fn serve(opened: Opened) -> Result<(), Failure> {
    // A source that hangs would not see the end of its input.
    let bound = set_parent_process_death_signal(Some(Signal::KILL));
    bound.map_err(|error| Failure::Runtime(format!("prctl(2): {error}")))?;
    let mut output = io::stdout().lock();
    let mut write = |answer: &[u8]| {
        let written = output.write_all(answer).and_then(|()| output.flush());
        written.map_err(|error| Failure::of_write("output", &error))
    };
    let mut source = match opened {
        Ok(source) => source,
        Err(reason) => return write(&error(&reason)),
    };
    write(b"ready\n")?;
    // Kept from one request to the next, as it is where sources of this process are measured.
    let mut buffer = Vec::new();
    for line in io::stdin().lines() {
        let line = line.map_err(|error| Failure::Runtime(format!("input: {}", cause(&error))))?;
        let answer = answer(&line, source.as_mut(), &mut buffer);
        write(&answer.unwrap_or_else(|failure| error(&failure.into_text())))?;
    }
    Ok(())
}

fn answer(line: &str, source: &mut dyn Source, buffer: &mut Vec<u8>) -> Result<Vec<u8>, Failure> {
    let wrong = || Failure::Usage(format!("no such request: {line}"));
    let number = |word: &str| word.parse::<usize>().map_err(|_| wrong());
    let words: Vec<&str> = line.split(' ').collect();
    let ns = match words[..] {
        ["time", "fill", len, calls] => {
            let len = number(len)?;
            if buffer.len() != len {
                // Not zero, or its pages would be mapped while it is timed.
                *buffer = vec![1; len];
            }
            source.time(Request::Fill(buffer), number(calls)? as u64)?
        }
        ["time", "u32", calls] => source.time(Request::U32, number(calls)? as u64)?,
        ["time", "u64", calls] => source.time(Request::U64, number(calls)? as u64)?,
        ["sample", len] => {
            let mut out = vec![0; number(len)?];
            source.sample(&mut out)?;
            let head = format!("bytes {len}\n").into_bytes();
            return Ok([head, out].concat());
        }
        _ => return Err(wrong()),
    };
    Ok(format!("{ns}\n").into_bytes())
}

/// What tells of an error: one line.
fn error(why: &str) -> Vec<u8> {
    format!("error {}\n", why.replace('\n', " ")).into_bytes()
}
