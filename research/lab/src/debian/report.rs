//! Lists what is in the cache, as text.

use std::fmt::Write;

use squall_tools::Failure;

use super::item::{self, Item};
use super::{Cache, KernelName};

const MIB: u64 = 1 << 20;

/// One line for QEMU, the tools, nginx, the compilers, and each of `kernels` and their headers.
pub fn of(cache: &Cache, kernels: &[KernelName]) -> Result<String, Failure> {
    let mut text = String::new();
    for item in item::of(kernels) {
        // Writing to a String does not fail.
        let _ = writeln!(text, "{}", line(cache, item)?);
    }
    Ok(text)
}

fn line(cache: &Cache, item: Item) -> Result<String, Failure> {
    let record = cache.record(item)?;
    Ok(format!(
        "{:<14}  {:<22}  {}  {} MiB",
        item.to_string(),
        record.version,
        cache.place(item).display(),
        record.bytes.div_ceil(MIB)
    ))
}
