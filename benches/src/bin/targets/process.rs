//! The row about start-up: the first 32 bytes in a new process.

use std::path::Path;

use squall_benches::startup::{Source, Start, start};
use squall_measure::Pairs;

use crate::report::{Report, Row, Target};

const STARTS: usize = 2001;

pub fn measure(report: &mut Report) {
    // This very image, even if a build has replaced the file since.
    let program = Path::new("/proc/self/exe");
    let starts: Vec<[Start; 2]> = (0..STARTS)
        .map(|_| [Source::Squall, Source::Getrandom].map(|source| start(program, source)))
        .collect();
    let mut push = |name, of: fn(Start) -> f64| {
        let pairs = Pairs::new(starts.iter().map(|pair| pair.map(of)).collect());
        let row = Row::new(name, "getrandom(2)", Target::Extra(50.0), pairs);
        report.add(row, || None);
    };
    push("first 32 bytes in a new process: the call", |start| {
        start.inside
    });
    push(
        "first 32 bytes in a new process: the whole process",
        |start| start.wall,
    );
}
