//! The known answers in `vectors/`, which other languages read as well.

use std::path::Path;

use serde_json::Value;

/// The entries of a file in `vectors/`.
pub fn read(name: &str) -> Vec<Value> {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../drbg/vectors")).join(name);
    let json = std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_slice(&json).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The bytes of a hexadecimal field; empty if the entry lacks it.
pub fn bytes(entry: &Value, field: &str) -> Vec<u8> {
    let digits = entry[field].as_str().unwrap_or_default();
    assert!(digits.len().is_multiple_of(2), "{field} has half a byte");
    (0..digits.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).expect("hex digits"))
        .collect()
}

/// The bytes of a field that must have exactly `N`.
pub fn array<const N: usize>(entry: &Value, field: &str) -> [u8; N] {
    bytes(entry, field)
        .try_into()
        .unwrap_or_else(|_| panic!("{field} is not {N} bytes"))
}

/// Other digits of the same length.
pub fn changed(digits: &str) -> String {
    let last = if digits.ends_with('0') { '1' } else { '0' };
    format!("{}{last}", &digits[..digits.len() - 1])
}
