//! When a thread's state is seeded, and under which epoch.
//!
//! The epoch of a seed is the one the vDSO recorded for the bytes it gave, and everything else
//! in it is read before the bytes are. Whatever changes later makes the mark stale.

use core::sync::atomic::Ordering;

use super::generator::Generator;
use super::{FIRST_REFILL, RESEEDS, Request};
use crate::Error;
use crate::entropy::{self, SEED_LEN};
use crate::guard::memory::{self, MemoryKind};
use crate::guard::page::Page;
use crate::guard::{Epoch, clock, vdso, vmclock};
use crate::secret::Secret;

/// Oldest seed a request may be served from where the kernel's generation cannot be seen, in
/// seconds: the interval of the kernel's own reseeds (CRNG_RESEED_INTERVAL, drivers/char/random.c).
const MAX_SEED_AGE: u64 = 60;

/// Seedings under a place that shows another generation before the place counts as wrong: the
/// kernel may have reseeded in between, but not so often.
const PATIENCE: usize = 4;

impl Request<'_> {
    /// Seeds the page's generator and marks it with the epoch of the seed.
    pub(super) fn seed(&self, page: Page) -> Result<(), Error> {
        let (epoch, bytes) = self.kernel_bytes(page)?;
        let seed = entropy::seed(&bytes);
        if memory::kind() != MemoryKind::Droppable {
            page.lock();
        }
        let mut generator = Generator::load(page);
        page.mark(epoch);
        generator.reseed(&seed);
        generator.store(page);
        vmclock::note(epoch.vm, epoch.kernel);
        self.local.refill.set(FIRST_REFILL);
        self.local.seeded_at.set(clock::seconds());
        RESEEDS.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Bytes of the kernel's RNG and the epoch they belong to.
    fn kernel_bytes(&self, page: Page) -> Result<(Epoch, Secret<SEED_LEN>), Error> {
        let mut bytes = Secret::zeroed();
        for attempt in 1.. {
            let around = self.policy.epoch_without_kernel();
            let before = vdso::mapped_generation();
            let Some((vdso, generation)) = self.policy.vdso.and_then(|vdso| {
                page.getrandom(vdso, &mut bytes[..])
                    .map(|generation| (vdso, generation))
            }) else {
                entropy::kernel::fill(&mut bytes[..])?;
                let kernel = if before == 0 {
                    Epoch::NO_GENERATION
                } else {
                    before
                };
                return Ok((Epoch { kernel, ..around }, bytes));
            };
            if vdso::validate(vdso, generation) || attempt > PATIENCE {
                return Ok((
                    Epoch {
                        kernel: generation,
                        ..around
                    },
                    bytes,
                ));
            }
            if attempt == PATIENCE {
                vdso::relocate(vdso, generation);
            }
        }
        unreachable!("the loop above ends by returning")
    }

    /// Whether the seed is older than the kernel's own would be.
    pub(super) fn seed_is_old(&self) -> bool {
        clock::seconds().abs_diff(self.local.seeded_at.get()) > MAX_SEED_AGE
    }
}
