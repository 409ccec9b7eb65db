//! The machine that wipes, by what its firmware says (DMI).

use std::fs;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A machine. What the firmware does not say, or only root may read, is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Machine {
    /// Its maker.
    pub vendor: Option<String>,
    /// Its model.
    pub product: Option<String>,
    /// Its serial number.
    pub serial: Option<String>,
}

/// What firmware says that was never filled in, in lower case.
const FILLERS: [&str; 10] = [
    "none",
    "default string",
    "not specified",
    "not applicable",
    "to be filled by o.e.m.",
    "system manufacturer",
    "system product name",
    "system serial number",
    "0",
    "0123456789",
];

impl Machine {
    /// This machine; `None` if nothing is known of it.
    pub fn this() -> Option<Machine> {
        Machine::from_directory(Path::new("/sys/class/dmi/id"))
    }

    fn from_directory(directory: &Path) -> Option<Machine> {
        let text = |name: &str| {
            let text = fs::read_to_string(directory.join(name)).ok()?;
            let text = text.trim();
            let is_filler = text.is_empty() || FILLERS.contains(&text.to_lowercase().as_str());
            (!is_filler).then(|| text.to_owned())
        };
        let machine = Machine {
            vendor: text("sys_vendor"),
            product: text("product_name"),
            serial: text("product_serial"),
        };
        (machine != Machine::default()).then_some(machine)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_never_filled_in_is_not_known() {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(directory.path().join(name), text).unwrap();
        assert_eq!(Machine::from_directory(directory.path()), None);
        write("sys_vendor", "LENOVO\n");
        write("product_serial", "To Be Filled By O.E.M.\n");
        let machine = Machine {
            vendor: Some("LENOVO".into()),
            ..Machine::default()
        };
        assert_eq!(Machine::from_directory(directory.path()), Some(machine));
        write("sys_vendor", " \n");
        assert_eq!(Machine::from_directory(directory.path()), None);
    }
}
