//! The headers: cbindgen generates squall.h from the source, and each header compiles alone as C and as
//! C++.

use std::process::Command;

use squall_testing::compiler::compile;
use squall_testing::needs::CXX_COMPILER;
use squall_testing::suite::Test;
use squall_testing::tests;

use crate::compile::{compiler, source_path};

/// Source files, in the order in which the header declares their functions.
const SOURCES: [&str; 5] = ["error", "draw", "stream", "clones", "status"];

/// Set to write the header instead of comparing it.
const UPDATE: &str = "SQUALL_UPDATE_HEADER";

fn generated() -> String {
    let config = cbindgen::Config::from_file(source_path("cbindgen.toml")).expect("cbindgen.toml");
    let mut builder = cbindgen::Builder::new().with_config(config);
    for source in SOURCES {
        builder = builder.with_src(source_path(&format!("src/{source}.rs")));
    }
    let mut header = Vec::new();
    builder.generate().expect("a header").write(&mut header);
    String::from_utf8(header).expect("text")
}

fn the_committed_header_is_up_to_date() {
    let (path, generated) = (source_path("include/squall.h"), generated());
    if std::env::var_os(UPDATE).is_some() {
        std::fs::write(&path, &generated).expect("the header can be written");
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    let changed = committed
        .lines()
        .zip(generated.lines())
        .find(|(a, b)| a != b);
    assert!(
        committed == generated,
        "include/squall.h differs from what cbindgen generates from src/, first here: {changed:?}\n\
         To update it: {UPDATE}=1 cargo test -p squall-c --test integration header"
    );
}

/// Checks the syntax of this text, with warnings as errors.
fn check_syntax(language: &str, standard: &str, text: &str) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let source = folder.path().join(format!("alone.{language}"));
    std::fs::write(&source, text).expect("a file");
    let mut command = compiler(&format!("alone.{language}"));
    command
        .args([&format!("-std={standard}"), "-fsyntax-only", "-Wundef"])
        .arg("-I")
        .arg(source_path("include"))
        .arg(&source);
    compile(&mut command);
}

/// Files that contain only includes and a function.
fn standalone_sources() -> [String; 4] {
    [
        "#include <squall.h>\n",
        "#include <squall_arc4random.h>\n",
        // Headers that declare the same names may come before or after.
        "#include <stdlib.h>\n#include <squall_arc4random.h>\n#include <squall.h>\n",
        "#include <squall_arc4random.h>\n#include <stdlib.h>\n",
    ]
    .map(|headers| format!("{headers}int alone(void);\nint alone(void) {{ return SQUALL_OK; }}\n"))
}

fn each_header_compiles_alone() {
    for text in standalone_sources() {
        for standard in ["c99", "c11", "gnu17"] {
            check_syntax("c", standard, &text);
        }
    }
}

fn each_header_compiles_alone_in_cxx() {
    for text in standalone_sources() {
        check_syntax("cpp", "c++98", &text);
        let with_library = format!("{text}#include <cstdlib>\n#include <random>\n");
        for standard in ["c++17", "gnu++20"] {
            check_syntax("cpp", standard, &with_library);
        }
    }
}

/// The compiler warns of a request whose result is ignored.
fn errors_must_not_be_ignored() {
    const IGNORED: &str = "#include <squall.h>\nvoid f(char *p);\nvoid f(char *p) { CALL; }\n";
    let folder = tempfile::tempdir().expect("a temporary folder");
    let source = folder.path().join("ignored.c");
    let compiles = |call: &str| {
        std::fs::write(&source, IGNORED.replace("CALL", call)).expect("a file");
        let mut command: Command = compiler("ignored.c");
        command.args(["-c", "-o", "/dev/null", "-I"]);
        command.arg(source_path("include")).arg(&source);
        command.output().expect("a compiler").status.success()
    };
    for call in ["squall_fill(p, 1)", "squall_fill_fresh(p, 1)"] {
        assert!(!compiles(call), "{call}");
        assert!(compiles(&format!("if ({call}) p[0] = 0")), "{call}");
    }
}

pub const TESTS: &[Test] = tests![
    the_committed_header_is_up_to_date,
    each_header_compiles_alone,
    each_header_compiles_alone_in_cxx: [CXX_COMPILER],
    errors_must_not_be_ignored,
];
