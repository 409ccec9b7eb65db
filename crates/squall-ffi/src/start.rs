//! What happens when the library is loaded: it begins to count, if it is asked to, and makes what no
//! draw should have to.

use squall_doors::counters;

/// Called by the loader before the program's own constructors (System V ABI, "Initialization and
/// Termination Functions"), and by that of a program that has the library in it.
#[used]
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = start;

extern "C" fn start() {
    counters::attach();
    squall::hazmat::prepare_threads();
}
