//! A child that serves a source: this test program, run again.

use std::env;
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::process::Command;

use squall_bench::remote::serve_on;
use squall_bench::source::Draw;
use squall_bench::sources;

/// What the child is to serve.
const VARIABLE: &str = "SQUALL_TEST_CHILD";

/// The child that serves `source`. What the test harness prints goes elsewhere.
pub(super) fn command(source: &str) -> Command {
    let mut command = Command::new("sh");
    let script =
        r#"exec "$0" --exact child::serves_if_it_is_the_child --nocapture 3>&1 >/dev/null"#;
    command
        .args(["-c", script])
        .arg(env::current_exe().unwrap());
    command.env(VARIABLE, source);
    command
}

#[test]
fn serves_if_it_is_the_child() {
    let Ok(name) = env::var(VARIABLE) else { return };
    let output = File::options().write(true).open("/dev/fd/3").unwrap();
    let opened = match name.as_str() {
        "idle" => Ok(Box::new(Idle) as _),
        "missing" => Err("libidle is not\ninstalled".into()),
        name => (sources::find(name).unwrap().open)(),
    };
    serve_on(io::stdin().lock(), output, opened).unwrap();
}

/// A source that leaves buffers as they are.
struct Idle;

impl Draw for Idle {
    fn fill(&mut self, _: &mut [u8]) {}
}

/// Whether the process whose number is in `file` is there; an unreaped one is not.
pub(super) fn is_alive(file: &Path) -> bool {
    let number = fs::read_to_string(file).unwrap();
    let state = fs::read_to_string(format!("/proc/{}/stat", number.trim())).unwrap_or_default();
    let is_over = state
        .rsplit(')')
        .next()
        .unwrap()
        .trim_start()
        .starts_with('Z');
    !state.is_empty() && !is_over
}
