//! What `squall-lab deps` takes.

use std::path::PathBuf;

use clap::Args;

use super::KernelName;

/// What to fetch, and where to.
#[derive(Debug, Args)]
pub struct DepsArguments {
    /// The cache's directory
    #[arg(long, value_name = "DIR")]
    pub cache: Option<PathBuf>,

    /// Only these kernels, QEMU and the programs: 6.1, 6.12 or newest
    #[arg(long, value_name = "KERNEL", num_args = 1..)]
    pub only: Vec<KernelName>,

    /// Also fetch what there is a newer version of, and what is damaged
    #[arg(long)]
    pub update: bool,
}
