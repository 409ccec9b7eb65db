//! What `squall stream` writes: sizes, encodings, and the same bytes for the same seed.

use std::io::{Read, Write};
use std::process::Stdio;

use data_encoding::{BASE64, HEXLOWER};
use squall::Engine;
use squall_testing::suite::Test;
use squall_testing::tests;

use crate::common::{SEED, Scratch, bytes, refused, run, squall, text, wait_for_end};

/// Bytes 0 to 31 of the stream of `SEED`. From OpenSSL 3:
/// `openssl enc -aes-256-ctr -K $SEED -iv 0 -nosalt -in /dev/zero | head -c 32`.
const FIRST: &str = "f29000b62a499fd0a9f39a6add2e7780f05d76ae4ab99fe5a6f69b3148c2363d";

/// 32 bytes around 1 MiB and 2 MiB, where chunks meet, from the same OpenSSL command.
const AROUND_1MIB: &str = "695737554fb975a9fd99adc5bfe6881fb22753304d69b57f49d10a62eb01c832";
const AROUND_2MIB: &str = "4e9f26b08b18350f91595f1c620678564c728a49f304353bc8ca0756fe60809d";

/// Longer than two chunks of any kind, and odd.
const LEN: usize = (5 << 20) + 7;

fn seeded(more: &str) -> Vec<u8> {
    bytes(&format!("stream --seed {SEED} {more}"))
}

fn expected() -> Vec<u8> {
    let stream = seeded(&format!("--size {LEN}"));
    assert_eq!(stream.len(), LEN);
    assert_eq!(HEXLOWER.encode(&stream[..32]), FIRST);
    for (middle, known) in [(1 << 20, AROUND_1MIB), (2 << 20, AROUND_2MIB)] {
        assert_eq!(HEXLOWER.encode(&stream[middle - 16..middle + 16]), known);
    }
    stream
}

fn a_seed_gives_the_same_bytes_on_every_engine_and_any_threads() {
    let expected = expected();
    for engine in Engine::available().filter(|engine| engine.is_aes()) {
        for threads in [1, 2, 3, 7] {
            let stream = seeded(&format!(
                "--size {LEN} --engine {engine} --threads {threads}"
            ));
            assert!(stream == expected, "{engine}, {threads} threads");
        }
    }
}

fn a_file_gets_the_same_bytes_as_a_pipe() {
    let expected = expected();
    let file = Scratch::new();
    std::fs::write(file.path(), vec![0; 2 * LEN]).expect("scratch files can be written");
    for threads in [1, 2] {
        let name = file.path().display();
        let printed = seeded(&format!("--size {LEN} --threads {threads} --output {name}"));
        assert!(printed.is_empty());
        assert!(std::fs::read(file.path()).expect("the file is there") == expected);
    }
}

fn text_decodes_to_the_bytes() {
    let expected = expected();
    for threads in [1, 3] {
        let hex = seeded(&format!("--size {LEN} --format hex --threads {threads}"));
        let digits = hex.strip_suffix(b"\n").expect("the line ends");
        assert!(HEXLOWER.decode(digits).expect("hexadecimal") == expected);

        let base64 = text(&seeded(&format!(
            "--size {LEN} --format base64 --threads {threads}"
        )));
        let lines: Vec<_> = base64.lines().collect();
        let (last, full) = lines.split_last().expect("there are lines");
        assert!(full.iter().all(|line| line.len() == 64));
        assert!((1..=64).contains(&last.len()) && base64.ends_with('\n'));
        let joined = lines.concat();
        assert!(BASE64.decode(joined.as_bytes()).expect("base64") == expected);
    }
}

fn an_offset_begins_within_the_stream() {
    let expected = expected();
    for offset in [0, 1, 16, (1 << 20) - 1, 3 << 20] {
        for threads in [1, 3] {
            let size = LEN - offset;
            let part = seeded(&format!(
                "--offset {offset} --size {size} --threads {threads}"
            ));
            assert!(part == expected[offset..], "{offset}, {threads} threads");
        }
    }
    // The last bytes that there are, in blocks numbered from 2^60 - 2.
    let end = u64::MAX - 32;
    let last = seeded(&format!("--offset {end} --format hex"));
    assert_eq!(
        last,
        seeded(&format!("--offset {end} --size 32 --format hex"))
    );
    assert_eq!(last.len(), 65);
}

fn a_rate_limit_changes_no_byte() {
    let expected = &expected()[..100_000];
    for format in ["raw", "hex"] {
        let limited = format!("--size 100000 --rate-limit 1MB --format {format}");
        let unlimited = format!("--size 100000 --format {format}");
        assert!(seeded(&limited) == seeded(&unlimited));
    }
    assert!(seeded("--size 100000 --rate-limit 10GB --threads 2") == *expected);
}

fn short_text() {
    assert_eq!(
        text(&seeded("--size 32 --format hex")),
        format!("{FIRST}\n")
    );
    assert_eq!(
        text(&seeded("--size 50 --format base64")),
        "8pAAtipJn9Cp85pq3S53gPBddq5KuZ/lpvabMUjCNj0OvLXetSyDvQioqTUYLJGZ\n0kM=\n"
    );
}

fn sizes_count_random_bytes() {
    for (size, len) in [
        ("0", 0),
        ("1", 1),
        ("4KiB", 4096),
        ("4KB", 4000),
        ("1.5MiB", 3 << 19),
    ] {
        assert_eq!(bytes(&format!("stream --size {size}")).len(), len, "{size}");
        let hex = bytes(&format!("stream --format hex --size {size}")).len();
        assert_eq!(hex, if len == 0 { 0 } else { 2 * len + 1 }, "{size}");
    }
    for threads in [1, 2, 5] {
        for size in [GIFT - 1, GIFT, GIFT + 1, 7 * GIFT] {
            let stream = bytes(&format!("stream --size {size} --threads {threads}"));
            assert_eq!(stream.len(), size);
        }
    }
}

/// Length of the chunks that are given to a pipe, in bytes.
const GIFT: usize = 2 << 20;

fn without_a_seed_no_bytes_come_twice() {
    for engine in Engine::available() {
        let stream = bytes(&format!("stream --size 4MiB --threads 2 --engine {engine}"));
        let again = bytes(&format!("stream --size 4MiB --threads 2 --engine {engine}"));
        let (blocks, _) = stream.as_chunks::<16>();
        let (more, _) = again.as_chunks::<16>();
        let mut all: Vec<_> = blocks.iter().chain(more).collect();
        all.sort_unstable();
        assert!(all.windows(2).all(|pair| pair[0] != pair[1]), "{engine}");
    }
}

fn a_seed_from_a_file_or_standard_input() {
    let file = Scratch::new();
    let known = format!("{FIRST}\n");
    for content in [SEED.to_owned(), format!(" {}\n", SEED.to_uppercase())] {
        std::fs::write(file.path(), &content).expect("scratch files can be written");
        let arguments = format!(
            "stream --size 32 --format hex --seed-file {}",
            file.path().display()
        );
        assert_eq!(text(&bytes(&arguments)), known);
    }
    let mut child = squall("stream --size 32 --format hex --seed-file -")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the command runs");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(SEED.as_bytes()).expect("the seed is read");
    drop(stdin);
    let mut shown = String::new();
    let mut stdout = child.stdout.take().expect("a pipe");
    stdout.read_to_string(&mut shown).expect("text");
    assert_eq!(shown, known);
    assert_eq!(wait_for_end(child).0, Some(0));
}

/// A file that holds no seed gives an error that says how to make one, and that way works.
fn files_that_hold_no_seed() {
    let (empty, made) = (Scratch::new(), Scratch::new());
    std::fs::write(empty.path(), "\n").expect("scratch files can be written");
    let empty = empty.path().to_str().expect("a name");
    let make = "squall stream --format hex --size 32 --output FILE";
    for (file, problem) in [
        (empty, "the file is empty"),
        ("/etc/passwd", "not a seed (64 hexadecimal digits)"),
        ("/bin/sh", "not a seed (64 hexadecimal digits)"),
    ] {
        let failed = run(&format!("stream --size 1 --seed-file {file}"));
        let why = format!("--seed-file: {file}: {problem}: make a seed file with `{make}`\n");
        refused(&failed, 2, &[&why]);
    }
    let name = made.path().to_str().expect("a name");
    let arguments = make.strip_prefix("squall ").expect("the command");
    bytes(&arguments.replace("FILE", name));
    assert_eq!(
        bytes(&format!("stream --size 9 --seed-file {name}")).len(),
        9
    );
}

fn a_bad_seed_file_leaves_the_output_alone() {
    let (file, output) = (Scratch::new(), Scratch::new());
    std::fs::write(file.path(), "123\n").expect("scratch files can be written");
    std::fs::write(output.path(), "keep me").expect("scratch files can be written");
    let (name, kept) = (file.path().display(), output.path().display());
    let failed = run(&format!(
        "stream --size 1 --seed-file {name} --output {kept}"
    ));
    let why = "a seed of 3 characters: use exactly 64 hexadecimal digits (32 bytes)\n";
    refused(&failed, 2, &[&format!("--seed-file: {name}: {why}")]);
    assert_eq!(
        std::fs::read(output.path()).expect("the file is there"),
        b"keep me"
    );
}

pub const TESTS: &[Test] = tests![
    a_seed_gives_the_same_bytes_on_every_engine_and_any_threads,
    a_file_gets_the_same_bytes_as_a_pipe,
    text_decodes_to_the_bytes,
    an_offset_begins_within_the_stream,
    a_rate_limit_changes_no_byte,
    short_text,
    sizes_count_random_bytes,
    without_a_seed_no_bytes_come_twice,
    a_seed_from_a_file_or_standard_input,
    files_that_hold_no_seed,
    a_bad_seed_file_leaves_the_output_alone,
];
