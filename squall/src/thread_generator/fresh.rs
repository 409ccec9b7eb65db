//! Requests served from a new seed, with new bytes from the kernel's RNG.
//!
//! They use no state of the thread and leave none: a generator is seeded by a system call,
//! serves, and is wiped. State that leaked before, or leaks later, does not reveal what they
//! returned. For the same reason they serve requests that have no page to draw from: in a signal
//! handler in the middle of a draw, or in a thread that is ending.

use super::generator::Generator;
use super::{ATTEMPTS, wiping_stack_and_registers};
use crate::entropy::{self, RootBytes, SEED_LEN, Seed};
use crate::error::Error;
use crate::guard::policy::Policy;
use crate::guard::{Epoch, fork, freshness, kvm_clock};
use squall_drbg::internal::Secret;
use squall_drbg::{MAX_REQUEST, Stores};

/// Fills `out`, each 64 KiB of it from a new seed.
pub(crate) fn fill_fresh(out: &mut [u8]) -> Result<(), Error> {
    wiping_stack_and_registers(|has_seeded| {
        *has_seeded = true;
        fill(out)
    })
}

/// Same as [`fill_fresh`], for callers that wipe the stack and the registers themselves.
pub(super) fn fill(out: &mut [u8]) -> Result<(), Error> {
    for attempt in 1.. {
        let before = epoch();
        generate(out)?;
        let after = epoch();
        if may_be_served(before, after, attempt) {
            break;
        }
        if after.vm != before.vm && attempt >= ATTEMPTS {
            // Records that change so often show no clones.
            kvm_clock::give_up();
        }
    }
    Ok(())
}

/// Whether output generated between these epochs, in this attempt, may be served. A fork or a clone
/// in between left both sides with the same bytes. Reseeds look like clones: if they never pause,
/// they delay a request by a limited number of attempts.
fn may_be_served(before: Epoch, after: Epoch, attempt: usize) -> bool {
    let only_reseeded = Epoch {
        kernel: after.kernel,
        ..before
    } == after;
    after == before || (only_reseeded && attempt >= ATTEMPTS)
}

fn generate(out: &mut [u8]) -> Result<(), Error> {
    let stores = Stores::for_len(out.len());
    for part in out.chunks_mut(MAX_REQUEST) {
        let mut bytes = Secret::<SEED_LEN>::zeroed();
        entropy::kernel::fill(&mut bytes[..])?;
        let mut root = RootBytes::zeroed();
        entropy::stateless_root_bytes(&mut root);
        let mut seed = Seed::zeroed();
        entropy::seed(&bytes, &root, &mut seed);
        Generator::with_seed(&seed, |generator| {
            generator.generate(part, &entropy::additional_input::<3>(), stores);
        });
    }
    Ok(())
}

/// Changes when this process is forked or its VM is cloned.
fn epoch() -> Epoch {
    Epoch {
        kernel: freshness::mapped_generation(),
        process: fork::process(),
        ..Policy::get().epoch_without_kernel()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_epoch_has_the_process_and_the_generation() {
        crate::fill(&mut [0]);
        let (before, now, after) = (
            freshness::mapped_generation(),
            epoch(),
            freshness::mapped_generation(),
        );
        assert_eq!(now.process, fork::process());
        // The kernel may reseed meanwhile, but not each time.
        assert!(before != after || now.kernel == before);
    }

    #[test]
    fn output_across_reseeds_is_served_at_last_and_across_clones_never() {
        let before = Epoch {
            kernel: 1,
            vm: 2,
            process: 3,
        };
        let reseeded = Epoch {
            kernel: 4,
            ..before
        };
        let cloned = Epoch { vm: 5, ..reseeded };
        let forked = Epoch {
            process: 6,
            ..reseeded
        };
        for (after, early, at_last) in [
            (before, true, true),
            (reseeded, false, true),
            (cloned, false, false),
            (forked, false, false),
        ] {
            assert_eq!(
                may_be_served(before, after, ATTEMPTS - 1),
                early,
                "{after:?}"
            );
            assert_eq!(may_be_served(before, after, ATTEMPTS), at_last, "{after:?}");
        }
    }
}
