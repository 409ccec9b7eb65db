//! Counts the instructions of small requests.
//!
//!     cargo bench -p squall --bench instructions
//!
//! A tracer steps through a process that draws, one instruction at a time, so the counts do not depend on
//! what else the machine does. They depend on the CPU, which decides on the engine, and on the kernel.

#[cfg(target_arch = "x86_64")]
mod x86_64;

#[cfg(target_arch = "x86_64")]
fn main() -> std::process::ExitCode {
    x86_64::main()
}

#[cfg(not(target_arch = "x86_64"))]
fn main() {
    println!("skipped: the tracer supports only x86-64");
}
