//! The fields of a vmclock device's page that squall reads (Linux, include/uapi/linux/vmclock-abi.h).

/// The magic number at the beginning of the page.
pub const MAGIC: u32 = 0x4b4c_4356;
/// Offset of the magic number (32 bits), in bytes.
pub const MAGIC_AT: usize = 0;
/// Offset of the page's length in bytes (32 bits).
pub const SIZE_AT: usize = 4;
/// Offset of the version (16 bits), which is 1.
pub const VERSION_AT: usize = 8;
/// Offset of the disruption marker (64 bits).
pub const MARKER_AT: usize = 16;
/// Offset of the flags (64 bits).
pub const FLAGS_AT: usize = 24;
/// Offset of the VM generation counter (64 bits).
pub const GENERATION_AT: usize = 104;

/// Bit of `flags` that is set if there is a generation counter.
pub const HAS_GENERATION: u64 = 1 << 8;

/// Offset of the count in a page: of the generation counter, or else of the disruption marker;
/// `None` if the page is not a vmclock's. `word` returns the 64 bits at a multiple of 8 bytes.
pub fn count_at(word: impl Fn(usize) -> u64) -> Option<usize> {
    const { assert!(SIZE_AT == MAGIC_AT + 4) };
    let (magic, size) = (word(MAGIC_AT) as u32, (word(MAGIC_AT) >> 32) as usize);
    let has = |at: usize| size >= at + size_of::<u64>();
    if magic != MAGIC || word(VERSION_AT) as u16 != 1 || !has(MARKER_AT) {
        return None;
    }
    if word(FLAGS_AT) & HAS_GENERATION != 0 && has(GENERATION_AT) {
        Some(GENERATION_AT)
    } else {
        Some(MARKER_AT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORD: usize = size_of::<u64>();
    const HEAD_LEN: usize = GENERATION_AT + WORD;

    #[test]
    fn a_count_is_within_the_page_that_the_device_says_it_has() {
        let count_of = |magic: u32, size: usize, version: u64, flags| {
            let mut page = [0u64; HEAD_LEN / WORD];
            page[MAGIC_AT / WORD] = u64::from(magic) | (size as u64) << 32;
            page[VERSION_AT / WORD] = version;
            page[FLAGS_AT / WORD] = flags;
            count_at(|at| page[at / WORD])
        };
        let generation = Some(GENERATION_AT);
        assert_eq!(count_of(MAGIC, 4096, 1, HAS_GENERATION), generation);
        assert_eq!(count_of(MAGIC, HEAD_LEN, 1, HAS_GENERATION), generation);
        let marker = Some(MARKER_AT);
        assert_eq!(count_of(MAGIC, HEAD_LEN - 1, 1, HAS_GENERATION), marker);
        assert_eq!(count_of(MAGIC, 4096, 1, 0), marker);
        assert_eq!(count_of(MAGIC, MARKER_AT + WORD - 1, 1, 0), None);
        assert_eq!(count_of(MAGIC, 4096, 2, 0), None);
        assert_eq!(count_of(MAGIC + 1, 4096, 1, 0), None);
    }
}
