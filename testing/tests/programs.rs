//! Real programs draw from squall, by preloading or by OpenSSL's provider, and work as before. Counters show
//! that squall served them; as a control, the same program without an interface counts nothing.

use std::collections::BTreeSet;

use squall_binding_base::counters::{Interface, Totals};
use squall_testing::needs::TEST_ALL;
use squall_testing::programs::nginx::Nginx;
use squall_testing::programs::postgres::Postgres;
use squall_testing::programs::{
    CHROMIUM, NGINX, OPENSSL, POSTGRES, PYTHON, SSH_KEYGEN, SSHD, chromium, openssl, python, ssh,
};
use squall_testing::suite::Test;
use squall_testing::tests;
use squall_testing::workspace::{Way, Workspace};

/// Requests that squall served, and that were left to the kernel.
fn requests(totals: &Totals, interface: Interface) -> (u64, u64) {
    let total = totals.count(interface);
    (total.requests, total.forwarded)
}

/// The control: what a program does without an interface, which counts nothing.
#[track_caller]
fn plainly<T>(act: impl FnOnce(&Workspace) -> T) -> T {
    let workspace = Workspace::new();
    let result = act(&workspace);
    let totals = workspace.counted();
    let mut interfaces = totals.interfaces.iter();
    let none = interfaces.all(|interface| interface.requests + interface.forwarded == 0);
    assert!(totals.loads == 0 && none, "{totals:?}");
    result
}

fn python_draws() {
    const COUNT: u64 = 1000;
    let before = plainly(|plain| python::draws(plain, Way::Plain, COUNT));
    let workspace = Workspace::new();
    let after = python::draws(&workspace, Way::Preloaded, COUNT);
    assert_eq!(after, before);
    assert_eq!(before, "1000 16\n".repeat(4));
    let totals = workspace.counted();
    // os.urandom, secrets and uuid, by getrandom(3); and the device.
    let (getrandom, forwarded) = requests(&totals, Interface::Getrandom);
    assert!(getrandom >= 3 * COUNT && forwarded == 0, "{totals:?}");
    assert!(
        requests(&totals, Interface::Device).0 >= COUNT,
        "{totals:?}"
    );
}

/// The browser's pages are in a sandbox, where the kernel serves them; its other processes draw from squall.
fn a_browser_draws_in_its_sandbox() {
    let before = plainly(|plain| chromium::page(plain, Way::Plain));
    assert!(before.contains("<p>values: 4</p>"), "{before}");
    let workspace = Workspace::new();
    let after = chromium::page(&workspace, Way::Preloaded);
    assert_eq!(after, before);
    let totals = workspace.counted();
    let (served, forwarded) = requests(&totals, Interface::Getrandom);
    assert!(served > 0 && forwarded > 0, "{totals:?}");
}

fn openssl_draws_keys_and_bytes() {
    const LEN: u64 = 100_000;
    plainly(|plain| openssl::key(plain, Way::Plain));
    let workspace = Workspace::new();
    let bytes = openssl::random(&workspace, Way::Provided, LEN);
    assert_eq!(bytes.len() as u64, LEN);
    let drawn = workspace.counted();
    assert!(drawn.count(Interface::Openssl).bytes >= LEN, "{drawn:?}");
    let keys: BTreeSet<_> = (0..5)
        .map(|_| openssl::key(&workspace, Way::Provided))
        .collect();
    assert_eq!(keys.len(), 5);
    assert!(
        keys.iter()
            .all(|key| key.starts_with("-----BEGIN PRIVATE KEY-----"))
    );
    let made = workspace.counted();
    let more = made.count(Interface::Openssl).bytes - drawn.count(Interface::Openssl).bytes;
    assert!(more >= 5 * 32, "{made:?}");
}

fn openssl_serves_tls() {
    plainly(|plain| {
        let (_server, port) = openssl::serve(plain, Way::Plain);
        openssl::connect(plain, port);
    });
    let workspace = Workspace::new();
    let (_server, port) = openssl::serve(&workspace, Way::Provided);
    let before = workspace.counted().count(Interface::Openssl).requests;
    for _ in 0..5 {
        let output = openssl::connect(&workspace, port);
        assert!(output.contains("Verify return code: 0 (ok)"), "{output}");
    }
    let after = workspace.counted().count(Interface::Openssl).requests;
    // Each handshake draws at least a random and a key share.
    assert!(after - before >= 10, "{before} {after}");
}

fn ssh_keygen_makes_keys() {
    plainly(|plain| ssh::key(plain, Way::Plain, "ed25519", "key"));
    for (way, interface) in [
        (Way::Preloaded, Interface::Arc4random),
        (Way::Provided, Interface::Openssl),
    ] {
        let workspace = Workspace::new();
        let mut prints = BTreeSet::new();
        for kind in ["ed25519", "ecdsa", "rsa"] {
            let file = ssh::key(&workspace, way, kind, kind);
            prints.insert(ssh::fingerprint(&file));
        }
        assert_eq!(prints.len(), 3, "{prints:?}");
        let totals = workspace.counted();
        assert!(totals.count(interface).bytes >= 32, "{way:?}: {totals:?}");
    }
}

fn sshd_lets_its_user_in() {
    plainly(|plain| {
        let server = ssh::Ssh::start(plain, Way::Plain);
        assert_eq!(server.run("echo squall; exit 0"), "squall\n");
    });
    for (way, interface) in [
        (Way::Preloaded, Interface::Arc4random),
        (Way::Provided, Interface::Openssl),
    ] {
        let workspace = Workspace::new();
        let server = ssh::Ssh::start(&workspace, way);
        let before = workspace.counted();
        for _ in 0..3 {
            assert_eq!(server.run("echo squall"), "squall\n", "{}", server.log());
        }
        let after = workspace.counted();
        assert!(
            after.count(interface).bytes > before.count(interface).bytes,
            "{way:?}: {before:?} {after:?} {}",
            server.log()
        );
        // A user who logs in does not get the server's environment.
        assert_eq!(server.run("echo \"[$LD_PRELOAD$SQUALL_COUNTERS]\""), "[]\n");
    }
}

fn nginx_shakes_hands() {
    const HANDSHAKES: u64 = 20;
    plainly(|plain| {
        let server = Nginx::start(plain, Way::Plain, 2);
        openssl::connect(plain, server.port());
    });
    let workspace = Workspace::new();
    let server = Nginx::start(&workspace, Way::Provided, 2);
    let before = workspace.counted().count(Interface::Openssl).requests;
    for _ in 0..HANDSHAKES {
        let output = openssl::connect(&workspace, server.port());
        assert!(output.contains("Verify return code: 0 (ok)"), "{output}");
    }
    let drawn = workspace.counted().count(Interface::Openssl).requests - before;
    assert!(drawn >= 2 * HANDSHAKES, "{drawn}: {}", server.log());
}

fn postgres_makes_a_million_uuids() {
    const COUNT: u64 = 1_000_000;
    let query = format!(
        "SELECT count(DISTINCT id), count(*) FILTER (WHERE substr(id::text, 15, 1) <> '4')
         FROM (SELECT gen_random_uuid() AS id FROM generate_series(1, {COUNT})) AS ids"
    );
    let right = format!("{COUNT}|0");
    plainly(|plain| {
        let server = Postgres::start(plain, Way::Plain);
        assert_eq!(server.query("SELECT length(gen_random_uuid()::text)"), "36");
    });
    let workspace = Workspace::new();
    let server = Postgres::start(&workspace, Way::Provided);
    assert_eq!(server.query(&query), right);
    drop(server);
    let totals = workspace.counted();
    let drawn = totals.count(Interface::Openssl);
    assert!(
        drawn.requests >= COUNT && drawn.bytes >= 16 * COUNT,
        "{totals:?}"
    );
}

pub const TESTS: &[Test] = tests![
    python_draws: [TEST_ALL, PYTHON],
    a_browser_draws_in_its_sandbox: [TEST_ALL, CHROMIUM],
    openssl_draws_keys_and_bytes: [TEST_ALL, OPENSSL],
    openssl_serves_tls: [TEST_ALL, OPENSSL],
    ssh_keygen_makes_keys: [TEST_ALL, SSH_KEYGEN],
    sshd_lets_its_user_in: [TEST_ALL, SSHD],
    nginx_shakes_hands: [TEST_ALL, NGINX, OPENSSL],
    postgres_makes_a_million_uuids: [TEST_ALL, POSTGRES],
];
