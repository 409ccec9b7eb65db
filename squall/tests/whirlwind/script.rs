//! A machine that is known in every detail: its cycle counter runs by a rule, the rest is
//! constant.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use squall::entropy::{HARDWARE_LEN, Machine};

/// Clones share one counter; [`ScriptedMachine::copy`] makes an independent one.
#[derive(Clone, Default)]
pub struct ScriptedMachine(Arc<AtomicU64>);

impl ScriptedMachine {
    /// A machine that goes on from here as this one does.
    pub fn copy(&self) -> ScriptedMachine {
        ScriptedMachine(Arc::new(AtomicU64::new(self.0.load(Ordering::Relaxed))))
    }
}

impl Machine for ScriptedMachine {
    /// Steps of a linear congruential generator (Knuth's MMIX).
    fn cycles(&self) -> u64 {
        let next = |count: u64| {
            count
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407)
        };
        let counted = self
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |count| {
                Some(next(count))
            });
        next(counted.unwrap()) >> 1
    }

    fn process(&self) -> u32 {
        4711
    }

    fn cpu(&self) -> u32 {
        3
    }

    fn random(&self, out: &mut [u8; HARDWARE_LEN]) {
        out.fill(0xa5);
    }
}
