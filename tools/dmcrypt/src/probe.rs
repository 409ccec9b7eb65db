//! What the kernel says of a specification: a table with it is loaded, and nothing else.
//!
//! The table stands on a device that refuses all transfers (target `error`), so no storage is needed,
//! and no table comes into use, so that no byte is encrypted.

use std::rc::Rc;

use rustix::io::Errno;
use squall_tools::Failure;
use squall_tools::failure::cause;

use crate::crypt::{self, Key};
use crate::mapper::{Control, Mapped, Table};
use crate::model::Options;
use crate::spec::{MOST_KEY_BITS, Spec};

/// Length of the devices, in sectors of 512 bytes.
const SECTORS: u64 = 2048;

/// Devices to ask with.
pub struct Prober {
    probe: Mapped,
    base: Mapped,
    key: Key,
}

impl Prober {
    /// Makes the devices.
    pub fn new(control: &Rc<Control>) -> Result<Prober, Failure> {
        let nothing = Table::refusing(SECTORS);
        let base = Mapped::start(control, "base", &nothing)?;
        Ok(Prober {
            probe: Mapped::create(control, "probe", &nothing)?,
            base,
            key: Key::draw(MOST_KEY_BITS as usize / 8),
        })
    }

    /// Whether the kernel accepts `spec`; an error if it said neither yes nor no.
    pub fn accepts(&self, spec: &Spec) -> Result<Result<bool, Errno>, Failure> {
        let table = crypt::table(spec, Options::PLAIN, &self.key, self.base.number(), SECTORS);
        match self.probe.load(&table) {
            Ok(()) => Ok(Ok(true)),
            // A digest that needs a key of its own has none (NOKEY).
            Err(Errno::INVAL | Errno::NOENT | Errno::LIBBAD | Errno::NOKEY) => Ok(Ok(false)),
            // What has nothing to do with the specification.
            Err(error @ (Errno::NOMEM | Errno::PERM | Errno::NXIO | Errno::BUSY)) => {
                Err(Failure::Runtime(unclear(spec, error)))
            }
            Err(error) => Ok(Err(error)),
        }
    }
}

/// Tells that the kernel said neither yes nor no.
pub fn unclear(spec: &Spec, error: Errno) -> String {
    format!(
        "{spec}: the kernel could not look at it: {}",
        cause(&error.into())
    )
}
