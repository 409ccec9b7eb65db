//! What tests need to see of this thread's page.

use super::PAGE;

/// The address of this thread's page, to be dropped under it; 0 before its first request.
pub fn page_address() -> usize {
    PAGE.get().map_or(0, |page| page.address())
}
