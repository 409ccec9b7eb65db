//! The provider's library: its exports, the OpenSSL cores that it accepts, and that it stays loaded.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;

use squall_testing::suite::Test;
use squall_testing::tests;

use crate::workspace::{CRATE, MODULES, OPENSSL, Workspace, module, output_of, run};

fn only_the_listed_symbols_are_exported() {
    let provider = module("squall.so");
    let mut nm = Command::new("nm");
    let symbols = output_of(
        nm.args(["--dynamic", "--defined-only", "--format=just-symbols"])
            .arg(provider),
    );
    let listed = std::fs::read_to_string(format!("{CRATE}/symbols.txt")).expect("symbols.txt");
    assert_eq!(symbols, listed);
}

/// The loader's reserve for such variables may be used up when a program loads the provider.
fn no_variable_of_a_thread_needs_static_tls() {
    let mut readelf = Command::new("readelf");
    let entries = output_of(readelf.arg("--dynamic").arg(module("squall.so")));
    assert!(entries.contains("NODELETE"), "{entries}");
    assert!(!entries.contains("STATIC_TLS"), "{entries}");
}

fn the_provider_loads_into_openssl_3_0_and_later() {
    let workspace = Workspace::unused();
    for version in ["3.0.0", "3.0.22", "3.5.0", "3.6.0-dev", "4.0.0"] {
        // This is the error of OpenSSL's own generators: PROV_R_INSUFFICIENT_DRBG_STRENGTH.
        let drawn = "accepted\nerror 1\nin random_bytes\n181: \ndrawn\n";
        assert_eq!(load_into(&workspace, version), drawn, "{version}");
    }
    let [bytes, _] = workspace.drawn();
    assert_eq!((bytes.requests, bytes.bytes), (15, 10_000));
}

fn the_provider_refuses_other_versions() {
    let workspace = Workspace::unused();
    for version in [
        "2.9.0",
        "1.1.1w",
        "garbage",
        "3",
        "3.0",
        "3.x.0",
        "-3.0.0",
        "LibreSSL 3.0.0",
        "",
        "none",
    ] {
        let refused = "error 1\nin OSSL_provider_init\n\
                       268: squall can be loaded into OpenSSL 3.0.0 and later\nrefused\n";
        assert_eq!(load_into(&workspace, version), refused, "{version}");
    }
    // A core that offers no functions, not even to report an error.
    assert_eq!(load_into(&workspace, "nothing"), "refused\n");
}

/// Loads the provider into a core that claims this version; returns what the program prints.
fn load_into(workspace: &Workspace, version: &str) -> String {
    let provider = module("squall.so");
    workspace.run("core", &[version, &provider.to_string_lossy()])
}

/// When a thread ends, the library's own code frees that thread's memory page.
fn a_thread_may_end_after_openssl_unloaded_the_provider() {
    let workspace = Workspace::unused();
    let folder = MODULES.to_string_lossy();
    assert_eq!(workspace.run("generator", &[&folder, "unload"]), "done\n");
}

/// The control: the same library without the NODELETE flag.
fn without_the_nodelete_flag_such_a_thread_crashes() {
    let workspace = Workspace::unused();
    let copy = workspace.path("squall.so");
    let mut library = std::fs::read(module("squall.so")).expect("the provider");
    clear_nodelete(&mut library);
    std::fs::write(&copy, library).expect("a copy");
    let folder: &Path = copy.parent().expect("a folder");
    let mut program = workspace.command(module("generator"));
    let output = run(program.arg(folder).arg("unload"));
    assert!(output.status.signal().is_some(), "{output:?}");
}

/// Clears the NODELETE flag (elf(5), DT_FLAGS_1).
fn clear_nodelete(library: &mut [u8]) {
    const DT_FLAGS_1: u64 = 0x6fff_fffb;
    const DF_1_NODELETE: u64 = 8;
    let words = library.chunks_exact_mut(8);
    let mut entries = words.skip_while(|word| **word != DT_FLAGS_1.to_le_bytes());
    entries.next().expect("flags");
    let flags = entries.next().expect("their value");
    let before = u64::from_le_bytes((&*flags).try_into().expect("a word"));
    assert_eq!(before & DF_1_NODELETE, DF_1_NODELETE);
    flags.copy_from_slice(&(before & !DF_1_NODELETE).to_le_bytes());
}

pub const TESTS: &[Test] = tests![
    only_the_listed_symbols_are_exported: [OPENSSL],
    no_variable_of_a_thread_needs_static_tls: [OPENSSL],
    the_provider_loads_into_openssl_3_0_and_later: [OPENSSL],
    the_provider_refuses_other_versions: [OPENSSL],
    a_thread_may_end_after_openssl_unloaded_the_provider: [OPENSSL],
    without_the_nodelete_flag_such_a_thread_crashes: [OPENSSL],
];
