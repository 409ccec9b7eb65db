//! What happens when the library is loaded: it begins to count, if it is asked to, and makes what no
//! draw should have to.
//!
//! In the static library the initialiser may stand in an archive member of its own, as it does in
//! incremental builds, and a linker takes only members that something refers to. So each module
//! whose functions draw refers to it.

use squall_bindings::counters;

/// Called by the loader before the program's own constructors (System V ABI, "Initialization and
/// Termination Functions"), and by that of a program that has the library in it.
#[used]
#[unsafe(link_section = ".init_array")]
pub(crate) static START: Start = start;

/// What the section lists.
pub(crate) type Start = extern "C" fn();

extern "C" fn start() {
    counters::attach();
    squall::hazmat::prepare_threads();
}
