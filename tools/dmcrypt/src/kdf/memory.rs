//! How much memory Argon2 may take (`pbkdf_adjusted_phys_memory_kb` of cryptsetup).

use std::fs;

/// What the kernel says of the machine's memory, in KiB.
#[derive(Clone, Copy, Debug, Default)]
pub struct Memory {
    total: u64,
    free: u64,
    swap: u64,
}

/// Below half of this, a machine without swap counts as small.
const SMALL_KIB: u64 = 4 << 20;

/// Less free memory than this is no limit.
const LITTLE_KIB: u64 = 64 << 10;

/// The limit if the kernel does not tell.
const UNKNOWN_KIB: u64 = 1 << 20;

impl Memory {
    /// The memory of this machine; zeros if the kernel does not tell.
    pub fn of_machine() -> Memory {
        parse(&fs::read_to_string("/proc/meminfo").unwrap_or_default())
    }

    /// The most memory to use: half of it, and on a small machine without swap half of what is free.
    pub fn limit_kib(&self) -> u64 {
        if self.total == 0 {
            return UNKNOWN_KIB;
        }
        let free = self.free / 2;
        let is_short = self.total < SMALL_KIB && self.swap == 0 && free > LITTLE_KIB;
        let half = self.total / 2;
        if is_short { half.min(free) } else { half }
    }
}

/// The figures in the text of /proc/meminfo.
fn parse(text: &str) -> Memory {
    let field = |name: &str| {
        let value = text.lines().find_map(|line| line.strip_prefix(name))?;
        value.split_whitespace().next()?.parse().ok()
    };
    let figure = |name| field(name).unwrap_or(0);
    Memory {
        total: figure("MemTotal:"),
        free: figure("MemFree:"),
        swap: figure("SwapTotal:"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(total: u64, free: u64, swap: u64) -> u64 {
        let text = format!(
            "MemTotal:       {total} kB\nMemFree:         {free} kB\nMemAvailable: 9 kB\n\
             SwapTotal:       {swap} kB\n"
        );
        parse(&text).limit_kib()
    }

    #[test]
    fn half_of_the_memory_and_less_on_small_machines() {
        assert_eq!(limit(16 << 20, 1 << 20, 0), 8 << 20);
        assert_eq!(limit(2 << 20, 1 << 20, 0), 1 << 19);
        assert_eq!(limit(2 << 20, 1 << 20, 1 << 20), 1 << 20);
        assert_eq!(limit(2 << 20, 100 << 10, 0), 1 << 20, "too little to count");
        assert_eq!(parse("").limit_kib(), UNKNOWN_KIB);
    }
}
