// What must hold in every order; each function panics if it does not.

use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering};
use loom::thread;

use super::functions::Functions;
use super::seed::{Seed, SeedBytes};
use super::shared::{SharedContents, SharedPage, Token};
use super::thread_number;

/// Tries every order with at most three preemptions, or with as many as LOOM_MAX_PREEMPTIONS says.
fn in_every_order(program: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound.get_or_insert(3);
    builder.check(program);
}

/// A step that shows how often it was made.
struct Count;

impl Functions for Count {
    fn compress(seed: &mut [u8], _: &[u8]) {
        seed.iter_mut().for_each(|byte| *byte += 1);
    }
}

/// Two threads that take from a seed get different values, none of them torn, and the seed is two steps on: whoever holds
/// the lock may lose it before he commits, and is waited for afterwards.
pub fn each_thread_gets_its_own_seed() {
    in_every_order(|| {
        let seed = Arc::new(Seed::default());
        seed.store(&[5; 16]);
        let take = |seed: &Seed| {
            let mut old = SeedBytes::zeroed();
            seed.advance::<Count>(&mut old);
            *old
        };
        let other = {
            let seed = seed.clone();
            thread::spawn(move || {
                thread_number::second();
                take(&seed)
            })
        };
        let mut taken = [take(&seed), other.join().unwrap()];
        taken.sort();
        let mut left = [0; 16];
        seed.load(&mut left);
        assert_eq!((taken, left), ([[5; 16], [6; 16]], [7; 16]));
    });
}

/// What a step makes of zeros, and of what is secret at least in part.
const KNOWN: u8 = 1;
const SECRET: u8 = 2;

struct Taint;

impl Functions for Taint {
    fn compress(seed: &mut [u8], _: &[u8]) {
        let made = if seed.contains(&SECRET) {
            SECRET
        } else {
            KNOWN
        };
        seed.fill(made);
    }
}

/// A thread makes a step while the page is emptied and another seed is copied to it: the seed is not made of zeros alone.
pub fn no_seed_is_made_of_zeros() {
    in_every_order(|| {
        let seed = Arc::new(Seed::default());
        let other = Seed::default();
        for seed in [&*seed, &other] {
            seed.store(&[SECRET; 16]);
        }
        let step = {
            let seed = seed.clone();
            thread::spawn(move || {
                thread_number::second();
                seed.compress::<Taint>(&[0; 16], |_| {});
            })
        };
        seed.wipe();
        seed.copy_from(&other);
        step.join().unwrap();
        let mut left = [0; 16];
        seed.load(&mut left);
        assert_eq!(left, [SECRET; 16]);
    });
}

type Page = SharedContents<AtomicU64>;

/// Prepares the page's value.
fn prepare(page: &Page, value: u64) -> Option<Token> {
    let claim = page.claim()?;
    page.value.store(value, Ordering::Relaxed);
    page.finish(claim)
}

/// The value, if it is found to be the token's.
fn value_of(page: &Page, token: Token) -> Option<u64> {
    let mut found = 0;
    let is_unchanged =
        page.is_unchanged_during(token, |value| found = value.load(Ordering::Relaxed));
    is_unchanged.then_some(found)
}

/// Empties the page as the kernel does: at once, behind all that was stored. No thread runs meanwhile, and whoever then finds
/// one of the two words empty finds the other empty as well.
fn empty(page: &Page) {
    loom::stop_exploring();
    for word in [&page.state, &page.value, &page.state] {
        word.swap(0, Ordering::AcqRel);
    }
    loom::explore();
}

/// Whoever finds the same token before and after reading has read the token's value, though the page is emptied and
/// prepared again meanwhile.
pub fn a_token_s_value_is_read() {
    in_every_order(|| {
        let page = Arc::new(Page::default());
        let first = prepare(&page, 1).expect("it is empty");
        let other = {
            let page = page.clone();
            thread::spawn(move || {
                empty(&page);
                prepare(&page, 2);
            })
        };
        if let Some(token) = page.ready_token() {
            let expected = if token == first { 1 } else { 2 };
            if let Some(found) = value_of(&page, token) {
                assert_eq!(found, expected);
            }
        }
        other.join().unwrap();
    });
}

/// A page is not ready if it was emptied while it was prepared. A late preparation may have stored its value over another's.
pub fn no_emptied_value_is_ready() {
    in_every_order(|| {
        let page = Arc::new(Page::default());
        let other = {
            let page = page.clone();
            thread::spawn(move || {
                empty(&page);
                prepare(&page, 2);
            })
        };
        if let Some(token) = prepare(&page, 1) {
            assert_ne!(value_of(&page, token), Some(0));
        }
        other.join().unwrap();
    });
}

/// One of two threads prepares a page.
pub fn one_thread_prepares() {
    in_every_order(|| {
        let page = Arc::new(Page::default());
        let other = {
            let page = page.clone();
            thread::spawn(move || page.claim().is_some())
        };
        assert_ne!(page.claim().is_some(), other.join().unwrap());
    });
}

/// Threads that map a page at once get the same.
pub fn one_page_is_mapped() {
    in_every_order(|| {
        let page = Arc::new(SharedPage::<AtomicU64>::new());
        let map = |page: &SharedPage<AtomicU64>| {
            let page = page.map().expect("there is memory");
            core::ptr::from_ref(page).addr()
        };
        let other = {
            let page = page.clone();
            thread::spawn(move || map(&page))
        };
        assert_eq!(map(&page), other.join().unwrap());
    });
}
