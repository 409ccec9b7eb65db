//! The facts, as `--json` gives them. Keys are stable: new ones may be added, none removed.

use serde::Serialize;
use squall::Status;
use squall_bindings::facts::Facts;
use squall_tools::Failure;

use super::machine;
use super::warnings::{self, View, Warning};

/// Everything that is known about this machine and the generator on it.
#[derive(Serialize)]
pub struct Report {
    /// What protects this process, and what its generator did.
    #[serde(flatten)]
    pub facts: Facts,
    pub kernel_release: String,
    pub cpu_model: Option<String>,
    /// The hypervisor's name; `none` if there is none.
    pub hypervisor: Option<String>,
    /// What is missing, and what to do about it.
    pub warnings: Vec<Warning>,
    /// What is good to know though nothing is missing.
    pub notes: Vec<Warning>,
    /// The enums that the names above were made of.
    #[serde(skip)]
    pub status: Status,
}

impl Report {
    pub fn now() -> Result<Report, Failure> {
        // `squall::status` would abort without a source of randomness.
        squall::try_fill(&mut [0]).map_err(|error| Failure::Runtime(error.to_string()))?;
        let status = squall::status();
        let kernel_release = machine::kernel_release();
        let view = View {
            vmclock_is_forbidden: machine::vmclock_is_forbidden(),
            has_sysfs: machine::has_sysfs(),
        };
        let warnings = warnings::of(&status, &kernel_release, view);
        let hypervisor = if status.is_vm {
            squall_tools::measure::machine::hypervisor()
        } else {
            Some("none".to_owned())
        };
        Ok(Report {
            facts: Facts::from(&status),
            kernel_release,
            cpu_model: machine::cpu_model(),
            hypervisor,
            warnings,
            notes: warnings::notes(&status, view),
            status,
        })
    }
}
