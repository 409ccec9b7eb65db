//! What others have published, as points of our workloads: figures of their machines, in their
//! time.

use super::model::workload::{FILL, PIPE};

/// A document with figures.
#[derive(Debug, PartialEq, Eq)]
pub struct Document {
    /// Its title.
    pub title: &'static str,
    /// When it appeared.
    pub year: u16,
}

/// A published figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Published {
    /// Where it was published.
    pub document: &'static Document,
    /// The workload that does the same.
    pub workload: &'static str,
    /// The source that corresponds to what was measured.
    pub source: &'static str,
    /// The place of the axis; none where the document does not say.
    pub at: Option<u64>,
    /// Bytes a second.
    pub rate: f64,
    /// What was measured, as the document calls it.
    pub label: &'static str,
}

/// Figures for `source` in `workload`.
pub fn figures_of<'a>(
    workload: &'a str,
    source: &'a str,
) -> impl Iterator<Item = &'static Published> + 'a {
    let is_meant = move |p: &&Published| p.workload == workload && p.source == source;
    FIGURES.iter().filter(is_meant)
}

static CSPRNG: Document = Document {
    title: "Linux Kernel CSPRNG Performance",
    year: 2014,
};
static WHIRLWIND: Document = Document {
    title: "Not-So-Random Numbers in Virtualized Linux and the Whirlwind RNG",
    year: 2014,
};

/// The documents, in the order of their years.
pub const DOCUMENTS: [&Document; 2] = [&CSPRNG, &WHIRLWIND];

const AES: &str = "openssl speed, AES instructions";
const NO_AES: &str = "openssl speed, no AES instructions";
const READ: &str = "Whirlwind in the kernel, by read";

/// Every figure. Of `openssl speed` only the range over its block sizes is known: its ends stand
/// at the smallest block and the largest.
#[rustfmt::skip]
pub static FIGURES: [Published; 10] = [
    figure(&CSPRNG, PIPE, "dd-urandom", None, 13.4e6, "/dev/urandom"),
    figure(&CSPRNG, PIPE, "openssl-enc", None, 701e6, "openssl aes-128-ctr, slowest"),
    figure(&CSPRNG, PIPE, "openssl-enc", None, 953e6, "openssl aes-128-ctr, fastest"),
    figure(&CSPRNG, PIPE, "urandom", None, 78e6, "ChaCha20 of OpenBSD"),
    figure(&CSPRNG, FILL, "openssl-aes128-ctr", Some(16), 0.47e9, AES),
    figure(&CSPRNG, FILL, "openssl-aes128-ctr", Some(8192), 2.24e9, AES),
    figure(&CSPRNG, FILL, "openssl-aes128-ctr-noaes", Some(16), 74e6, NO_AES),
    figure(&CSPRNG, FILL, "openssl-aes128-ctr-noaes", Some(8192), 391e6, NO_AES),
    figure(&WHIRLWIND, FILL, "whirlwind", Some(64), 9.3e6, READ),
    figure(&WHIRLWIND, FILL, "whirlwind", Some(256), 21.8e6, READ),
];

const fn figure(
    document: &'static Document,
    workload: &'static str,
    source: &'static str,
    at: Option<u64>,
    rate: f64,
    label: &'static str,
) -> Published {
    Published {
        document,
        workload,
        source,
        at,
        rate,
        label,
    }
}
