//! When a thread's state is seeded, and under which epoch.
//!
//! The epoch of a seed contains the generation that the vDSO recorded for the bytes it gave; the rest
//! of the epoch is read before those bytes. So any later change makes the page's mark stale.

use core::sync::atomic::Ordering;

use super::generator::Generator;
use super::root::{self, Event};
use super::{FIRST_REFILL, RESEEDS, Request, request_pad};
use crate::entropy::{self, RootBytes, SEED_LEN, Seed};
use crate::error::Error;
use crate::guard::page::Page;
use crate::guard::{Epoch, clock, freshness, kvm_clock, vdso};
use squall_drbg::internal::Secret;

/// Maximum age of a seed where the kernel's generation cannot be seen, in seconds: the interval of the kernel's own reseeds (CRNG_RESEED_INTERVAL, drivers/char/random.c).
const MAX_SEED_AGE: u64 = 60;

/// The first second since boot; 0 stands for no seeding.
const LONG_AGO: u64 = 1;

/// Attempts in which the watched address shows another generation than the seed has, before squall looks
/// for another address: the kernel may have reseeded in between, but not so often.
const ATTEMPTS_BEFORE_NEW_ADDRESS: usize = 4;

impl Request<'_> {
    /// Seeds the page's generator and marks it with the epoch of the seed.
    pub(super) fn seed(&self, page: Page) -> Result<(), Error> {
        let epoch_before = self.policy.epoch_without_kernel();
        let event = self.seeding_event(page, epoch_before);
        page.wipe_if_inherited(epoch_before);
        page.begin_seeding(epoch_before);
        let mut bytes = Secret::zeroed();
        let generation = self.kernel_bytes(page, &mut bytes)?;
        let seed_epoch = Epoch {
            kernel: generation,
            ..epoch_before
        };
        let mut root = RootBytes::zeroed();
        root::draw(event, seed_epoch, &self.policy, &mut root);
        let mut seed = Seed::zeroed();
        entropy::seed(&bytes, &root, &mut seed);
        page.set_generation(generation);
        Generator::in_page(page, self.engine(0), |generator| {
            generator.reseed(&seed);
            if request_pad::is_available() {
                request_pad::prepare(page, generator);
            }
        });
        if event == Event::Clone && kvm_clock::is_relied_on() {
            kvm_clock::note_change(epoch_before.vm, clock::seconds());
        }
        self.state.refill.set(FIRST_REFILL);
        self.state.seeded_at.set(self.seeding_time());
        RESEEDS.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// The event that is the reason for a seeding.
    fn seeding_event(&self, page: Page, epoch_before: Epoch) -> Event {
        match (page.is_empty(), self.state.seeded_at.get()) {
            (true, 0) => Event::ThreadStart,
            (true, _) => Event::Emptied,
            _ if page.vm() != 0 && page.vm() != epoch_before.vm => Event::Clone,
            _ => Event::Reseed,
        }
    }

    /// Bytes of the kernel's RNG, and the generation they belong to.
    fn kernel_bytes(&self, page: Page, bytes: &mut [u8; SEED_LEN]) -> Result<u64, Error> {
        for attempt in 1.. {
            let before = freshness::mapped_generation();
            let served = self.policy.vdso.and_then(|vdso| {
                page.getrandom(vdso, &mut bytes[..])
                    .map(|generation| (vdso, generation))
            });
            let Some((vdso, generation)) = served else {
                entropy::kernel::fill(&mut bytes[..])?;
                return Ok(match before {
                    0 => Epoch::NO_GENERATION,
                    generation => generation,
                });
            };
            if vdso::confirm_address(vdso, generation) || attempt > ATTEMPTS_BEFORE_NEW_ADDRESS {
                return Ok(generation);
            }
            if attempt == ATTEMPTS_BEFORE_NEW_ADDRESS {
                vdso::find_address(vdso, generation);
            }
        }
        unreachable!("the loop only ends by returning")
    }

    /// The second of this seeding. Where the kernel's generation is seen it is not needed, and reading the
    /// clock takes page faults; should the generation be seen no longer, [`LONG_AGO`] makes the seed old.
    fn seeding_time(&self) -> u64 {
        if self.policy.can_see_generation() {
            LONG_AGO
        } else {
            clock::seconds()
        }
    }

    /// Whether the seed is older than the kernel's own would be.
    pub(super) fn is_seed_old(&self) -> bool {
        is_old(self.state.seeded_at.get(), clock::seconds())
    }
}

fn is_old(seeded_at: u64, now: u64) -> bool {
    now.abs_diff(seeded_at) > MAX_SEED_AGE
}

#[cfg(test)]
mod tests {
    use super::is_old;

    #[test]
    fn a_seed_is_old_beyond_a_minute() {
        for (seeded_at, now, expected) in [
            (100, 100, false),
            (100, 160, false),
            (100, 161, true),
            (0, 1000, true),
            // If the clock went back, the age is unknown.
            (161, 100, true),
        ] {
            assert_eq!(is_old(seeded_at, now), expected, "{seeded_at}, {now}");
        }
    }
}
