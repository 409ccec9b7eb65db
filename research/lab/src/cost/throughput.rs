//! Measures the speed of output by the length of a request, in MB/s (10^6 bytes).

use serde::Serialize;
use squall_tools::measure::Effort;

use super::figures::Row;
use super::generators::Generators;
use super::operations::samples;
use super::paper;

/// Lengths of requests in bytes: those of the paper, and longer ones.
const LENGTHS: [usize; 8] = [4, 16, 64, 256, 1 << 10, 4 << 10, 16 << 10, 64 << 10];

/// The speed of requests of one length, in MB/s.
#[derive(Debug, Serialize)]
pub struct Speed {
    pub block_bytes: usize,
    #[serde(flatten)]
    pub row: Row,
}

/// Measures every length.
pub fn measure(generators: &mut Generators, effort: Effort) -> Vec<Speed> {
    let speed = |block_bytes| {
        let mut samples = samples(generators.outputs(block_bytes), effort);
        for sample in samples.values_mut().flatten() {
            *sample = block_bytes as f64 * 1e3 / *sample;
        }
        let row = Row::new(samples, "MB/s", paper::speed(block_bytes));
        Speed { block_bytes, row }
    };
    LENGTHS.map(speed).into()
}
