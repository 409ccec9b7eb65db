//! Tests of the old RNG's public interface.

use super::pool::Pool;
use super::*;

const INITIAL: &[u8] = b"what a kernel knows at boot";

/// A generator after 326 events of 11 bits: 3586 bits of credit, which are 448 bytes.
fn with_credit() -> Legacy {
    let legacy = Legacy::new(INITIAL);
    let steps = [4096, 2048].into_iter().cycle().take(326);
    let mut now = 0;
    for step in steps {
        now += step;
        legacy.add_timer_event(now, 0, 0);
    }
    legacy
}

fn counts(legacy: &Legacy) -> [u32; 3] {
    let EntropyCounts {
        input,
        blocking,
        nonblocking,
    } = legacy.entropy_count();
    [input, blocking, nonblocking]
}

#[test]
fn mixing_is_not_credited() {
    let legacy = Legacy::new(INITIAL);
    legacy.mix(&[0x55; 1000]);
    assert_eq!(counts(&legacy), [0, 0, 0]);
}

/// Without credit nothing is transferred, and /dev/urandom is its pool's extractions.
#[test]
fn urandom_without_credit() {
    let mut pool = Pool::nonblocking();
    pool.mix(INITIAL);
    let mut expected = [0; 25];
    pool.extract_to(&mut expected);
    let mut out = [0; 25];
    Legacy::new(INITIAL).urandom(&mut out);
    assert_eq!(out, expected);
}

/// Three transfers of 128 bytes and one of 64, each read at once.
#[test]
fn random_gives_what_was_credited() {
    let legacy = with_credit();
    assert_eq!(counts(&legacy), [3586, 0, 0]);
    let mut out = [0; 1000];
    assert_eq!(legacy.random(&mut out), 448);
    assert_eq!(out[448..], [0; 552]);
    assert_eq!(counts(&legacy), [2, 0, 0]);
    assert_eq!(legacy.random(&mut out), 0);
    assert_eq!(legacy.random(&mut []), 0);
}

/// The bytes of a whole read: as many as are asked for are moved at once, from the input pool
/// into the output pool `pool`, and then extracted from there.
fn moved_and_extracted<const LEN: usize>(pool: impl FnOnce() -> Pool<32>) -> [u8; LEN] {
    let (mut input, mut output) = (with_credit().lock().input.clone(), pool());
    output.mix(INITIAL);
    let (mut moved, mut out) = ([0; LEN], [0; LEN]);
    input.extract_to(&mut moved);
    output.mix(&moved);
    output.extract_to(&mut out);
    out
}

#[test]
fn a_read_of_random_moves_as_much_as_it_reads() {
    let legacy = with_credit();
    let mut out = [0; 128];
    assert_eq!(legacy.random(&mut out), 128);
    assert_eq!(counts(&legacy), [3586 - 1024, 0, 0]);
    assert_eq!(out, moved_and_extracted(Pool::blocking));
}

#[test]
fn a_copy_is_independent() {
    let legacy = with_credit();
    let copy = legacy.clone();
    let read = |legacy: &Legacy| {
        let mut out = [0; 40];
        legacy.urandom(&mut out);
        out
    };
    assert_eq!(read(&legacy), read(&copy));
    // The input pool still has credit, so what is mixed in reaches /dev/urandom.
    copy.mix(b"x");
    assert_ne!(read(&legacy), read(&copy));
}

#[test]
fn the_secret_of_get_random_int_comes_from_urandom() {
    let legacy = Legacy::new(INITIAL);
    let mut secret = [0; ints::SECRET_LEN];
    legacy.clone().urandom(&mut secret);
    legacy.draw_int_secret();
    let mut ints = ints::Ints::default();
    ints.set_secret(secret);
    assert_eq!(legacy.get_random_int(1, 2, 3), ints.next(1, 2, 3));
    assert_eq!(legacy.get_random_int(1, 2, 3), ints.next(1, 2, 3));
}
