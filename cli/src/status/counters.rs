//! Shows how many requests and bytes squall's libraries served, from a file of counters.

use std::fmt::Write;
use std::io::ErrorKind;
use std::path::Path;

use squall_binding_base::counters::{self, Totals};
use squall_tool_base::failure::opening;
use squall_tool_base::{Failure, output, units};

/// Prints the counters in `file`, for people or as JSON.
pub fn show(file: &Path, as_json: bool) -> Result<(), Failure> {
    let totals = counters::read(file).map_err(|error| match error.kind() {
        ErrorKind::InvalidData => Failure::Usage(format!(
            "{}: not a counter file: name one that squall run --counters made",
            file.display()
        )),
        _ => opening(file)(error),
    })?;
    if as_json {
        output::print_json(&totals)
    } else {
        output::print(&table(&totals))
    }
}

fn table(totals: &Totals) -> String {
    let plural = if totals.loads == 1 { "" } else { "s" };
    let mut text = format!(
        "squall's libraries were loaded {} time{plural}.\n",
        totals.loads
    );
    let used = |total: &&counters::Total| total.requests + total.forwarded > 0;
    let mut interfaces = totals.interfaces.iter().filter(used).peekable();
    if interfaces.peek().is_none() {
        return text + "Nothing was counted.\n";
    }
    let _ = writeln!(
        text,
        "\n{:14}{:>14}{:>10}{:>18}",
        "interface", "requests", "bytes", "left to kernel"
    );
    for total in interfaces {
        let bytes = units::volume(total.bytes);
        let (interface, requests, forwarded) = (total.interface, total.requests, total.forwarded);
        let _ = writeln!(
            text,
            "{interface:14}{requests:>14}{bytes:>10}{forwarded:>18}"
        );
    }
    text
}
