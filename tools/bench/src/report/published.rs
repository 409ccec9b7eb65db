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
    /// What was measured, where it is not this source itself.
    pub label: Option<&'static str>,
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

const CHACHA: Option<&str> = Some("ChaCha20 of OpenBSD");
const READ: Option<&str> = Some("Whirlwind in the kernel, by read");

/// Every figure. Of `openssl enc` there are the slowest and the fastest; of `openssl speed` only the range over its
/// block sizes is known: its ends stand at the smallest block and the largest.
#[rustfmt::skip]
pub static FIGURES: [Published; 10] = [
    figure(&CSPRNG, PIPE, "dd-urandom", None, 13.4e6, None),
    figure(&CSPRNG, PIPE, "openssl-enc", None, 701e6, None),
    figure(&CSPRNG, PIPE, "openssl-enc", None, 953e6, None),
    figure(&CSPRNG, PIPE, "urandom", None, 78e6, CHACHA),
    figure(&CSPRNG, FILL, "openssl-aes128-ctr", Some(16), 0.47e9, None),
    figure(&CSPRNG, FILL, "openssl-aes128-ctr", Some(8192), 2.24e9, None),
    figure(&CSPRNG, FILL, "openssl-aes128-ctr-noaes", Some(16), 74e6, None),
    figure(&CSPRNG, FILL, "openssl-aes128-ctr-noaes", Some(8192), 391e6, None),
    figure(&WHIRLWIND, FILL, "whirlwind", Some(64), 9.3e6, READ),
    figure(&WHIRLWIND, FILL, "whirlwind", Some(256), 21.8e6, READ),
];

const fn figure(
    document: &'static Document,
    workload: &'static str,
    source: &'static str,
    at: Option<u64>,
    rate: f64,
    label: Option<&'static str>,
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
