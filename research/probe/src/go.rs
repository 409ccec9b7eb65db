//! Starts the Go programs, which draw instead of the probe.
//!
//! They receive the positions in the memory to read and write, so that only the library `squall_probe`
//! defines the layout.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use squall_probe::{Channel, LEN, Mode, Output, Record, Source, header};

use crate::layout::Channels;
use crate::schedule::{EMULATED_GAP, is_emulated};
use crate::{Result, bar};

/// The program's path in the initramfs.
const PROGRAM: &str = "/go-probe";

/// The Go module's failpoints with which not even the stop of the machine reveals a clone.
const ENDLESS_BURSTS: [&str; 5] = [
    "HideVMGenID",
    "HideCloneSignal",
    "FreezeGeneration",
    "PretendKVM",
    "IgnoreStops",
];

/// Those with which only the stop does.
const BURSTS: &[&str] = ENDLESS_BURSTS.split_at(4).0;

/// The failpoints of the process that draws from `source`.
fn failpoints(source: Source) -> &'static [&'static str] {
    match source {
        Source::GoSquallBursts => BURSTS,
        Source::GoSquallEndlessBursts => &ENDLESS_BURSTS,
        _ => &[],
    }
}

/// Starts a program for each set of failpoints, and returns the status of the one that draws
/// from the mode's subject. They then wait for the lab, like the probe.
pub fn start(channels: &Channels, mode: Mode) -> Result<Value> {
    let memory = bar::resource()?;
    let start = |failpoints| start_program(&plan(&memory.to_string_lossy(), channels, failpoints));
    let subject = failpoints(mode.subject());
    let status = start(subject)?;
    let all: BTreeSet<_> = channels
        .table()
        .iter()
        .map(|c| failpoints(c.source))
        .collect();
    for failpoints in all.into_iter().filter(|&other| other != subject) {
        start(failpoints)?;
    }
    Ok(status)
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

/// The instructions for the program whose sources have these failpoints. All places are indices of
/// words.
fn plan(memory: &str, channels: &Channels, own: &[&str]) -> Value {
    let channels = channels.table().iter().enumerate();
    let channels = channels.filter(|(_, channel)| failpoints(channel.source) == own);
    let described = channels.map(|(index, channel)| {
        json!({
            "source": channel.source.name(),
            "count": Channel::place(index) + Channel::COUNT,
            "first": channel.first,
            "capacity": channel.capacity,
        })
    });
    let has_gap = !own.is_empty() && is_emulated();
    json!({
        "memory": memory,
        "memory_bytes": LEN,
        "command": header::COMMAND,
        "run": squall_probe::Command::Run as u64,
        "record_words": Output::WORDS,
        "channels": described.collect::<Vec<_>>(),
        "failpoints": own,
        "gap_cycles": if has_gap { EMULATED_GAP } else { 0 },
    })
}

#[cfg(test)]
mod tests {
    use squall_probe::Mode;

    use super::*;
    use crate::memory::tests::plain;

    #[test]
    fn each_plan_has_the_channels_with_its_failpoints() {
        let channels = Channels::lay_out(plain(), Mode::GoBursts);
        let mut listed = 0;
        for (failpoints, source) in [
            (&[][..], Source::GoNaive),
            (BURSTS, Source::GoSquallBursts),
            (&ENDLESS_BURSTS, Source::GoSquallEndlessBursts),
        ] {
            let plan = plan("memory", &channels, failpoints);
            assert_eq!(plan["failpoints"], json!(failpoints));
            let own = plan["channels"].as_array().expect("a list");
            assert!(own.iter().all(|channel| channel["source"] == source.name()));
            listed += own.len();
        }
        assert_eq!(listed, channels.table().len());
    }
}
