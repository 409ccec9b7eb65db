//! Asks the kernel whether it accepts a specification, by loading a table with it.
//!
//! The table stands on a device that refuses all transfers (target `error`), so no storage is needed.
//! It never comes into use, so no byte is encrypted.

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

/// The devices that questions are asked with.
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

    /// Whether the kernel accepts `spec`; the inner error if it said neither yes nor no.
    pub fn accepts(&self, spec: &Spec) -> Result<Result<bool, Errno>, Failure> {
        let table = crypt::table(spec, Options::PLAIN, &self.key, self.base.number(), SECTORS);
        match self.probe.load(&table) {
            Ok(()) => Ok(Ok(true)),
            // NOKEY: the digest needs a key of its own, which ESSIV does not give it.
            Err(Errno::INVAL | Errno::NOENT | Errno::LIBBAD | Errno::NOKEY) => Ok(Ok(false)),
            // These errors have nothing to do with the specification.
            Err(error @ (Errno::NOMEM | Errno::PERM | Errno::NXIO | Errno::BUSY)) => {
                Err(Failure::Runtime(unclear(spec, error)))
            }
            Err(error) => Ok(Err(error)),
        }
    }
}

/// The message for an answer that is neither yes nor no.
pub fn unclear(spec: &Spec, error: Errno) -> String {
    format!(
        "{spec}: the kernel could not check it: {}",
        cause(&error.into())
    )
}
