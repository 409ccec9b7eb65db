//! Starts the Go program, which draws instead of the probe.
//!
//! It receives the positions in the memory to read and write, so that only the library `squall_probe`
//! defines the layout.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use squall_probe::{Channel, LEN, Output, Record, header};

use crate::layout::Channels;
use crate::{Result, bar};

/// The program's path in the initramfs.
const PROGRAM: &str = "/go-probe";

/// Starts the program, and returns the status of squall in it. It then waits for the lab, like the probe.
pub fn start(channels: &Channels) -> Result<Value> {
    let memory = bar::resource()?;
    start_program(&plan(&memory.to_string_lossy(), channels))
}

fn start_program(plan: &Value) -> Result<Value> {
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
        "" => format!("{PROGRAM} ended without a message"),
        why => format!("{PROGRAM}: {why}"),
    })
}

/// The instructions for the program. All places are indices of words.
fn plan(memory: &str, channels: &Channels) -> Value {
    let described = channels.table().iter().enumerate().map(|(index, channel)| {
        json!({
            "source": channel.source.name(),
            "count": Channel::place(index) + Channel::COUNT,
            "first": channel.first,
            "capacity": channel.capacity,
        })
    });
    json!({
        "memory": memory,
        "memory_bytes": LEN,
        "command": header::COMMAND,
        "run": squall_probe::Command::Run as u64,
        "record_words": Output::WORDS,
        "channels": described.collect::<Vec<_>>(),
    })
}
