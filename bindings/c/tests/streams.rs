//! Streams from C equal OpenSSL's output and end at byte 2^64, and their memory is wiped.

use data_encoding::{HEXLOWER, HEXLOWER_PERMISSIVE};
use serde_json::Value;
use sha2::{Digest, Sha256};
use squall::Engine;
use squall_testing::suite::{NOTHING, Need, Test};
use squall_testing::tests;
use squall_testing::workspace::said;

use crate::compile::{Linked, PKG_CONFIG, Program, output_with, source_path};

fn answers(file: &str) -> Vec<Value> {
    let path = source_path("../../drbg/vectors").join(file);
    let json = std::fs::read_to_string(path).expect("the answers");
    serde_json::from_str(&json).expect("a list")
}

fn field<'a>(answer: &'a Value, name: &str) -> &'a str {
    answer[name].as_str().expect("a string")
}

fn bytes_are_those_of_openssl() {
    let program = Program::of("tests/c/functions.c", Linked::Dynamic);
    let answers = answers("stream.json");
    assert_eq!(answers.len(), 12);
    for answer in answers {
        let expected = HEXLOWER_PERMISSIVE.decode(field(&answer, "bytes").as_bytes());
        let expected = expected.expect("hex");
        let (seed, offset) = (field(&answer, "seed"), field(&answer, "offset"));
        let line = format!("{seed} {offset} {}\n", expected.len());
        assert_eq!(
            output_with(program.command().arg("streams"), &line),
            expected,
            "{answer}"
        );
    }
}

fn long_streams_are_those_of_openssl() {
    let program = Program::of("tests/c/functions.c", Linked::FullyStatic);
    for answer in answers("stream_digests.json") {
        let (seed, offset) = (field(&answer, "seed"), field(&answer, "offset"));
        let line = format!("{seed} {offset} {}\n", answer["length"]);
        let digest = Sha256::digest(output_with(program.command().arg("streams"), &line));
        assert_eq!(
            HEXLOWER.encode(&digest),
            field(&answer, "sha256"),
            "{answer}"
        );
    }
}

fn a_freed_stream_leaves_no_key() {
    assert_eq!(halves_of_key_left(&[]), 0);
}

/// The control searches the memory of a stream that was not wiped.
fn a_stream_in_use_has_its_key() {
    assert_eq!(halves_of_key_left(&["control"]), 2);
}

fn halves_of_key_left(arguments: &[&str]) -> u32 {
    let program = Program::of("tests/c/wiped.c", Linked::Dynamic);
    let output = said(program.command().args(arguments));
    let left = output.trim().strip_prefix("1 ").expect("it was freed");
    left.parse().expect("a number")
}

/// A CPU with AES instructions: without them a stream keeps its round keys bit by bit.
const AES_INSTRUCTIONS: Need = Need {
    check: || match Engine::best_aes() {
        Engine::Portable => Err("no AES instructions".to_owned()),
        _ => Ok(()),
    },
    required_by: NOTHING,
};

/// A new stream is moved, by value. The control leaves a copy of the key on the stack itself.
fn no_key_is_left_on_the_stack() {
    let program = Program::of("tests/c/draws.c", Linked::Dynamic);
    let copies = |arguments: &[&str]| {
        let output = said(program.command().arg("stack").args(arguments));
        output.trim().parse::<u32>().expect("a number")
    };
    assert_eq!(copies(&[]), 0);
    assert!(copies(&["control"]) > 0);
}

pub const TESTS: &[Test] = tests![
    bytes_are_those_of_openssl: [PKG_CONFIG],
    long_streams_are_those_of_openssl: [PKG_CONFIG],
    a_freed_stream_leaves_no_key: [PKG_CONFIG],
    a_stream_in_use_has_its_key: [PKG_CONFIG, AES_INSTRUCTIONS],
    no_key_is_left_on_the_stack: [PKG_CONFIG],
];
