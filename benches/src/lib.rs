//! What the benchmarks of squall share: the peers, and the start of a process that draws its
//! first bytes.
//!
//! Not published. Peers are measured in the same process as squall, on the same buffers. What a
//! machine does not have is announced by a line that begins with `SKIP` and left out.

pub mod bench;
pub mod peers;
pub mod startup;
