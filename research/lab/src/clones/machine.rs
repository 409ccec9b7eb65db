//! The machines of the experiments: each is a kernel and the devices that tell it of a clone.

use std::fmt;
use std::str::FromStr;

use crate::debian::KernelName;
use crate::vm::Signals;

/// A kernel on a machine with certain clone notification devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Machine {
    pub kernel: KernelName,
    /// The devices that notify the kernel of a clone.
    pub signals: Signals,
}

impl Machine {
    /// Every machine of the campaign.
    pub const ALL: [Machine; 5] = [
        Machine::new(KernelName::V6_1, Signals::NONE),
        Machine::new(KernelName::V6_1, Signals::VMGENID),
        Machine::new(KernelName::V6_12, Signals::NONE),
        Machine::new(KernelName::V6_12, Signals::VMGENID),
        Machine::new(KernelName::Newest, Signals::BOTH),
    ];

    const fn new(kernel: KernelName, signals: Signals) -> Machine {
        Machine { kernel, signals }
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kernel.name())?;
        if self.signals.vmgenid {
            f.write_str("+vmgenid")?;
        }
        if self.signals.vmclock {
            f.write_str("+vmclock")?;
        }
        Ok(())
    }
}

impl FromStr for Machine {
    type Err = String;

    fn from_str(name: &str) -> Result<Machine, String> {
        let find = |machine: &Machine| machine.to_string() == name;
        Machine::ALL.into_iter().find(find).ok_or_else(|| {
            let all = Machine::ALL.map(|machine| machine.to_string());
            format!("{name:?} is not known: use one of {}", all.join(", "))
        })
    }
}
