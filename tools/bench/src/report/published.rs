//! What others have published, as points of our workloads: figures of their machines, in their
//! time.

use super::model::workload;

/// A document with figures.
#[derive(Debug, PartialEq, Eq)]
pub struct Document {
    /// Its title.
    pub title: &'static str,
    /// When it appeared.
    pub year: u16,
}

/// A figure, in the unit it was published in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// Nanoseconds an operation.
    Ns(f64),
    /// Bytes a second.
    Rate(f64),
}

/// A published figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Published {
    /// The workload that does the same: a constant of [`workload`].
    pub workload: &'static str,
    /// The source that corresponds to what was measured.
    pub source: &'static str,
    /// The place of the axis; none where the document does not say, or the workload has one place.
    pub at: Option<u64>,
    /// What was published.
    pub value: Value,
    /// What was measured, as the document calls it.
    pub label: &'static str,
    /// Where it was published.
    pub document: &'static Document,
}

impl Value {
    /// Nanoseconds an operation that makes so many bytes; none if that cannot be known.
    pub fn ns(self, bytes: u64) -> Option<f64> {
        match self {
            Value::Ns(ns) => Some(ns),
            Value::Rate(rate) => (bytes > 0).then(|| bytes as f64 / rate * 1e9),
        }
    }

    /// Bytes a second, of operations that make so many bytes; none if that cannot be known.
    pub fn rate(self, bytes: u64) -> Option<f64> {
        match self {
            Value::Rate(rate) => Some(rate),
            Value::Ns(ns) => (bytes > 0).then(|| bytes as f64 / ns * 1e9),
        }
    }
}

/// Figures for `source` in `workload`.
pub fn figures_of<'a>(
    workload: &'a str,
    source: &'a str,
) -> impl Iterator<Item = &'static Published> + 'a {
    let is_meant = move |p: &&Published| p.workload == workload && p.source == source;
    FIGURES.iter().filter(is_meant)
}

const fn document(title: &'static str, year: u16) -> Document {
    Document { title, year }
}

static CSPRNG: Document = document("Linux Kernel CSPRNG Performance", 2014);
static WHIRLWIND: Document = document(
    "Not-So-Random Numbers in Virtualized Linux and the Whirlwind RNG",
    2014,
);
static GO: Document = document("Locking in crypto/rand", 2016);
static VDSO: Document = document(
    "[RFC PATCH 0/4] random: a simple vDSO mechanism for reseeding userspace CSPRNGs",
    2023,
);

/// The documents, in the order of their years.
pub const DOCUMENTS: [&Document; 4] = [&CSPRNG, &WHIRLWIND, &GO, &VDSO];

/// A run of the Go article's first program, in seconds: ten make 9,999 strings each, and an
/// operation is one string.
const fn run(seconds: f64) -> Value {
    Ns(seconds * 1e9 / 99_990.0)
}

/// Megabytes a second of its second program, of 2^20 bytes: 416 of them were 4,361,945,120 bytes in
/// ten seconds.
const fn mebibytes(count: f64) -> Value {
    Rate(count * 1024.0 * 1024.0)
}

use Value::{Ns, Rate};
use workload::{FILL, PIPE, PIPELINE, PROPOSAL, RATE};

const AES: &str = "openssl speed, AES instructions";
const NO_AES: &str = "openssl speed, no AES instructions";
const READ: &str = "Whirlwind in the kernel, by read";

/// Every figure. Of `openssl speed` only the range over its block sizes is known: its ends stand
/// at the smallest block and the largest.
#[rustfmt::skip]
pub static FIGURES: [Published; 18] = [
    figure(&VDSO, PROPOSAL, "getrandom", None, Ns(170.8), "getrandom, system call"),
    figure(&VDSO, PROPOSAL, "vdso", None, Ns(171.9), "its vDSO, then a system call"),
    figure(&VDSO, PROPOSAL, "pool-syscall", None, Ns(68.7), "pool over the system call"),
    figure(&VDSO, PROPOSAL, "pool-vdso", None, Ns(9.68), "pool over the vDSO"),
    figure(&GO, PIPELINE, "go-math-rand-v1", None, run(13.17), "math/rand of 2016"),
    figure(&GO, PIPELINE, "go-crypto-rand", None, run(25.72), "crypto/rand"),
    figure(&GO, RATE, "go-math-rand", None, mebibytes(416.0), "math/rand of 2016"),
    figure(&GO, RATE, "go-crypto-rand", None, mebibytes(13.3), "crypto/rand"),
    figure(&CSPRNG, PIPE, "dd-urandom", None, Rate(13.4e6), "/dev/urandom"),
    figure(&CSPRNG, PIPE, "openssl-enc", None, Rate(701e6), "openssl aes-128-ctr, slowest"),
    figure(&CSPRNG, PIPE, "openssl-enc", None, Rate(953e6), "openssl aes-128-ctr, fastest"),
    figure(&CSPRNG, PIPE, "urandom", None, Rate(78e6), "ChaCha20 of OpenBSD"),
    figure(&CSPRNG, FILL, "openssl-aes128-ctr", Some(16), Rate(0.47e9), AES),
    figure(&CSPRNG, FILL, "openssl-aes128-ctr", Some(8192), Rate(2.24e9), AES),
    figure(&CSPRNG, FILL, "openssl-aes128-ctr-noaes", Some(16), Rate(74e6), NO_AES),
    figure(&CSPRNG, FILL, "openssl-aes128-ctr-noaes", Some(8192), Rate(391e6), NO_AES),
    figure(&WHIRLWIND, FILL, "whirlwind", Some(64), Rate(9.3e6), READ),
    figure(&WHIRLWIND, FILL, "whirlwind", Some(256), Rate(21.8e6), READ),
];

const fn figure(
    document: &'static Document,
    workload: &'static str,
    source: &'static str,
    at: Option<u64>,
    value: Value,
    label: &'static str,
) -> Published {
    Published {
        workload,
        source,
        at,
        value,
        label,
        document,
    }
}
