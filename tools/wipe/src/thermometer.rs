//! Asks a drive for its temperature in the background: one that hangs may not answer, and nobody waits for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;

use squall_drives::Target;

/// A drive's temperature.
#[derive(Debug)]
pub struct Thermometer {
    target: Target,
    is_asking: AtomicBool,
    /// The bits of the last answer, in degrees Celsius; NaN for none.
    celsius: AtomicU64,
}

impl Thermometer {
    pub fn of(target: &Target) -> Arc<Thermometer> {
        Arc::new(Thermometer {
            target: target.clone(),
            is_asking: AtomicBool::new(false),
            celsius: AtomicU64::new(f64::NAN.to_bits()),
        })
    }

    /// The last answer. Asks again, unless the drive still owes an answer: then there is none.
    pub fn read(self: &Arc<Thermometer>) -> Option<f64> {
        if self.is_asking.swap(true, Relaxed) {
            return None;
        }
        let last = f64::from_bits(self.celsius.load(Relaxed));
        let asked = self.clone();
        let ask = move || {
            let celsius = asked.target.temperature().unwrap_or(f64::NAN);
            asked.celsius.store(celsius.to_bits(), Relaxed);
            asked.is_asking.store(false, Relaxed);
        };
        // Without a thread there is no temperature.
        let _ = thread::Builder::new().name("temperature".into()).spawn(ask);
        Some(last).filter(|celsius| !celsius.is_nan())
    }
}
