//! What the kernel says of a specification: a table with it is loaded, and nothing else.
//!
//! The table stands on a device that refuses all transfers (target `error`), so no storage is needed,
//! and no table comes into use, so that no byte is encrypted.

use std::rc::Rc;

use rustix::io::Errno;
use squall_command::Failure;
use zeroize::Zeroizing;

use crate::crypt::{self, Key};
use crate::mapper::{Control, Mapped, Table};
use crate::report::model::Options;
use crate::spec::Spec;

/// Length of the devices, in sectors of 512 bytes.
const SECTORS: u64 = 2048;

/// Longest key that is asked about, in bytes.
const KEY_LEN: usize = 512;

const OPTIONS: Options = Options {
    sector_size: 512,
    no_workqueues: false,
};

/// Devices to ask with.
pub struct Prober {
    probe: Mapped,
    base: Mapped,
    key: Key,
}

impl Prober {
    /// Makes the devices.
    pub fn new(control: &Rc<Control>) -> Result<Prober, Failure> {
        let nothing = Table {
            target: "error",
            sectors: SECTORS,
            parameters: Zeroizing::new(String::new()),
        };
        let base = Mapped::start(control, "base", &nothing)?;
        Ok(Prober {
            probe: Mapped::create(control, "probe", &nothing)?,
            base,
            key: Key::draw(KEY_LEN),
        })
    }

    /// Whether the kernel accepts `spec`.
    pub fn accepts(&self, spec: &Spec) -> Result<bool, Failure> {
        let table = crypt::table(spec, OPTIONS, &self.key, self.base.number(), SECTORS);
        match self.probe.load(&table) {
            Ok(()) => Ok(true),
            // What has nothing to do with the specification.
            Err(error @ (Errno::NOMEM | Errno::PERM | Errno::NXIO | Errno::BUSY)) => {
                Err(Failure::Runtime(format!(
                    "{spec}: the kernel could not look at it: {}",
                    squall_command::failure::cause(&error.into())
                )))
            }
            Err(_) => Ok(false),
        }
    }
}
