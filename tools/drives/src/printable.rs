//! Text that drives give of themselves, made fit for a terminal.

/// A text from a drive, with single blanks between words and `?` for every byte that is not printable
/// ASCII.
pub(crate) fn printable_bytes(bytes: &[u8]) -> Option<String> {
    let character = |&byte: &u8| match byte {
        b'!'..=b'~' => byte as char,
        0 | b' ' | b'\t' | b'\n' | b'\r' => ' ',
        _ => '?',
    };
    let text: String = bytes.iter().map(character).collect();
    let words: Vec<&str> = text.split_whitespace().collect();
    (!words.is_empty()).then(|| words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unprintable_bytes_of_a_drive_are_replaced() {
        let cases: [(&[u8], Option<&str>); 6] = [
            (b"  WDC  WD40EFRX-68N \n", Some("WDC WD40EFRX-68N")),
            (b"WD-1\0\0\0", Some("WD-1")),
            (b"a\x1b[2Jb\x07\x9b", Some("a?[2Jb??")),
            ("Ü\u{202e}".as_bytes(), Some("?????")),
            (b"    \n", None),
            (b"", None),
        ];
        for (bytes, expected) in cases {
            assert_eq!(printable_bytes(bytes).as_deref(), expected, "{bytes:?}");
        }
    }
}
