//! What a source of random bytes is to a benchmark: something that times its own requests.
//!
//! The loop over requests is compiled for each source ([`Draw`]), so that what is measured is the
//! source and no virtual call; only batches go through one.

use std::collections::HashSet;
use std::hint::black_box;
use std::time::Duration;

use squall_tool_base::Failure;
use squall_tool_base::measure::time;

/// The source that does nothing: what an experiment costs without a source.
pub const NOTHING: &str = "nothing";

/// What is asked for.
#[derive(Debug)]
pub enum Request<'a> {
    /// A buffer filled, whose length is known at run time only.
    Fill(&'a mut [u8]),
    /// A number below 2^32.
    U32,
    /// A number below 2^64.
    U64,
}

/// A source that is ready for use by one thread. Its methods fail if the source does.
pub trait Source {
    /// Nanoseconds a request, over `calls` of them.
    /// Fails also if it did nothing.
    fn time(&mut self, request: Request, calls: u64) -> Result<f64, Failure>;

    /// Fills `out`, by one request where the source is in this process.
    fn fill(&mut self, out: &mut [u8]) -> Result<(), Failure> {
        self.sample(out)
    }

    /// Fills `out` by numbers below 2^32 and then, from its middle on, by numbers below 2^64: what
    /// these requests give, where they are requests of their own.
    fn numbers(&mut self, out: &mut [u8]) -> Result<(), Failure> {
        self.sample(out)
    }

    /// Fills `out` by requests of 1 to 4096 bytes: what it gives, to be looked at.
    fn sample(&mut self, out: &mut [u8]) -> Result<(), Failure>;

    /// Nanoseconds that passed for each request that any of `threads` made, which fill buffers of
    /// `len` bytes for `time`; none if threads of this process are to do that.
    fn parallel(
        &mut self,
        _threads: usize,
        _len: usize,
        _time: Duration,
    ) -> Option<Result<f64, Failure>> {
        None
    }
}

/// A source in this process.
pub trait Draw {
    /// Fills `out`.
    fn fill(&mut self, out: &mut [u8]);

    /// A number below 2^32, in the way a program would ask for one.
    fn u32(&mut self) -> u32 {
        let mut out = [0; 4];
        self.fill(&mut out);
        u32::from_ne_bytes(out)
    }

    /// A number below 2^64, likewise.
    fn u64(&mut self) -> u64 {
        let mut out = [0; 8];
        self.fill(&mut out);
        u64::from_ne_bytes(out)
    }
}

/// A source that is a function.
pub struct FilledBy<F>(pub F);

impl<F: FnMut(&mut [u8])> Draw for FilledBy<F> {
    #[inline]
    fn fill(&mut self, out: &mut [u8]) {
        (self.0)(out);
    }
}

/// Shortest buffer of which two fills are never alike by chance, in bytes.
const TELLING: usize = 16;

impl<D: Draw> Source for D {
    fn time(&mut self, request: Request, calls: u64) -> Result<f64, Failure> {
        match request {
            Request::U32 => Ok(time(calls, &mut || {
                black_box(self.u32());
            })),
            Request::U64 => Ok(time(calls, &mut || {
                black_box(self.u64());
            })),
            Request::Fill(out) => {
                let before: Vec<u8> = out.iter().copied().take(TELLING).collect();
                let end = out.len().saturating_sub(TELLING);
                let last = out[end..].to_vec();
                let ns = time(calls, &mut || Draw::fill(self, black_box(&mut *out)));
                let is_old = out[..before.len()] == before || out[end..] == last;
                if is_old && out.len() >= TELLING {
                    Err(Failure::Runtime("a buffer was left as it was".into()))
                } else {
                    Ok(ns)
                }
            }
        }
    }

    fn fill(&mut self, out: &mut [u8]) -> Result<(), Failure> {
        Draw::fill(self, out);
        Ok(())
    }

    fn numbers(&mut self, out: &mut [u8]) -> Result<(), Failure> {
        let (first, second) = out.split_at_mut(out.len() / 2);
        for place in first.chunks_mut(size_of::<u32>()) {
            place.copy_from_slice(&self.u32().to_ne_bytes()[..place.len()]);
        }
        for place in second.chunks_mut(size_of::<u64>()) {
            place.copy_from_slice(&self.u64().to_ne_bytes()[..place.len()]);
        }
        Ok(())
    }

    fn sample(&mut self, out: &mut [u8]) -> Result<(), Failure> {
        const LENGTHS: [usize; 6] = [1, 16, 32, 100, 1000, 4096];
        let mut lengths = LENGTHS.into_iter().cycle();
        let mut rest = out;
        while !rest.is_empty() {
            let len = lengths.next().unwrap_or(1).min(rest.len());
            let (part, behind) = rest.split_at_mut(len);
            Draw::fill(self, part);
            rest = behind;
        }
        Ok(())
    }
}

/// Bytes that a check looks at, twice of requests by length and once of numbers.
const LEN: usize = 64 << 10;

/// Length of the blocks that must all differ.
const BLOCK: usize = 16;

/// Why `source` cannot be a source of random bytes; none if it may be one. A source that returns zeros, however
/// fast, is not ranked.
///
/// This is no test of quality: each complaint has a chance below 2^-60 to disqualify a good source.
pub fn check(source: &mut dyn Source) -> Result<Option<String>, Failure> {
    let mut samples = vec![0; 2 * LEN];
    let (first, second) = samples.split_at_mut(LEN);
    source.sample(first)?;
    source.sample(second)?;
    let mut numbers = vec![0; LEN];
    source.numbers(&mut numbers)?;
    let of_numbers = |complaint| format!("numbers: {complaint}");
    Ok(complaint(&samples).or_else(|| complaint(&numbers).map(of_numbers)))
}

fn complaint(bytes: &[u8]) -> Option<String> {
    if let Some(&first) = bytes.first()
        && bytes.iter().all(|&byte| byte == first)
    {
        return Some(format!("all its bytes are {first:#04x}"));
    }
    let mut seen = HashSet::new();
    let (blocks, _) = bytes.as_chunks::<BLOCK>();
    if !blocks.iter().all(|block| seen.insert(block)) {
        return Some(format!("it repeated a block of {BLOCK} bytes"));
    }
    biased(bytes)
}

/// Ones among the bits, if they are further from half than 9 standard deviations.
fn biased(bytes: &[u8]) -> Option<String> {
    let bits = bytes.len() as f64 * 8.0;
    let ones: u32 = bytes.iter().map(|byte| byte.count_ones()).sum();
    let deviations = (f64::from(ones) - bits / 2.0) / (bits.sqrt() / 2.0);
    let percent = f64::from(ones) / bits * 100.0;
    (deviations.abs() > 9.0).then(|| format!("{percent:.1} % of its bits are ones"))
}
