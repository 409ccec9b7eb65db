//! Generators that must be caught, the tests that catch them, and good ones that must pass, as
//! often as is claimed.

use squall::Stream;
use squall_tools::Failure;

use squall_bench::statistics;
use squall_bench::statistics::battery::BatteryResult;
use squall_bench::statistics::{Examination, FALSE_ALARM, FEWEST, Findings, table};
use squall_testing::suite::Test;
use squall_testing::tests;

pub const TESTS: &[Test] = tests![
    a_constant_is_caught,
    zeros_are_caught,
    counters_are_caught,
    the_low_bits_of_a_congruential_generator_are_caught,
    whole_words_of_a_congruential_generator_are_caught,
    randu_is_caught,
    a_shift_register_is_caught,
    a_biased_coin_is_caught,
    a_repeated_block_is_caught,
    hexadecimal_digits_are_caught,
    squall_passes,
    false_alarms_are_as_rare_as_claimed,
    findings_do_not_depend_on_how_the_stream_is_cut,
    too_few_bytes_are_not_judged,
    a_line_a_source_and_one_for_each_failure,
];

/// Examines `len` bytes of `fill`.
fn examined(len: usize, mut fill: impl FnMut(&mut [u8])) -> Findings {
    let mut bytes = vec![0; len];
    fill(&mut bytes);
    let mut examination = Examination::default();
    examination.add(&bytes);
    examination.finish().unwrap()
}

/// Asserts that the least examination of what `next` gives, some bytes at a time, fails `tests`.
fn assert_caught<const N: usize>(mut next: impl FnMut() -> [u8; N], tests: &[&str]) {
    let findings = examined(FEWEST, |out| {
        for bytes in out.chunks_mut(N) {
            bytes.copy_from_slice(&next()[..bytes.len()]);
        }
    });
    let failed: Vec<&str> = findings.failed().map(|test| test.name).collect();
    for test in tests {
        assert!(failed.contains(test), "{test} has passed: {findings:#?}");
    }
}

fn a_constant_is_caught() {
    assert_caught(|| [0x5A], &["bytes", "entropy", "serial correlation"]);
}

fn zeros_are_caught() {
    assert_caught(|| [0], &["repeated blocks"]);
}

fn counters_are_caught() {
    let mut count = 0_u32;
    let next = || {
        count += 1;
        count.to_le_bytes()
    };
    assert_caught(next, &["bytes", "bits over distances", "matrix rank"]);
    let mut count = 0_u64;
    let next = || {
        count += 1;
        count.to_le_bytes()
    };
    assert_caught(next, &["bytes", "bits over distances", "matrix rank"]);
}

/// Knuth's multiplier and increment for MMIX, modulo 2^64.
fn mmix(state: &mut u64) -> u64 {
    *state = state
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    *state
}

/// The low byte takes each value once in 256, in an order that pairs and distances show.
fn the_low_bits_of_a_congruential_generator_are_caught() {
    let mut state = 1;
    let next = || [mmix(&mut state) as u8];
    assert_caught(next, &["bytes", "pairs of bytes", "bits over distances"]);
}

/// Bytes and pairs see nothing here: the high bits are good, and hide the low ones.
fn whole_words_of_a_congruential_generator_are_caught() {
    let mut state = 1;
    let next = || mmix(&mut state).to_le_bytes();
    assert_caught(next, &["bits over distances"]);
}

fn randu(state: &mut u32) -> u32 {
    *state = state.wrapping_mul(65_539) % (1 << 31);
    *state
}

fn randu_is_caught() {
    let mut state = 1;
    let next = || randu(&mut state).to_le_bytes();
    assert_caught(next, &["bits by position", "bits over distances"]);
}

/// Linear, and else good enough for all other tests.
fn a_shift_register_is_caught() {
    let mut state = 88_172_645_463_325_252_u64;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    };
    assert_caught(next, &["matrix rank"]);
}

fn a_biased_coin_is_caught() {
    let heads = (0.51 * 65536.0) as u16;
    let next = || {
        let tosses: [[u8; 2]; 8] = std::array::from_fn(|_| squall::array());
        let tosses = tosses.into_iter().map(u16::from_le_bytes);
        [tosses.fold(0, |byte, toss| byte << 1 | u8::from(toss < heads))]
    };
    assert_caught(next, &["bytes", "entropy", "bits by position"]);
}

fn a_repeated_block_is_caught() {
    let block: [u8; 4096] = squall::array();
    let tests = [
        "bytes",
        "pairs of bytes",
        "bits over distances",
        "repeated blocks",
    ];
    assert_caught(|| block, &tests);
}

fn hexadecimal_digits_are_caught() {
    let digit = |value: u8| b"0123456789abcdef"[usize::from(value % 16)];
    let next = || {
        let [byte] = squall::array();
        [digit(byte >> 4), digit(byte)]
    };
    assert_caught(next, &["bytes", "entropy", "bits by position"]);
}

/// Once in 10,000 it would not: four times in a row is a defect.
fn squall_passes() {
    let passes = || examined(64 << 20, squall::fill).passed();
    assert!((0..4).any(|_| passes()));
}

/// Findings on the stream with the key `number`.
fn examined_stream(number: u64) -> Findings {
    let mut key = [0; 32];
    key[..8].copy_from_slice(&number.to_le_bytes());
    examined(FEWEST, |out| Stream::new(&key).fill(out).unwrap())
}

/// Findings on many streams, with all CPUs.
fn many(streams: u64) -> Vec<Findings> {
    let threads = std::thread::available_parallelism().map_or(1, |threads| threads.get() as u64);
    std::thread::scope(|scope| {
        let part = |first: u64| {
            (first..streams)
                .step_by(threads as usize)
                .map(examined_stream)
        };
        let start = |first| scope.spawn(move || part(first).collect::<Vec<_>>());
        let workers: Vec<_> = (0..threads).map(start).collect();
        workers
            .into_iter()
            .flat_map(|worker| worker.join().unwrap())
            .collect()
    })
}

/// Good streams fail no more often than is claimed, and each test is as strict as it says: five in a
/// hundred have a p-value below 0.05, fewer where the statistic is a small number. Keys are fixed, so
/// this passes always or never.
fn false_alarms_are_as_rare_as_claimed() {
    const STREAMS: u64 = 500;
    let all = many(STREAMS);
    let failed = all.iter().filter(|findings| !findings.passed()).count();
    assert!(
        failed as f64 <= 2.0 + STREAMS as f64 * FALSE_ALARM,
        "{failed} have failed"
    );
    let expected = STREAMS as f64 / 20.0;
    let spread = 3.0 * expected.sqrt();
    for (i, test) in all[0].tests.iter().enumerate() {
        let low = all
            .iter()
            .filter(|findings| findings.tests[i].p_value < 0.05)
            .count() as f64;
        assert!(low <= expected + spread, "{}: {low} are low", test.name);
        let is_small = test.name == "repeated blocks";
        assert!(
            is_small || low >= expected - spread,
            "{}: {low} are low",
            test.name
        );
    }
}

fn findings_do_not_depend_on_how_the_stream_is_cut() {
    let mut bytes = vec![0; 3_000_001];
    squall::fill(&mut bytes);
    let cut = |length: usize| {
        let mut examination = Examination::default();
        bytes.chunks(length).for_each(|part| examination.add(part));
        examination.finish().unwrap()
    };
    let whole = cut(bytes.len());
    for length in [1, 7, 2500, 256 << 10, 320_001] {
        assert_eq!(cut(length), whole);
    }
}

fn too_few_bytes_are_not_judged() {
    let mut examination = Examination::default();
    examination.add(&vec![0; FEWEST - 1]);
    assert!(matches!(examination.finish(), Err(Failure::Usage(_))));
}

fn a_line_a_source_and_one_for_each_failure() {
    let test = |name, p_value| statistics::Test {
        name,
        statistic: 12.5,
        p_value,
        detail: "chi-square 12.5, 255 expected".into(),
    };
    let findings = |p_value| Findings {
        bytes: 64 << 20,
        tests: vec![test("bytes", p_value), test("pairs", 0.5)],
    };
    let battery = BatteryResult {
        battery: "dieharder",
        tally: Err("not installed".into()),
    };
    let table = table(&[
        ("squall".into(), findings(0.3), vec![battery]),
        ("a counter".into(), findings(1e-20), Vec::new()),
    ]);
    let expected = "\
squall     passed  2 tests of 64 MiB
             dieharder: not installed
a counter  FAILED  1 of 2 tests of 64 MiB
             bytes: chi-square 12.5, 255 expected (p 1e-20)
";
    assert!(table.starts_with(expected), "{table}");
}
