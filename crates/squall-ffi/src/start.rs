//! What happens when the library is loaded: it begins to count, if it is asked to.

use squall_doors::counters;

/// Called by the loader before the program's own constructors (System V ABI, "Initialization and
/// Termination Functions"), and by that of a program that has the library in it.
#[used]
#[unsafe(link_section = ".init_array")]
static ATTACH: extern "C" fn() = attach;

extern "C" fn attach() {
    counters::attach();
}
