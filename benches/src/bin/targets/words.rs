//! Rows about words: the free functions beside ThreadRng, used both ways, and the vDSO.

use std::hint::black_box;

use rand::Rng as _;
use squall_benches::peers::vdso::Vdso;
use squall_measure::compare;

use crate::report::{Report, Row, Target};

const PER_CALL: &str = "ThreadRng, `rand::rng()` per call";
const HELD: &str = "ThreadRng, held";

pub fn measure(report: &mut Report) {
    let mut held = rand::rng();
    let target = Target::Part(0.6);
    word(report, "u32", PER_CALL, target, squall::u32, || {
        rand::rng().next_u32()
    });
    word(report, "u32", HELD, target, squall::u32, || held.next_u32());
    let target = Target::Part(0.5);
    word(report, "u64", PER_CALL, target, squall::u64, || {
        rand::rng().next_u64()
    });
    word(report, "u64", HELD, target, squall::u64, || held.next_u64());
    if let Some(mut vdso) = Vdso::find() {
        let target = Target::Speedup(12.0);
        word(
            report,
            "u32",
            "a 4-byte vDSO getrandom",
            target,
            squall::u32,
            || {
                let mut out = [0; 4];
                vdso.fill(&mut out);
                u32::from_ne_bytes(out)
            },
        );
    }
}

fn word<T>(
    report: &mut Report,
    name: &str,
    peer: &'static str,
    target: Target,
    mut ours: impl FnMut() -> T,
    mut theirs: impl FnMut() -> T,
) {
    let pairs = compare(
        &mut (),
        |()| {
            black_box(ours());
        },
        |()| {
            black_box(theirs());
        },
    );
    report.add(Row::new(name, peer, target, pairs), || None);
}
