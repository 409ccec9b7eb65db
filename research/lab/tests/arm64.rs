//! The guards, the preload library, the provider and the command on real kernels of arm64, with pages of 4
//! and 16 KiB.

use std::path::Path;
use std::time::Duration;

use squall_lab::arm64::{Build, Said, Shop};
use squall_lab::debian::KernelName;
use squall_tools::{Failure, Interrupt};

use crate::common::commands::contains;
use crate::common::needs::ARM64;
use crate::common::{Turn, message};
use squall_testing::suite::Test;
use squall_testing::tests;

pub const TESTS: &[Test] = tests![
    guards_of_linux_6_12: [ARM64],
    guards_of_linux_6_12_with_large_pages: [ARM64],
    guards_of_the_newest_linux: [ARM64],
    guards_of_the_newest_linux_with_large_pages: [ARM64],
    doors_of_the_newest_linux_with_large_pages: [ARM64],
];

/// All cases of a kernel take minutes, and many more on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(3600);

/// The only reasons for which a case may be ignored: arm64, QEMU's CPU and its machine lack these.
const LACKING: [&str; 5] = [
    "no such instructions",
    "no trap flag",
    "no instruction reads the CPU's number",
    "no hypervisor announces itself",
    "the CPU keeps hashes in registers",
];

fn shop(kernel: KernelName) -> Result<Shop, Failure> {
    let interrupt = Interrupt::watch("the machine is ended")?;
    Shop::open(kernel, interrupt, TIMEOUT)
}

/// Runs `script`, which must end well.
#[track_caller]
fn run(shop: &Shop, files: &[(&str, &Path)], script: &str) -> Said {
    let said = shop.run(files, script);
    let said = said.unwrap_or_else(|failure| panic!("{}", message(failure)));
    assert!(said.succeeded, "{}", said.console);
    said
}

fn guards(kernel: KernelName) {
    let _turn = Turn::take();
    let shop = shop(kernel).unwrap_or_else(|failure| panic!("{}", message(failure)));
    let guards = Build::Test("squall", "guards", "testing").build();
    let guards = guards.unwrap_or_else(|failure| panic!("{}", message(failure)));
    let said = run(&shop, &[("guards", &guards)], "/guards");
    let ignored = said
        .console
        .lines()
        .filter(|line| line.contains("... ignored"));
    for line in ignored {
        let is_known = LACKING.iter().any(|reason| line.contains(reason));
        assert!(is_known, "{line}");
    }
    contains(&said.console, &["test result: ok. "]);
}

fn guards_of_linux_6_12() {
    guards(KernelName::Arm64V6_12);
}

fn guards_of_linux_6_12_with_large_pages() {
    guards(KernelName::Arm64V6_12Pages16K);
}

fn guards_of_the_newest_linux() {
    guards(KernelName::Arm64Newest);
}

fn guards_of_the_newest_linux_with_large_pages() {
    guards(KernelName::Arm64NewestPages16K);
}

/// Draws by the preload library, by OpenSSL's provider and by the command, and checks the counters of what
/// squall served.
const DOORS: &str = r#"
set -e
served() { squall status --json --counters "$2" | tr -d ' \n' | grep -q "\"door\":\"$1\",\"requests\":[1-9]"; }
for asked in g=getrandom a=arc4random d=device n=getrandom; do
    letter=${asked%=*}
    [ "$(printf $letter$letter | squall run --counters /tmp/drawn-$letter -- draws | wc -c)" = 128 ]
    served ${asked#*=} /tmp/drawn-$letter
done
squall openssl-conf > /tmp/squall.cnf
export OPENSSL_CONF=/tmp/squall.cnf
[ "$(squall run --counters /tmp/provided -- openssl rand 32 | wc -c)" = 32 ]
served openssl /tmp/provided
[ "$(squall stream --size 1000 | wc -c)" = 1000 ]
echo all doors served
"#;

fn doors_of_the_newest_linux_with_large_pages() {
    let _turn = Turn::take();
    let shop = shop(KernelName::Arm64NewestPages16K);
    let shop = shop.unwrap_or_else(|failure| panic!("{}", message(failure)));
    let built = |what: Build| {
        what.build()
            .unwrap_or_else(|failure| panic!("{}", message(failure)))
    };
    let draws = shop.c_program("draws");
    let draws = draws.unwrap_or_else(|failure| panic!("{}", message(failure)));
    let said = run(
        &shop,
        &[
            (
                "usr/bin/squall",
                &built(Build::Program("squall-cli", "squall")),
            ),
            ("usr/bin/draws", &draws),
            (
                "usr/lib/libsquall-preload.so",
                &built(Build::Library("squall-preload")),
            ),
            (
                "usr/lib/ossl-modules/squall.so",
                &built(Build::Library("squall-openssl")),
            ),
        ],
        DOORS,
    );
    contains(&said.console, &["all doors served"]);
}
