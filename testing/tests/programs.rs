//! Real programs draw from squall, by preloading or by OpenSSL's provider, and do what they always
//! did. Counters show who served; as a control the same program without a door counts nothing.

use std::collections::BTreeSet;

use squall_bindings::counters::{Door, Totals};
use squall_testing::programs::{chromium, nginx::Nginx, openssl, postgres::Postgres, python, ssh};
use squall_testing::world::{Way, World};

/// What there is, or `None` where it may be missing: it is only told then.
fn there<T>(result: Result<T, String>) -> Option<T> {
    if std::env::var_os("SQUALL_REQUIRE_PROGRAMS").is_some() {
        return Some(result.expect("the program is required here"));
    }
    result.map_err(|why| println!("SKIP: {why}")).ok()
}

/// Requests that squall served, and that were left to the kernel.
fn requests(totals: &Totals, door: Door) -> (u64, u64) {
    let total = totals.of(door);
    (total.requests, total.forwarded)
}

/// Nothing came through any door.
#[track_caller]
fn assert_nothing_counted(world: &World) {
    let totals = world.counted();
    let counted = totals
        .doors
        .iter()
        .any(|door| door.requests + door.forwarded > 0);
    assert!(totals.loads == 0 && !counted, "{totals:?}");
}

#[test]
fn python_draws() {
    const COUNT: u64 = 1000;
    let plain = World::new();
    let Some(before) = there(python::draws(&plain, Way::Plain, COUNT)) else {
        return;
    };
    assert_nothing_counted(&plain);
    let world = World::new();
    let after = there(python::draws(&world, Way::Preloaded, COUNT));
    assert_eq!(after.as_ref(), Some(&before));
    assert_eq!(before, "1000 16\n".repeat(4));
    let totals = world.counted();
    // os.urandom, secrets and uuid, by getrandom(3); and the device.
    let (getrandom, forwarded) = requests(&totals, Door::Getrandom);
    assert!(getrandom >= 3 * COUNT && forwarded == 0, "{totals:?}");
    assert!(requests(&totals, Door::Device).0 >= COUNT, "{totals:?}");
}

/// Its pages are in a sandbox, where the kernel serves as ever; the rest of it draws from squall.
#[test]
fn a_browser_draws_in_its_sandbox() {
    let plain = World::new();
    let Some(before) = there(chromium::page(&plain, Way::Plain)) else {
        return;
    };
    assert!(before.contains("<p>values: 4</p>"), "{before}");
    assert_nothing_counted(&plain);
    let world = World::new();
    let after = chromium::page(&world, Way::Preloaded);
    assert_eq!(after, Ok(before));
    let totals = world.counted();
    let (served, forwarded) = requests(&totals, Door::Getrandom);
    assert!(served > 0 && forwarded > 0, "{totals:?}");
}

#[test]
fn openssl_draws_keys_and_bytes() {
    const LEN: u64 = 100_000;
    let plain = World::new();
    if there(openssl::key(&plain, Way::Plain)).is_none() {
        return;
    }
    assert_nothing_counted(&plain);
    let world = World::new();
    let bytes = openssl::random(&world, Way::Provided, LEN).expect("openssl");
    assert_eq!(bytes.len() as u64, LEN);
    let drawn = world.counted();
    assert!(drawn.of(Door::Openssl).bytes >= LEN, "{drawn:?}");
    let keys: BTreeSet<_> = (0..5)
        .map(|_| openssl::key(&world, Way::Provided).expect("openssl"))
        .collect();
    assert_eq!(keys.len(), 5);
    assert!(
        keys.iter()
            .all(|key| key.starts_with("-----BEGIN PRIVATE KEY-----"))
    );
    let made = world.counted();
    let more = made.of(Door::Openssl).bytes - drawn.of(Door::Openssl).bytes;
    assert!(more >= 5 * 32, "{made:?}");
}

#[test]
fn openssl_serves_tls() {
    let plain = World::new();
    let Some((server, port)) = there(openssl::serve(&plain, Way::Plain)) else {
        return;
    };
    openssl::connect(&plain, port).expect("openssl");
    drop(server);
    assert_nothing_counted(&plain);
    let world = World::new();
    let (_server, port) = openssl::serve(&world, Way::Provided).expect("openssl");
    let before = world.counted().of(Door::Openssl).requests;
    for _ in 0..5 {
        let said = openssl::connect(&world, port).expect("openssl");
        assert!(said.contains("Verify return code: 0 (ok)"), "{said}");
    }
    let after = world.counted().of(Door::Openssl).requests;
    // A random and a key share each, at the least.
    assert!(after - before >= 10, "{before} {after}");
}

#[test]
fn ssh_keygen_makes_keys() {
    let plain = World::new();
    if there(ssh::key(&plain, Way::Plain, "ed25519", "key")).is_none() {
        return;
    }
    assert_nothing_counted(&plain);
    for (way, door) in [
        (Way::Preloaded, Door::Arc4random),
        (Way::Provided, Door::Openssl),
    ] {
        let world = World::new();
        let mut prints = BTreeSet::new();
        for kind in ["ed25519", "ecdsa", "rsa"] {
            let file = ssh::key(&world, way, kind, kind).expect("ssh-keygen");
            prints.insert(ssh::fingerprint(&file).expect("ssh-keygen"));
        }
        assert_eq!(prints.len(), 3, "{prints:?}");
        let totals = world.counted();
        assert!(totals.of(door).bytes >= 32, "{way:?}: {totals:?}");
    }
}

#[test]
fn sshd_lets_its_user_in() {
    let plain = World::new();
    let Some(server) = there(ssh::Ssh::start(&plain, Way::Plain)) else {
        return;
    };
    assert_eq!(server.run("echo squall; exit 0"), "squall\n");
    drop(server);
    assert_nothing_counted(&plain);
    for (way, door) in [
        (Way::Preloaded, Door::Arc4random),
        (Way::Provided, Door::Openssl),
    ] {
        let world = World::new();
        let server = ssh::Ssh::start(&world, way).expect("sshd");
        let before = world.counted();
        for _ in 0..3 {
            assert_eq!(server.run("echo squall"), "squall\n", "{}", server.log());
        }
        let after = world.counted();
        assert!(
            after.of(door).bytes > before.of(door).bytes,
            "{way:?}: {before:?} {after:?} {}",
            server.log()
        );
        // Who logs in is not given the server's environment.
        assert_eq!(server.run("echo \"[$LD_PRELOAD$SQUALL_COUNTERS]\""), "[]\n");
    }
}

#[test]
fn nginx_shakes_hands() {
    let plain = World::new();
    let Some(server) = there(Nginx::start(&plain, Way::Plain, 2)) else {
        return;
    };
    let Some(load) = there(server.load(1)) else {
        return;
    };
    assert_eq!(load.errors, 0, "{}", server.log());
    drop(server);
    assert_nothing_counted(&plain);
    let world = World::new();
    let server = Nginx::start(&world, Way::Provided, 2).expect("nginx");
    let before = world.counted().of(Door::Openssl).requests;
    let load = server.load(2).expect("wrk");
    assert_eq!(load.errors, 0, "{}", server.log());
    assert!(load.requests > 10, "{load:?}");
    let drawn = world.counted().of(Door::Openssl).requests - before;
    assert!(drawn >= 2 * load.requests, "{drawn} for {load:?}");
    drop(server);
}

#[test]
fn postgres_makes_a_million_uuids() {
    const COUNT: u64 = 1_000_000;
    let query = format!(
        "SELECT count(DISTINCT id), count(*) FILTER (WHERE substr(id::text, 15, 1) <> '4')
         FROM (SELECT gen_random_uuid() AS id FROM generate_series(1, {COUNT})) AS ids"
    );
    let right = format!("{COUNT}|0");
    let plain = World::new();
    let Some(server) = there(Postgres::start(&plain, Way::Plain)) else {
        return;
    };
    assert_eq!(server.query("SELECT length(gen_random_uuid()::text)"), "36");
    drop(server);
    assert_nothing_counted(&plain);
    let world = World::new();
    let server = Postgres::start(&world, Way::Provided).expect("PostgreSQL");
    assert_eq!(server.query(&query), right);
    drop(server);
    let totals = world.counted();
    let drawn = totals.of(Door::Openssl);
    assert!(
        drawn.requests >= COUNT && drawn.bytes >= 16 * COUNT,
        "{totals:?}"
    );
}
