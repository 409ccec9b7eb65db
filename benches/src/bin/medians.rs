//! Prints Criterion's medians as Markdown tables: a group a table, a benchmark a row, a length a
//! column.
//!
//! `cargo run --release -p squall-benches --bin medians [DIRECTORY]` after `cargo bench`; the
//! directory is Criterion's, `target/criterion` unless given.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// A benchmark's median.
struct Median {
    group: String,
    function: String,
    column: String,
    /// Bytes a call, where the benchmark told.
    bytes: Option<u64>,
    nanoseconds: f64,
}

/// Calls of so many bytes read better as a speed.
const SPEED_FROM: u64 = 1024;

fn main() {
    let directory = std::env::args().nth(1).unwrap_or("target/criterion".into());
    let mut medians = Vec::new();
    collect(Path::new(&directory), &mut medians);
    let mut groups = BTreeMap::<&str, Vec<&Median>>::new();
    for median in &medians {
        groups.entry(&median.group).or_default().push(median);
    }
    for (group, medians) in groups {
        print(group, &medians);
    }
}

/// Finds every `new/estimates.json` below `directory`.
fn collect(directory: &Path, medians: &mut Vec<Median>) {
    medians.extend(read(&directory.join("new")));
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut below: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    below.sort();
    for path in below.into_iter().filter(|path| path.is_dir()) {
        collect(&path, medians);
    }
}

fn read(directory: &Path) -> Option<Median> {
    let json = |name| -> Option<Value> {
        serde_json::from_str(&fs::read_to_string(directory.join(name)).ok()?).ok()
    };
    let (benchmark, estimates) = (json("benchmark.json")?, json("estimates.json")?);
    let text = |key: &str| benchmark[key].as_str().unwrap_or_default().to_string();
    Some(Median {
        group: text("group_id"),
        function: text("function_id"),
        column: text("value_str"),
        bytes: benchmark["throughput"]["Bytes"].as_u64(),
        nanoseconds: estimates["median"]["point_estimate"].as_f64()?,
    })
}

fn print(group: &str, medians: &[&Median]) {
    let mut columns: Vec<_> = medians
        .iter()
        .map(|m| (m.bytes, m.column.as_str()))
        .collect();
    columns.sort();
    columns.dedup();
    let mut rows: Vec<_> = medians.iter().map(|m| m.function.as_str()).collect();
    rows.sort();
    rows.dedup();
    let heads: Vec<_> = columns
        .iter()
        .map(|&(bytes, name)| head(bytes, name))
        .collect();
    println!("\n| {group} | {} |", heads.join(" | "));
    println!("| --- |{}", " ---: |".repeat(columns.len()));
    for row in rows {
        let cells = columns.iter().map(|&(_, column)| {
            let found = medians
                .iter()
                .find(|m| m.function == row && m.column == column);
            found.map_or(String::new(), |median| cell(median))
        });
        println!("| {row} | {} |", cells.collect::<Vec<_>>().join(" | "));
    }
}

fn head(bytes: Option<u64>, name: &str) -> String {
    match bytes {
        Some(bytes) if bytes >= 1 << 20 => format!("{} MiB", bytes >> 20),
        Some(bytes) if bytes >= 1 << 10 => format!("{} KiB", bytes >> 10),
        Some(bytes) => format!("{bytes} B"),
        None if name.is_empty() => "a call".into(),
        None => name.into(),
    }
}

fn cell(median: &Median) -> String {
    let time = median.nanoseconds;
    match median.bytes {
        Some(bytes) if bytes >= SPEED_FROM => format!("{:.2} GB/s", bytes as f64 / time),
        _ if time >= 1e6 => format!("{:.2} ms", time / 1e6),
        _ if time >= 1e4 => format!("{:.1} µs", time / 1e3),
        _ => format!("{time:.2} ns"),
    }
}
