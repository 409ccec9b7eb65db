//! Compiles C programs for tests. The tests fail without a compiler.

use std::process::Command;

/// Runs a compiler, which must succeed.
#[track_caller]
pub fn compile(compiler: &mut Command) {
    let output = compiler.output();
    let output = output.unwrap_or_else(|error| {
        let program = compiler.get_program().display();
        panic!("{program}: {error}: the tests need a C compiler: install gcc")
    });
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{compiler:?}: {said}");
}
