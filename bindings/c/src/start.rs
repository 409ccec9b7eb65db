//! Initialises the library when it is loaded: starts the counters if they are wanted, and prepares
//! threads, so that no draw has to.
//!
//! In the static library, incremental builds may put the initialiser into an archive member of its
//! own, and a linker takes only members that something refers to. So each module whose functions draw
//! refers to the initialiser.

use squall_binding_base::counters;

/// Called by the loader before the program's own constructors (System V ABI, "Initialization and
/// Termination Functions"), also in programs that are linked with the static library.
#[used]
#[unsafe(link_section = ".init_array")]
pub(crate) static INITIALISER: Initialiser = initialise;

/// The type of functions in that section.
pub(crate) type Initialiser = extern "C" fn();

extern "C" fn initialise() {
    counters::attach();
    squall::hazmat::prepare_threads();
}
