//! `squall dmcrypt kdf`, as a user without rights and on a kernel without AF_ALG.

use crate::common::commands::contains;
use crate::common::needs::GUESTS;
use crate::dmcrypt::workspace::{BARE, USUAL, Workspace};
use squall_testing::suite::Test;
use squall_testing::tests;

pub const TESTS: &[Test] = tests![
    it_needs_neither_root_nor_af_alg: [GUESTS],
];

/// cryptsetup measures ciphers by AF_ALG.
const THEIRS: &str = "cryptsetup benchmark --cipher aes-cbc --key-size 128";

fn it_needs_neither_root_nor_af_alg() {
    let workspace = Workspace::new();
    let mut session = workspace.boot_with_two_cpus(BARE);
    session.fails(&format!("{THEIRS} >&2"));
    session.ok("echo root:x:0:0::/root:/bin/sh >/etc/passwd");
    session.ok("echo nobody:x:65534:65534::/:/bin/sh >>/etc/passwd");
    session.write("/tmp/run", "exec squall dmcrypt kdf --time 100 --json\n");
    let job = session.guest.start("exec su nobody -c 'exec sh /tmp/run'");
    let found = session.end(job.expect("a job")).success();
    let found: serde_json::Value = serde_json::from_str(&found).expect("JSON");
    assert_eq!(found["format"], "squall-dmcrypt-kdf/1");
    assert_eq!(found["machine"]["is_emulated"], true);
    let of = |function: &str| {
        let derivations = found["derivations"].as_array().expect("a list");
        let found = derivations.iter().find(|it| it["function"] == function);
        found.expect("a function").clone()
    };
    let argon2 = of("argon2id");
    assert_eq!(argon2["threads"], 2, "as many as CPUs");
    assert!(argon2["iterations"].as_u64() >= Some(4));
    let half = session.ok("awk '/^MemTotal:/ { print int($2 / 2) }' /proc/meminfo");
    let half: u64 = half.trim().parse().expect("a number");
    let memory = argon2["memory_kib"].as_u64().expect("a number");
    assert!((64 << 10..=half).contains(&memory), "{memory} of {half}");
    for function in ["pbkdf2-sha256", "pbkdf2-sha512"] {
        assert!(of(function)["iterations_per_second"].as_f64() > Some(0.0));
    }

    let refused = session.squall("dmcrypt kdf --time 50").failure(2);
    contains(&refused, &["--time", "50 is not in 100..=60000"]);

    // The control: with AF_ALG cryptsetup can measure.
    let mut session = workspace.boot_with(USUAL, Vec::new());
    contains(&session.ok(THEIRS), &["aes-cbc"]);
}
