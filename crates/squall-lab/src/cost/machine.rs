//! What the figures were measured on.

use std::fs;

use serde::Serialize;

/// The machine and the build.
#[derive(Debug, Serialize)]
pub struct MachineDescription {
    pub cpu: String,
    pub kernel: String,
    pub cores: usize,
    /// Whether this is a release build: figures of another say nothing.
    pub release_build: bool,
}

/// Describes this machine.
pub fn describe() -> MachineDescription {
    MachineDescription {
        cpu: cpu(),
        kernel: file("/proc/sys/kernel/osrelease"),
        cores: std::thread::available_parallelism().map_or(1, usize::from),
        release_build: !cfg!(debug_assertions),
    }
}

fn cpu() -> String {
    let info = file("/proc/cpuinfo");
    let field = |name: &str| {
        info.lines()
            .filter_map(|line| line.split_once(':'))
            .find(|(key, _)| key.trim() == name)
            .map_or("unknown", |(_, value)| value.trim())
    };
    let [name, family, model] = ["model name", "cpu family", "model"].map(field);
    format!("{name}, family {family} model {model}")
}

fn file(path: &str) -> String {
    fs::read_to_string(path).map_or("unknown".into(), |text| text.trim().into())
}
