//! What figures were measured on.

use std::fs;

/// The CPU's name, family and model, and how many of its cores are visible.
pub fn cpu() -> String {
    let info = file("/proc/cpuinfo");
    let field = |name: &str| {
        info.lines()
            .filter_map(|line| line.split_once(':'))
            .find(|(key, _)| key.trim() == name)
            .map_or("unknown", |(_, value)| value.trim())
    };
    let [name, family, model] = ["model name", "cpu family", "model"].map(field);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    format!("{name}, family {family} model {model}, {cores} cores visible")
}

/// The kernel's release, as `uname -r` has it.
pub fn kernel() -> String {
    file("/proc/sys/kernel/osrelease")
}

fn file(path: &str) -> String {
    fs::read_to_string(path).map_or("unknown".into(), |text| text.trim().into())
}
