//! Roots whose page is emptied while in use, on a machine that is always the same: outputs of two
//! roots can differ only by their secrets.

#[cfg(target_arch = "x86_64")]
use core::cell::Cell;
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::collections::HashSet;

use crate::entropy::{HARDWARE_LEN, Input, Machine};
use crate::guard::Epoch;
use crate::guard::shared::{SharedContents, SharedPage, Token};
use crate::zeroable::Zeroable;

/// A machine whose values never change.
#[derive(Default)]
struct ConstantMachine;

impl Machine for ConstantMachine {
    fn cycles(&self) -> u64 {
        0
    }
    fn process(&self) -> u32 {
        0
    }
    fn cpu(&self) -> u32 {
        0
    }
    fn random(&self, out: &mut [u8; HARDWARE_LEN]) {
        out.fill(0);
    }
}

type Root<const N: usize> = super::Root<N, ConstantMachine>;
type Page = &'static SharedContents<Root<8>>;

// SAFETY: as for the root of the process: it consists of atomics and types without bytes.
unsafe impl Zeroable for Root<8> {}

/// A separate page for each number.
fn page(number: usize) -> Page {
    static PAGES: [SharedPage<Root<8>>; 6] = [const { SharedPage::new() }; 6];
    PAGES[number].map().expect("there is memory")
}

/// Adds nine inputs that contain this secret.
fn add_inputs(root: &Root<1>, secret: u64) {
    for number in 0..9 {
        root.add(Input {
            source: number,
            cycles: 0,
            values: [secret as u32, (secret >> 32) as u32],
        });
    }
}

/// Prepares a root with a secret instead of the machine's values.
fn prepare(page: Page, secret: u64) -> Option<Token> {
    super::prepare(page, Epoch::default(), |root| add_inputs(root, secret))
}

/// An output, if it came from one root from beginning to end.
fn output_of_one_root(page: Page, token: Token) -> Option<[u8; 48]> {
    let mut out = [0; 48];
    page.is_unchanged_during(token, |root| root.generate(&mut out))
        .then_some(out)
}

/// The first outputs of a root without inputs, which anyone can compute.
fn predictable_outputs() -> HashSet<[u8; 48]> {
    let root = Root::<1>::default();
    let outputs = (0..4).map(|_| {
        let mut out = [0; 48];
        root.generate(&mut out);
        out
    });
    outputs.collect()
}

/// A thread that copies its root late stores nothing predictable into another thread's root.
#[test]
fn a_late_preparer_does_no_harm() {
    let outputs: HashSet<_> = [(1, 2), (1, 3), (4, 2)]
        .into_iter()
        .enumerate()
        .map(|(number, (late, soon))| {
            let page = page(number);
            let mut token = None;
            let late_token = super::prepare(page, Epoch::default(), |root| {
                add_inputs(root, late);
                page.empty();
                token = prepare(page, soon);
            });
            assert_eq!(late_token, None);
            output_of_one_root(page, token.expect("it was empty again")).expect("it is there")
        })
        .collect();
    assert_eq!(
        outputs.len(),
        2,
        "the outputs depend on the late thread's secret"
    );
    assert!(outputs.is_disjoint(&predictable_outputs()));
}

/// Another thread that finds a root ready finds its secret in it.
#[test]
#[cfg(target_arch = "x86_64")]
fn a_root_is_ready_when_it_was_copied() {
    let [one, other] = [(4, 1), (5, 2)].map(|(number, secret)| {
        let page = page(number);
        let first_output = Cell::new(None);
        let look = |_| {
            if let (None, Some(token)) = (first_output.get(), page.ready_token()) {
                first_output.set(output_of_one_root(page, token));
            }
        };
        crate::steps::step_through(|| _ = prepare(page, secret), &look);
        first_output.get().expect("it was ready")
    });
    assert_ne!(one, other);
}

/// Threads prepare and draw while the page is emptied over and over: no output comes twice, and
/// none is one that anybody could compute.
#[test]
fn nothing_repeats_while_the_page_is_emptied() {
    const THREADS: u64 = 6;
    const OUTPUTS: usize = 100_000;
    let page = page(3);
    let secrets = &AtomicU64::new(1);
    let drawn = &AtomicUsize::new(0);
    let draw = move |thread: u64| {
        let mut outputs = Vec::new();
        let mut number = thread;
        while drawn.load(Ordering::Relaxed) < OUTPUTS {
            number += 1;
            if number.is_multiple_of(4) {
                page.empty();
            }
            let prepared = || prepare(page, secrets.fetch_add(1, Ordering::Relaxed));
            let token = page.ready_token().or_else(prepared);
            if let Some(output) = token.and_then(|token| output_of_one_root(page, token)) {
                outputs.push(output);
                drawn.fetch_add(1, Ordering::Relaxed);
            }
        }
        outputs
    };
    let outputs: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|t| scope.spawn(move || draw(t))).collect();
        let drawn = threads
            .into_iter()
            .flat_map(|thread| thread.join().unwrap());
        drawn.collect()
    });
    let distinct: HashSet<_> = outputs.iter().copied().collect();
    assert_eq!(distinct.len(), outputs.len());
    assert!(distinct.is_disjoint(&predictable_outputs()));
}
