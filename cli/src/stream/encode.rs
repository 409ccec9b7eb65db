//! How bytes become text, in chunks that need nothing of each other.

use data_encoding::{BASE64, HEXLOWER};

use crate::args::Format;

/// Bytes in a full line of base64: 64 characters, as openssl(1) and PEM have it.
pub const LINE_BYTES: usize = 48;

const LINE_CHARACTERS: usize = LINE_BYTES / 3 * 4;

/// Length of the output for a chunk of `len` bytes. The last chunk of all ends the line; the
/// others have whole lines of base64.
pub fn encoded_len(format: Format, len: usize, is_last: bool) -> usize {
    match format {
        Format::Raw => len,
        Format::Hex => 2 * len + usize::from(is_last),
        Format::Base64 => BASE64.encode_len(len) + len.div_ceil(LINE_BYTES),
    }
}

/// Writes `bytes` into `out`, which is as long as [`encoded_len`] says.
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
