//! Encodes bytes as text, in independent chunks.

use data_encoding::{BASE64, HEXLOWER};

use crate::args::Format;

/// Bytes in a full line of base64: 64 characters, as in openssl(1) and PEM.
pub const LINE_BYTES: usize = 48;

const LINE_CHARACTERS: usize = LINE_BYTES / 3 * 4;

/// The length of the text for a chunk of `len` bytes. Only the last chunk ends a line of hex; every
/// other chunk of base64 is whole lines.
pub fn encoded_len(format: Format, len: usize, is_last: bool) -> usize {
    match format {
        Format::Raw => len,
        Format::Hex => 2 * len + usize::from(is_last),
        Format::Base64 => BASE64.encode_len(len) + len.div_ceil(LINE_BYTES),
    }
}

/// Writes `bytes` as text into `out`, which has the length from [`encoded_len`].
pub fn encode(format: Format, bytes: &[u8], out: &mut [u8]) {
    match format {
        Format::Raw => out.copy_from_slice(bytes),
        Format::Hex => {
            let (digits, end) = out.split_at_mut(2 * bytes.len());
            HEXLOWER.encode_mut(bytes, digits);
            end.fill(b'\n');
        }
        Format::Base64 => {
            let lines = out.chunks_mut(LINE_CHARACTERS + 1);
            for (piece, line) in bytes.chunks(LINE_BYTES).zip(lines) {
                let (characters, end) = line.split_at_mut(BASE64.encode_len(piece.len()));
                BASE64.encode_mut(piece, characters);
                end.fill(b'\n');
            }
        }
    }
}
