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
pub fn of<'a>(workload: &'a str, source: &'a str) -> impl Iterator<Item = &'static Published> + 'a {
    let is_meant = move |p: &&Published| p.workload == workload && p.source == source;
    FIGURES.iter().filter(is_meant)
}

/// The documents, in the order of their years.
pub const DOCUMENTS: [&Document; 4] = [&CSPRNG, &WHIRLWIND, &GO, &VDSO];

static CSPRNG: Document = Document {
    title: "Linux Kernel CSPRNG Performance",
    year: 2014,
};
static WHIRLWIND: Document = Document {
    title: "Not-So-Random Numbers in Virtualized Linux and the Whirlwind RNG",
    year: 2014,
};
static GO: Document = Document {
    title: "Locking in crypto/rand",
    year: 2016,
};
static VDSO: Document = Document {
    title: "[RFC PATCH 0/4] random: a simple vDSO mechanism for reseeding userspace CSPRNGs",
    year: 2023,
};

/// Every figure. Of `openssl speed` only the range over its block sizes is known: its ends stand
/// at the smallest block and the largest.
pub static FIGURES: [Published; 18] = [
    proposal("getrandom", 170.8, "getrandom, system call"),
    proposal("vdso", 171.9, "its vDSO, then a system call"),
    proposal("pool-syscall", 68.7, "pool over the system call"),
    proposal("pool-vdso", 9.68, "pool over the vDSO"),
    go(workload::PIPELINE, "go-math-rand-v1", run(13.17)),
    go(workload::PIPELINE, "go-crypto-rand", run(25.72)),
    go(workload::RATE, "go-math-rand", rate(416.0)),
    go(workload::RATE, "go-crypto-rand", rate(13.3)),
    pipe("dd-urandom", 13.4e6, "/dev/urandom"),
    pipe("openssl-enc", 701e6, "openssl aes-128-ctr, slowest"),
    pipe("openssl-enc", 953e6, "openssl aes-128-ctr, fastest"),
    pipe("urandom", 78e6, "ChaCha20 of OpenBSD"),
    speed("openssl-aes128-ctr", 16, 0.47e9),
    speed("openssl-aes128-ctr", 8192, 2.24e9),
    speed("openssl-aes128-ctr-noaes", 16, 74e6),
    speed("openssl-aes128-ctr-noaes", 8192, 391e6),
    whirlwind(64, 9.3e6),
    whirlwind(256, 21.8e6),
];

/// Nanoseconds a `u32`.
const fn proposal(source: &'static str, ns: f64, label: &'static str) -> Published {
    Published {
        workload: workload::PROPOSAL,
        source,
        at: None,
        value: Value::Ns(ns),
        label,
        document: &VDSO,
    }
}

/// One of the article's two programs.
const fn go(workload: &'static str, source: &'static str, value: Value) -> Published {
    let label = match source.as_bytes() {
        b"go-crypto-rand" => "crypto/rand",
        _ => "math/rand of 2016",
    };
    Published {
        workload,
        source,
        at: None,
        value,
        label,
        document: &GO,
    }
}

/// A run of so many seconds: each of ten makes 9,999 strings, and an operation is one string.
const fn run(seconds: f64) -> Value {
    const STRINGS: f64 = 99_990.0;
    Value::Ns(seconds * 1e9 / STRINGS)
}

/// So many megabytes a second, of 2^20 bytes: 416 of them were 4,361,945,120 bytes in ten seconds.
const fn rate(megabytes: f64) -> Value {
    Value::Rate(megabytes * 1024.0 * 1024.0)
}

/// Through a pipe, in blocks of a length that is not told.
const fn pipe(source: &'static str, rate: f64, label: &'static str) -> Published {
    Published {
        workload: workload::PIPE,
        source,
        at: None,
        value: Value::Rate(rate),
        label,
        document: &CSPRNG,
    }
}

/// `openssl speed` of AES-128-CTR.
const fn speed(source: &'static str, at: u64, rate: f64) -> Published {
    Published {
        workload: workload::FILL,
        source,
        at: Some(at),
        value: Value::Rate(rate),
        label: match source.as_bytes() {
            b"openssl-aes128-ctr" => "openssl speed, AES instructions",
            _ => "openssl speed, no AES instructions",
        },
        document: &CSPRNG,
    }
}

/// Reads from a kernel that has Whirlwind.
const fn whirlwind(at: u64, rate: f64) -> Published {
    Published {
        workload: workload::FILL,
        source: "whirlwind",
        at: Some(at),
        value: Value::Rate(rate),
        label: "Whirlwind in the kernel, by read",
        document: &WHIRLWIND,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The documents once more, in the units of their text; but that the Go article's megabytes
    /// are of 2^20 bytes.
    #[test]
    fn every_figure_as_its_document_has_it() {
        let known = |workload, source| {
            let text = |figure: &Published| match figure.value {
                Value::Ns(ns) if ns < 1e3 => format!("{ns} ns"),
                Value::Ns(ns) => format!("{:.2} s", ns * 10.0 * 9999.0 / 1e9),
                Value::Rate(rate) => format!("{} MB/s", (rate / 1e5).round() / 10.0),
            };
            of(workload, source)
                .map(text)
                .collect::<Vec<_>>()
                .join(", ")
        };
        for (workload, source, expected) in [
            ("vdso-proposal", "getrandom", "170.8 ns"),
            ("vdso-proposal", "vdso", "171.9 ns"),
            ("vdso-proposal", "pool-syscall", "68.7 ns"),
            ("vdso-proposal", "pool-vdso", "9.68 ns"),
            ("go-pipeline", "go-math-rand-v1", "13.17 s"),
            ("go-pipeline", "go-crypto-rand", "25.72 s"),
            ("go-rate", "go-math-rand", "436.2 MB/s"),
            ("go-rate", "go-crypto-rand", "13.9 MB/s"),
            ("pipe", "dd-urandom", "13.4 MB/s"),
            ("pipe", "openssl-enc", "701 MB/s, 953 MB/s"),
            ("pipe", "urandom", "78 MB/s"),
            ("fill", "openssl-aes128-ctr", "470 MB/s, 2240 MB/s"),
            ("fill", "openssl-aes128-ctr-noaes", "74 MB/s, 391 MB/s"),
            ("fill", "whirlwind", "9.3 MB/s, 21.8 MB/s"),
            ("fill", "squall", ""),
        ] {
            assert_eq!(known(workload, source), expected, "{workload} {source}");
        }
        let documents: Vec<_> = FIGURES.iter().map(|figure| figure.document).collect();
        assert!(
            DOCUMENTS
                .iter()
                .all(|document| documents.contains(document))
        );
        assert!(
            documents
                .iter()
                .all(|document| DOCUMENTS.contains(document))
        );
    }

    #[test]
    fn times_and_rates_are_of_the_same_figure() {
        assert_eq!(Value::Rate(2e9).ns(16), Some(8.0));
        assert_eq!(Value::Ns(8.0).rate(16), Some(2e9));
        assert_eq!(Value::Ns(8.0).ns(0), Some(8.0));
        assert_eq!(Value::Rate(2e9).ns(0), None);
        assert_eq!(Value::Ns(8.0).rate(0), None);
    }
}
