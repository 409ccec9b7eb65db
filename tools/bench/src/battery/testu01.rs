//! TestU01: a library and no program, so it is loaded at run time, where it is installed (Debian:
//! libtestu01-0), and its SmallCrush is run on words from the standard input.
//!
//! It prints as it goes, and ends the process if it does not like something. Hence a process of
//! its own, which calls [`run`]: it reads the stream and its output is read like those of any other battery.

use std::cell::RefCell;
use std::ffi::{c_char, c_double, c_int, c_uint, c_void};
use std::io::{self, BufReader, Read as _};
use std::process::{self, Command};

use squall_tools::loaded::{Loaded, text};
use squall_tools::{Failure, output};

use super::Tally;
use crate::child::{Child, Work};

/// The library, by the names that it has: of Debian's package, and as built from its source.
const LIBRARIES: [&str; 2] = ["libtestu01.so.0", "libtestu01.so"];

/// Before each p-value in a line of its own.
const MARK: &str = "p-value ";

/// p-values below this or above 1 minus this are suspicious: TestU01 itself reports them.
const SUSPICIOUS: f64 = 1e-3;

/// p-values below this or above 1 minus this are failures: TestU01's guide calls them clear ones.
const FAILED: f64 = 1e-10;

/// The program that runs it, if it is installed.
pub(super) fn program() -> Option<Command> {
    is_installed().then(|| Child::new(Work::TestU01, "", 0).command())
}

/// Whether the library is there.
pub fn is_installed() -> bool {
    load().is_ok()
}

fn load() -> Result<Loaded, String> {
    // SAFETY: TestU01 may be loaded at any time.
    unsafe { Loaded::first_of(&LIBRARIES) }
}

/// Runs SmallCrush on words of 32 bits from the standard input, and prints the p-value and the name
/// of each of its results. If the input ends before it does, so does the process.
///
/// # Errors
/// TestU01 is not installed, or is not what it was.
pub fn run() -> Result<(), Failure> {
    let missing = |_| Failure::Runtime("TestU01 is not installed: install libtestu01-0".into());
    let results = small_crush(&load().map_err(missing)?);
    let results = results.map_err(|error| Failure::Runtime(format!("TestU01: {error}")))?;
    for (name, p_value) in results {
        output::print(&format!("\n{MARK}{p_value} {name}"))?;
    }
    output::print("\n")
}

/// Names and p-values of the results.
fn small_crush(library: &Loaded) -> Result<Vec<(String, f64)>, String> {
    type Create = unsafe extern "C" fn(*const c_char, extern "C" fn() -> c_uint) -> *mut c_void;
    type Run = unsafe extern "C" fn(*mut c_void);
    // SAFETY: the types are those of unif01.h, bbattery.h and swrite.h of TestU01 1.2.3, whose
    // interface has not changed since 2009. The name is a string that lives forever, and so does
    // the generator, which nothing frees. Variables are read when SmallCrush has ended, which then
    // has set as many values and names as it says; nothing else runs in the library.
    unsafe {
        let create: Create = library.symbol("unif01_CreateExternGenBits")?;
        let run: Run = library.symbol("bbattery_SmallCrush")?;
        let verbose: *mut c_int = library.symbol("swrite_Basic")?;
        let number: *const c_int = library.symbol("bbattery_NTests")?;
        let p_values: *const c_double = library.symbol("bbattery_pVal")?;
        let names: *const *const c_char = library.symbol("bbattery_TestNames")?;
        *verbose = 0;
        run(create(c"standard input".as_ptr(), word));
        libc::fflush(std::ptr::null_mut());
        let result = |i: usize| (text(*names.add(i)), *p_values.add(i));
        Ok((0..*number as usize).map(result).collect())
    }
}

/// The next word of the standard input.
extern "C" fn word() -> c_uint {
    thread_local! {
        static INPUT: RefCell<BufReader<io::StdinLock<'static>>> =
            RefCell::new(BufReader::with_capacity(1 << 16, io::stdin().lock()));
    }
    let mut word = [0; 4];
    match INPUT.with_borrow_mut(|input| input.read_exact(&mut word)) {
        Ok(()) => c_uint::from_le_bytes(word),
        Err(_) => process::exit(1),
    }
}

/// Counts what [`run`] printed.
pub(super) fn tally(text: &str) -> Tally {
    let mut tally = Tally::default();
    let results = text
        .lines()
        .filter_map(|line| line.strip_prefix(MARK)?.split_once(' '));
    for (p_value, name) in results {
        let Ok(p_value) = p_value.parse::<f64>() else {
            continue;
        };
        match p_value.min(1.0 - p_value) {
            // A test that was not done has a negative one.
            ..0.0 => {}
            ..FAILED => tally.failed.push(format!("{name} (p {p_value:.0e})")),
            ..SUSPICIOUS => tally.suspicious += 1,
            _ => tally.passed += 1,
        }
    }
    tally
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p_values_are_judged_on_both_sides() {
        let text = "
running 1 test
p-value 0.5 BirthdaySpacings
p-value 0.9995 Collision
p-value 1 Gap
p-value 0.0000000000000001 SimpPoker
p-value -1 CouponCollector
";
        let expected = Tally {
            passed: 1,
            suspicious: 1,
            failed: vec!["Gap (p 1e0)".into(), "SimpPoker (p 1e-16)".into()],
            is_stopped: false,
        };
        assert_eq!(tally(text), expected);
    }
}
