//! A buffer between guard bytes, at a chosen offset from a cache line.
//!
//! It detects a byte written up to a cache line before or after the buffer; the widest vector
//! store has that length.

/// Length of a cache line and of the widest vector, in bytes.
pub const LINE: usize = 64;

const GUARD: [u8; LINE] = [0xa5; LINE];

/// `len` bytes, `offset` bytes past a multiple of [`LINE`], with guards on both sides.
pub struct Guarded {
    memory: Vec<u8>,
    start: usize,
    len: usize,
}

impl Guarded {
    /// A buffer full of guard bytes.
    pub fn new(offset: usize, len: usize) -> Self {
        let memory = vec![GUARD[0]; 4 * LINE + len];
        let start = memory.as_ptr().align_offset(LINE) + LINE + offset % LINE;
        Guarded { memory, start, len }
    }

    /// The buffer.
    pub fn buffer(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..][..self.len]
    }

    /// Whether the guards are as they were.
    pub fn guards_are_intact(&self) -> bool {
        let end = self.start + self.len;
        self.memory[self.start - LINE..self.start] == GUARD && self.memory[end..][..LINE] == GUARD
    }
}

/// The control: the guards notice what they are for.
pub fn a_write_outside_the_buffer_is_caught() {
    let (offset, len) = (9, 100);
    for outside in [0, LINE - 1, LINE + len, LINE + len + LINE - 1] {
        let mut guarded = Guarded::new(offset, len);
        guarded.buffer().fill(0);
        assert!(guarded.guards_are_intact());
        let first_guard = guarded.start - LINE;
        guarded.memory[first_guard + outside] ^= 1;
        assert!(!guarded.guards_are_intact(), "byte {outside}");
    }
}
