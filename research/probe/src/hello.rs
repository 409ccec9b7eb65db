//! The part of TLS 1.3 (RFC 8446) that makes a server draw: a ClientHello, and the drawn values of the
//! ServerHello. Nothing here is secret, and no key is computed.

use std::io::{self, Read};

/// Length of a server's random and of its X25519 key, in bytes.
const RANDOM: usize = 32;
const KEY: usize = 32;

/// Length of what a server draws for a handshake, in bytes.
pub const DRAWN: usize = RANDOM + KEY;

/// Types of records (section 5.1) and of handshake messages (section 4).
const ALERT: u8 = 21;
const HANDSHAKE: u8 = 22;
const CLIENT_HELLO: u8 = 1;
const SERVER_HELLO: u8 = 2;

/// Types of extensions (section 4.2).
const SUPPORTED_GROUPS: u16 = 10;
const SIGNATURE_ALGORITHMS: u16 = 13;
const SUPPORTED_VERSIONS: u16 = 43;
const KEY_SHARE: u16 = 51;

/// The version of TLS 1.2, which both sides send for the sake of old middleboxes.
const LEGACY_VERSION: [u8; 2] = [3, 3];

/// The number of X25519 among the groups (section 4.2.7).
const X25519: [u8; 2] = [0x00, 0x1d];

/// A ClientHello in a record of its own (section 4.1.2): only TLS 1.3, one cipher suite, and one
/// signature scheme. Its key share is X25519's base point, because nobody needs the shared secret.
pub fn client_hello() -> Vec<u8> {
    let mut base_point = [0; 32];
    base_point[0] = 9;
    let share = [&X25519[..], &with_len(2, &base_point)].concat();
    let extensions = [
        extension(SUPPORTED_VERSIONS, &with_len(1, &[3, 4])),
        extension(SUPPORTED_GROUPS, &with_len(2, &X25519)),
        // ecdsa_secp256r1_sha256
        extension(SIGNATURE_ALGORITHMS, &with_len(2, &[0x04, 0x03])),
        extension(KEY_SHARE, &with_len(2, &share)),
    ]
    .concat();
    let body = [
        &LEGACY_VERSION[..],
        &[0; RANDOM],
        // No session, TLS_AES_128_GCM_SHA256, no compression.
        &with_len(1, &[]),
        &with_len(2, &[0x13, 0x01]),
        &with_len(1, &[0]),
        &with_len(2, &extensions),
    ]
    .concat();
    let message = [&[CLIENT_HELLO][..], &with_len(3, &body)].concat();
    [&[HANDSHAKE, 3, 1][..], &with_len(2, &message)].concat()
}

fn extension(kind: u16, body: &[u8]) -> Vec<u8> {
    [&kind.to_be_bytes()[..], &with_len(2, body)].concat()
}

/// `body` after its length, which takes `bytes` bytes.
fn with_len(bytes: usize, body: &[u8]) -> Vec<u8> {
    let len = body.len().to_be_bytes();
    [&len[len.len() - bytes..], body].concat()
}

/// Reads the server's answer to [`client_hello`] and returns what the server drew: its random, and the
/// public key of the secret key that it made. Leaves the rest unread.
///
/// # Errors
/// Any error of reading; `InvalidData` if the server's answer is not a ServerHello.
pub fn read_drawn_values(server: &mut impl Read) -> io::Result<[u8; DRAWN]> {
    let mut header = [0; 5];
    server.read_exact(&mut header)?;
    let len = usize::from(u16::from_be_bytes([header[3], header[4]]));
    let mut record = vec![0; len];
    server.read_exact(&mut record)?;
    match (header[0], &record[..]) {
        (HANDSHAKE, hello) => drawn_values(hello)
            .ok_or_else(|| invalid_answer("no ServerHello with an X25519 key".into())),
        (ALERT, [_, alert, ..]) => {
            Err(invalid_answer(format!("the server refused: alert {alert}")))
        }
        (kind, _) => Err(invalid_answer(format!(
            "a record of type {kind} and {len} bytes"
        ))),
    }
}

/// What was drawn for a ServerHello (section 4.1.3). `hello` may be cut off after that. None if it is
/// something else.
fn drawn_values(hello: &[u8]) -> Option<[u8; DRAWN]> {
    let (kind, rest) = hello.split_first()?;
    let (body, _) = split_field(3, rest)?;
    let (version, rest) = body.split_first_chunk::<2>()?;
    let (random, rest) = rest.split_first_chunk::<RANDOM>()?;
    let (_session, rest) = split_field(1, rest)?;
    let (_suite_and_compression, rest) = rest.split_first_chunk::<3>()?;
    let (mut extensions, _) = split_field(2, rest)?;
    if *kind != SERVER_HELLO || *version != LEGACY_VERSION {
        return None;
    }
    while let Some((kind, rest)) = extensions.split_first_chunk::<2>() {
        let (share, rest) = split_field(2, rest)?;
        if u16::from_be_bytes(*kind) == KEY_SHARE {
            let key = share.strip_prefix(&X25519)?;
            let (key, _) = split_field(2, key)?;
            return [random, key].concat().try_into().ok();
        }
        extensions = rest;
    }
    None
}

/// Splits off a field that follows its length of `bytes` bytes; returns the field and the rest.
fn split_field(bytes: usize, from: &[u8]) -> Option<(&[u8], &[u8])> {
    let (len, rest) = from.split_at_checked(bytes)?;
    let len = len
        .iter()
        .fold(0, |len, &byte| len << 8 | usize::from(byte));
    rest.split_at_checked(len)
}

fn invalid_answer(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
