//! Arguments of `squall-lab deps`.

use std::path::PathBuf;

use clap::Args;

use super::KernelName;

/// Options of `squall-lab deps`.
#[derive(Debug, Args)]
pub struct DepsArguments {
    /// Directory of the cache
    #[arg(long, value_name = "DIR")]
    pub cache: Option<PathBuf>,

    /// Fetch only these kernels and what runs them: 6.1, 6.12 or newest with their headers, QEMU, the
    /// compilers and the programs; 6.12-arm64, 6.12-arm64-16k, newest-arm64 or newest-arm64-16k with QEMU
    /// for arm64
    #[arg(long, value_name = "KERNEL", num_args = 1..)]
    pub only: Vec<KernelName>,

    /// Also fetch newer versions, and replace what is damaged
    #[arg(long)]
    pub update: bool,
}
