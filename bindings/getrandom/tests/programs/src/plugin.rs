//! A shared library with squall-getrandom in it.

/// Draws 16 bytes, and returns whether squall-getrandom says that it is reached.
#[unsafe(no_mangle)]
extern "C" fn is_reached() -> bool {
    getrandom::fill(&mut [0; 16]).expect("there is a source of randomness");
    squall_getrandom::is_active()
}
