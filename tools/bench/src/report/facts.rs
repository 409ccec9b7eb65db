//! What a machine is, for people.

use super::model::Machine;

/// Facts by their names.
pub type Facts = Vec<(&'static str, String)>;

impl Machine {
    /// What it is, without the versions of software.
    pub fn facts(&self) -> Facts {
        let or_none = |value: &Option<String>| value.clone().unwrap_or("none".into());
        let warnings = match self.warnings.as_slice() {
            [] => "none".into(),
            codes => codes.join(", "),
        };
        vec![
            ("CPU", self.cpu.clone()),
            ("CPUs", self.cpus.to_string()),
            ("Kernel", format!("Linux {}", self.kernel)),
            ("Hypervisor", or_none(&self.hypervisor)),
            ("Governor", or_none(&self.governor)),
            ("Measured on", self.measured_on().into()),
            ("Engine", self.engine.clone()),
            ("Guard against clones", self.clone_guard_and_when()),
            ("Warnings of squall status", warnings),
        ]
    }

    /// Where the thread that measures ran.
    pub fn measured_on(&self) -> &'static str {
        if self.pinned {
            "one CPU"
        } else {
            "no CPU in particular"
        }
    }

    /// The guard against clones, and when a clone is noticed by it.
    pub fn clone_guard_and_when(&self) -> String {
        let when = match self.clone_guard.as_str() {
            "vmclock" | "vmgenid-page" => " (immediate signal)",
            "vmgenid" => " (late notification)",
            "no-signal" => " (no notification)",
            _ => "",
        };
        format!("{}{when}", self.clone_guard)
    }
}
