//! The facts that `--json` prints. Keys are stable: new ones may be added, none are removed.

use serde::Serialize;
use squall_bindings::facts::Facts;
use squall_tools::Failure;

use super::machine;
use super::warnings::{self, DeviceVisibility, Warning};

/// Everything that is known about this machine and the generator on it.
#[derive(Serialize)]
pub struct Report {
    /// The protections of this process, and the work of its generator.
    #[serde(flatten)]
    pub facts: Facts,
    pub kernel_release: String,
    pub cpu_model: Option<String>,
    /// The hypervisor's name; the text `none` if there is none, `None` if its name is unknown.
    pub hypervisor: Option<String>,
    /// The missing protections, with advice.
    pub warnings: Vec<Warning>,
    /// Things worth knowing where no protection is missing.
    pub notes: Vec<Warning>,
}

impl Report {
    pub fn now() -> Result<Report, Failure> {
        // `squall::status` would abort without a source of randomness.
        squall::try_fill(&mut [0]).map_err(|error| Failure::Runtime(error.to_string()))?;
        let status = squall::status();
        let kernel_release = machine::kernel_release();
        let visibility = DeviceVisibility {
            unreadable_signal: machine::unreadable_signal(),
            has_sysfs: machine::has_sysfs(),
        };
        let warnings = warnings::warnings_for(&status, &kernel_release, visibility);
        let hypervisor = if status.is_vm {
            squall_tools::measure::machine::hypervisor()
        } else {
            Some("none".to_owned())
        };
        Ok(Report {
            kernel_release,
            cpu_model: machine::cpu_model(),
            hypervisor,
            warnings,
            notes: warnings::notes(&status, visibility),
            facts: Facts::from(status),
        })
    }
}
