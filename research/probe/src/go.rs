//! Starts the Go program, which draws instead of the probe.
//!
//! It is told where in the memory to read and write, so that only the library `squall_probe` describes
//! the layout.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use squall_probe::{Channel, LEN, Output, Record, header};

use crate::layout::Channels;
use crate::{Result, bar};

/// The program's path in the initramfs.
const PROGRAM: &str = "/go-probe";

/// Starts the program and returns its status. It then waits for the lab, like the probe.
pub fn start(channels: &Channels) -> Result<Value> {
    let plan = plan(&bar::resource()?.to_string_lossy(), channels.table());
    let failed = |error: std::io::Error| format!("{PROGRAM}: {error}");
    let mut program = Command::new(PROGRAM)
        .arg(plan.to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    let mut said = String::new();
    let stdout = program.stdout.take().expect("a pipe");
    BufReader::new(stdout)
        .read_line(&mut said)
        .map_err(failed)?;
    serde_json::from_str(&said).map_err(|_| match said.trim() {
        "" => format!("{PROGRAM} ended without a word"),
        why => format!("{PROGRAM}: {why}"),
    })
}

/// The instructions for the program. All places are indices of words.
fn plan(memory: &str, table: &[Channel]) -> Value {
    let channel = |(index, channel): (usize, &Channel)| {
        json!({
            "source": channel.source.name(),
            "count": Channel::place(index) + Channel::COUNT,
            "first": channel.first,
            "capacity": channel.capacity,
        })
    };
    json!({
        "memory": memory,
        "memory_bytes": LEN,
        "command": header::COMMAND,
        "run": squall_probe::Command::Run as u64,
        "record_words": Output::WORDS,
        "channels": table.iter().enumerate().map(channel).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use squall_probe::{Mode, TABLE};

    use super::*;
    use crate::memory::tests::plain;

    #[test]
    fn the_program_is_told_of_every_channel() {
        let channels = Channels::lay_out(plain(), Mode::Go);
        let plan = plan("memory", channels.table());
        let told = plan["channels"].as_array().expect("a list");
        assert_eq!(told.len(), channels.table().len());
        assert_eq!(told[0]["count"], TABLE + Channel::COUNT);
        for (told, channel) in told.iter().zip(channels.table()) {
            assert_eq!(told["source"], channel.source.name());
            assert_eq!(told["first"], channel.first);
            assert_eq!(told["capacity"], channel.capacity);
        }
    }
}
