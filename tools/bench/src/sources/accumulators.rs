//! squall's accumulator of entropy, asked for bytes: one for the whole process, as intended.

use std::sync::LazyLock;

use squall::entropy::whirlwind::Whirlwind;

use super::entry::{Entry, in_process};
use crate::report::model::Group;
use crate::source::Draw;

pub(super) const ENTRIES: &[Entry] = &[Entry {
    name: "whirlwind",
    title: "Whirlwind",
    group: Group::Accumulator,
    caveat: "meant for seeds; a forked child repeats it or may",
    explained: "squall::entropy::whirlwind::Whirlwind after its bootstrap: SHA-512 over seeds, \
                cycle counter and the CPU's random instruction, 64 bytes at a time",
    open: || in_process(SharedWhirlwind),
    ..Entry::DEFAULT
}];

struct SharedWhirlwind;

impl Draw for SharedWhirlwind {
    fn fill(&mut self, out: &mut [u8]) {
        static WHIRLWIND: LazyLock<Whirlwind> = LazyLock::new(|| {
            let whirlwind = Whirlwind::default();
            whirlwind.bootstrap();
            whirlwind
        });
        WHIRLWIND.generate(out);
    }
}
