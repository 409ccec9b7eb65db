//! The status of `squall::status` with names for programs. Keys are stable: new ones may be added,
//! none are removed.

use serde::Serialize;
use squall::{Engine, Status};

/// The protections of this process and the work of its generator.
#[derive(Clone, Debug, Serialize)]
pub struct Facts {
    /// Version of squall.
    pub version: &'static str,
    /// The engine in use.
    pub engine: &'static str,
    /// The engines that this CPU can run, most preferred first.
    pub engines_available: Vec<&'static str>,
    /// `droppable`, `wipe-on-fork`, `plain` or `none`.
    pub memory: String,
    /// `wiped`, `process-id` or `no-state`.
    pub fork_guard: String,
    /// `not-a-vm`, `vmclock`, `vmgenid-page`, `vmgenid` or `no-signal`.
    pub clone_guard: String,
    /// `mapped-generation`, `vdso-probe` or `time`.
    pub reseed_guard: String,
    /// Whether a hypervisor announces itself, or there is a vmgenid or a vmclock.
    pub is_vm: bool,
    /// Whether a vmgenid device tells the kernel of clones.
    pub has_vmgenid: bool,
    /// Whether /dev/vmclock0 is a vmclock, readable, and used.
    pub has_vmclock: bool,
    /// Whether squall's kernel module shows vmgenid's page, and it is used.
    pub has_vmgenid_page: bool,
    /// Whether the cycle counter shows when this VM was stopped, so that quick requests need no pad.
    pub counter_shows_stops: bool,
    /// Whether the kernel has getrandom in the vDSO.
    pub has_vdso_getrandom: bool,
    /// The CPU's random instruction: `works`, `absent` or `failed`.
    pub cpu_random: String,
    /// The cycle counter: `works`, `failed`, or `absent` if it is switched off.
    pub cycle_counter: String,
    /// The generation of the kernel's RNG; `None` if it cannot be read.
    pub kernel_generation: Option<u64>,
    /// How often generators in this process were seeded.
    pub reseeds: u64,
    /// How often the root accumulator was bootstrapped in this process.
    pub bootstraps: u64,
    /// How many bytes this process discarded because they had become stale.
    pub bytes_discarded: u64,
}

impl From<&Status> for Facts {
    fn from(status: &Status) -> Facts {
        Facts {
            version: env!("CARGO_PKG_VERSION"),
            engine: status.engine.name(),
            engines_available: Engine::available().map(Engine::name).collect(),
            memory: status.memory.to_string(),
            fork_guard: status.fork_guard.to_string(),
            clone_guard: status.clone_guard.to_string(),
            reseed_guard: status.reseed_guard.to_string(),
            is_vm: status.is_vm,
            has_vmgenid: status.has_vmgenid,
            has_vmclock: status.has_vmclock,
            has_vmgenid_page: status.has_vmgenid_page,
            counter_shows_stops: status.counter_shows_stops,
            has_vdso_getrandom: status.has_vdso_getrandom,
            cpu_random: status.cpu_random.to_string(),
            cycle_counter: status.cycle_counter.to_string(),
            kernel_generation: status.kernel_generation,
            reseeds: status.reseeds,
            bootstraps: status.bootstraps,
            bytes_discarded: status.bytes_discarded,
        }
    }
}
