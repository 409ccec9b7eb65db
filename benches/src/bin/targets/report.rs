//! The table: what was to be reached, what was, and notes on what could not be.

use squall_measure::{Pairs, Spread};

/// What a row promises.
#[derive(Clone, Copy)]
pub enum Target {
    /// At least this many times as fast as the peer.
    Speedup(f64),
    /// At least this percentage of the peer's speed.
    Percent(f64),
    /// At most this part of the peer's time.
    Part(f64),
    /// At most this many microseconds more than the peer.
    Extra(f64),
}

/// A comparison with its target.
pub struct Row {
    name: String,
    peer: &'static str,
    target: Target,
    pairs: Pairs,
    /// Bytes in a call, where a speed says more than a time.
    bytes: Option<usize>,
}

impl Row {
    /// A row that reads as times.
    pub fn new(name: impl Into<String>, peer: &'static str, target: Target, pairs: Pairs) -> Row {
        Row {
            name: name.into(),
            peer,
            target,
            pairs,
            bytes: None,
        }
    }

    /// The row in GB/s, for calls of `bytes` bytes.
    pub fn with_speeds(self, bytes: usize) -> Row {
        Row {
            bytes: Some(bytes),
            ..self
        }
    }

    /// The number the target is about.
    fn value(&self) -> Spread {
        match self.target {
            Target::Speedup(_) => self.pairs.speedup(),
            Target::Percent(_) => scaled(self.pairs.speedup(), 100.0),
            Target::Part(_) => self.pairs.part(),
            Target::Extra(_) => scaled(self.pairs.difference(), 1e-3),
        }
    }

    pub fn is_met(&self) -> bool {
        let median = self.value().median;
        match self.target {
            Target::Speedup(least) | Target::Percent(least) => median >= least,
            Target::Part(most) | Target::Extra(most) => median <= most,
        }
    }

    fn target(&self) -> String {
        let peer = self.peer;
        match self.target {
            Target::Speedup(least) => format!("at least {least:.1} × {peer}"),
            Target::Percent(least) => format!("at least {least:.0} % of {peer}"),
            Target::Part(most) => format!("at most {most:.1} of {peer}"),
            Target::Extra(most) => format!("at most {most:.0} µs more than {peer}"),
        }
    }

    fn measured(&self) -> String {
        let Spread { low, median, high } = self.value();
        let value = match self.target {
            Target::Speedup(_) => format!("{median:.2} × ({low:.2} to {high:.2})"),
            Target::Percent(_) => format!("{median:.0} % ({low:.0} to {high:.0})"),
            Target::Part(_) => format!("{median:.2} ({low:.2} to {high:.2})"),
            Target::Extra(_) => format!("{median:+.1} µs ({low:+.1} to {high:+.1})"),
        };
        let (ours, theirs) = (self.pairs.ours().median, self.pairs.theirs().median);
        format!(
            "{value}: {} against {}",
            self.amount(ours),
            self.amount(theirs)
        )
    }

    fn amount(&self, nanoseconds: f64) -> String {
        match self.bytes {
            Some(bytes) => format!("{:.2} GB/s", bytes as f64 / nanoseconds),
            None if nanoseconds >= 1000.0 => format!("{:.1} µs", nanoseconds / 1e3),
            None => format!("{nanoseconds:.2} ns"),
        }
    }
}

fn scaled(spread: Spread, factor: f64) -> Spread {
    Spread {
        low: spread.low * factor,
        median: spread.median * factor,
        high: spread.high * factor,
    }
}

/// Rows in the order they were measured, and notes.
#[derive(Default)]
pub struct Report {
    rows: Vec<Row>,
    notes: Vec<String>,
}

impl Report {
    /// Adds a row; `note` explains it where it misses its target.
    pub fn add(&mut self, row: Row, note: impl FnOnce() -> Option<String>) {
        if !row.is_met() {
            self.notes.extend(note());
        }
        self.rows.push(row);
    }

    /// Prints the table and, once each, the notes.
    pub fn print(mut self) {
        println!("| row | target | measured: median (quartiles): squall against peer | met |");
        println!("| --- | --- | --- | --- |");
        for row in &self.rows {
            let (target, measured) = (row.target(), row.measured());
            let met = if row.is_met() { "yes" } else { "no" };
            println!("| {} | {target} | {measured} | {met} |", row.name);
        }
        self.notes.dedup();
        for note in &self.notes {
            println!("\n{note}");
        }
    }
}
