//! Asks the kernel whether it accepts a specification, by loading a table with it.
//!
//! The table stands on a device that refuses all transfers (target `error`), so no storage is needed. It
//! never comes into use, so no byte is encrypted. Authenticated ones need a device of dm-integrity below,
//! which stands on zeros (target `zero`, which forgets what is written).

use std::collections::BTreeMap;
use std::rc::Rc;

use rustix::io::Errno;
use squall_drives::Number;
use squall_tool_base::Failure;
use squall_tool_base::failure::cause;

use crate::crypt::{self, Key};
use crate::integrity::{self, Layout};
use crate::mapper::{Control, Mapped, Table};
use crate::model::Options;
use crate::spec::{MOST_KEY_BITS, Spec};

/// Length of the devices, in sectors of 512 bytes.
const SECTORS: u64 = 2048;

/// Length of zeros that dm-integrity has place in for [`SECTORS`] with any metadata.
const ZEROS: u64 = 32_768;

/// The longest key in bytes, with that of an HMAC.
const KEY_LEN: usize = MOST_KEY_BITS as usize / 8 + 64;

/// The target that reads as zeros.
const ZERO: &str = "zero";

/// The devices that questions are asked with.
pub struct Prober {
    probe: Mapped,
    /// Devices of dm-integrity by the bytes of metadata that they keep for each sector.
    tagged: BTreeMap<usize, Tagged>,
    base: Mapped,
    key: Key,
    control: Rc<Control>,
    /// Questions that the kernel answered with neither yes nor no.
    pub unclear: Vec<String>,
}

/// A device of dm-integrity over zeros.
struct Tagged {
    device: Mapped,
    /// Removed after what stands on it.
    _zeros: Mapped,
}

impl Tagged {
    fn make(control: &Rc<Control>, metadata_len: usize) -> Result<Tagged, Failure> {
        let zeros = Table::new(ZERO, ZEROS, String::new());
        let zeros = Mapped::start(control, &format!("zeros-{metadata_len}"), &zeros)?;
        let layout = Layout {
            below: zeros.number(),
            metadata_len,
            sector_size: 512,
            journal: false,
        };
        let label = format!("tags-{metadata_len}");
        Ok(Tagged {
            device: Mapped::start(control, &label, &layout.table(SECTORS))?,
            _zeros: zeros,
        })
    }
}

impl Prober {
    /// Makes the devices.
    pub fn new(control: &Rc<Control>) -> Result<Prober, Failure> {
        let nothing = Table::refusing(SECTORS);
        let base = Mapped::start(control, "base", &nothing)?;
        Ok(Prober {
            probe: Mapped::create(control, "probe", &nothing)?,
            tagged: BTreeMap::new(),
            base,
            key: Key::draw(KEY_LEN),
            control: control.clone(),
            unclear: Vec::new(),
        })
    }

    /// Whether the kernel has what questions about authenticated specifications take.
    pub fn has_integrity(&self) -> bool {
        let mut targets = [integrity::TARGET, ZERO].into_iter();
        targets.all(|target| self.control.has(target).is_ok())
    }

    /// Whether the kernel accepts `spec`.
    pub fn accepts(&mut self, spec: &Spec) -> Result<bool, Failure> {
        let below = self.below(spec)?;
        let table = crypt::table(spec, Options::PLAIN, &self.key, below, SECTORS);
        match self.probe.load(&table) {
            Ok(()) => Ok(true),
            // NOKEY: the digest needs a key of its own, which ESSIV does not give it.
            Err(Errno::INVAL | Errno::NOENT | Errno::LIBBAD | Errno::NOKEY) => Ok(false),
            // These errors have nothing to do with the specification.
            Err(error @ (Errno::NOMEM | Errno::PERM | Errno::NXIO | Errno::BUSY)) => {
                Err(Failure::Runtime(unclear(spec, error)))
            }
            Err(error) => {
                self.unclear.push(unclear(spec, error));
                Ok(false)
            }
        }
    }

    /// The device that a table of `spec` stands on.
    fn below(&mut self, spec: &Spec) -> Result<Number, Failure> {
        let metadata_len = spec.metadata_len();
        if metadata_len == 0 {
            return Ok(self.base.number());
        }
        if !self.tagged.contains_key(&metadata_len) {
            let tagged = Tagged::make(&self.control, metadata_len)?;
            self.tagged.insert(metadata_len, tagged);
        }
        Ok(self.tagged[&metadata_len].device.number())
    }
}

/// The message for an answer that is neither yes nor no.
fn unclear(spec: &Spec, error: Errno) -> String {
    format!(
        "{spec}: the kernel could not check it: {}",
        cause(&error.into())
    )
}
