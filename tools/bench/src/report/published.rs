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

/// Every figure: of `dd` and `openssl enc`, slowest and fastest; of OpenBSD's ChaCha20; of `openssl speed`; and of
/// reads of Whirlwind in the kernel. Of `openssl speed` only the range over its block sizes is known: its ends stand
/// at the smallest block and the largest.
#[rustfmt::skip]
pub static FIGURES: [Published; 10] = [
    figure(&CSPRNG, PIPE, "dd-urandom", None, 13.4e6),
    figure(&CSPRNG, PIPE, "openssl-enc", None, 701e6),
    figure(&CSPRNG, PIPE, "openssl-enc", None, 953e6),
    figure(&CSPRNG, PIPE, "urandom", None, 78e6),
    figure(&CSPRNG, FILL, "openssl-aes128-ctr", Some(16), 0.47e9),
    figure(&CSPRNG, FILL, "openssl-aes128-ctr", Some(8192), 2.24e9),
    figure(&CSPRNG, FILL, "openssl-aes128-ctr-noaes", Some(16), 74e6),
    figure(&CSPRNG, FILL, "openssl-aes128-ctr-noaes", Some(8192), 391e6),
    figure(&WHIRLWIND, FILL, "whirlwind", Some(64), 9.3e6),
    figure(&WHIRLWIND, FILL, "whirlwind", Some(256), 21.8e6),
];

const fn figure(
    document: &'static Document,
    workload: &'static str,
    source: &'static str,
    at: Option<u64>,
    rate: f64,
) -> Published {
    Published {
        document,
        workload,
        source,
        at,
        rate,
    }
}
