//! Key derivations, as text and as CSV.

use squall_tools::Failure;
use squall_tools::columns::{columns, lines, paragraph};
use squall_tools::units;

use super::phrases;
use crate::model::{Derivation, Kdf};

/// The report for a terminal, no wider than `width`.
pub fn text(kdf: &Kdf, width: Option<usize>) -> String {
    let machine = &kdf.machine;
    let mut text = String::new();
    if machine.is_emulated {
        text.push_str(&paragraph(
            &format!("EMULATED: {}", phrases::EMULATED),
            width,
        ));
    }
    text.push_str(&paragraph(&machine.cpu, width));
    let place = format!("Linux {}, squall {}", machine.kernel, machine.squall);
    text.push_str(&paragraph(&place, width));
    text.push('\n');
    let seconds = units::number(kdf.time_ms as f64 / 1e3);
    let heading = format!("Costs with which a passphrase takes {seconds} seconds");
    text.push_str(&paragraph(&heading, width));
    let mut table = columns(width);
    table.set_header(["", "iterations", "memory", "threads", "iterations/s"]);
    for derivation in &kdf.derivations {
        table.add_row(row(derivation));
    }
    text.push_str(&lines(&mut table, 2, |column| column > 0));
    text.push('\n');
    for note in NOTES {
        text.push_str(&paragraph(&format!("- {note}"), width));
    }
    text
}

/// What the figures mean.
const NOTES: [&str; 3] = [
    "Argon2id is the default of LUKS2, and PBKDF2 with SHA-256 of LUKS1. cryptsetup measures the same \
     when it makes a key slot, and keeps the costs in the header: a slower machine opens the volume \
     more slowly.",
    "A guess takes an attacker as much work. With Argon2id it takes as much memory too, which is what \
     graphics cards have too little of for many guesses at once (RFC 9106); so prefer it to PBKDF2.",
    "Measured with RustCrypto's code for keys of 256 bits; that of cryptsetup's library may be faster \
     or slower.",
];

fn row(derivation: &Derivation) -> [String; 5] {
    let memory = derivation
        .memory_kib
        .map(|kib| units::length(u64::from(kib >> 10) << 20));
    let per_second = derivation.iterations_per_second;
    [
        derivation.function.to_owned(),
        grouped(u64::from(derivation.iterations)),
        memory.unwrap_or("–".into()),
        derivation.threads.to_string(),
        per_second.map_or("–".into(), |rate| grouped(rate as u64)),
    ]
}

/// A number with commas between thousands.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The figures as CSV, with a header line; missing values are empty.
///
/// # Errors
/// A line cannot be written.
pub fn csv(kdf: &Kdf) -> Result<String, Failure> {
    squall_tools::csv::text(kdf.derivations.iter())
}
