//! Tests both variants of the configuration for users, with C programs and the `openssl` command.

use squall_testing::suite::Test;
use squall_testing::tests;

use crate::workspace::{FRAGMENT, MODULES, OPENSSL, Workspace, run};

fn all_of_rand_is_served_by_squall() {
    let workspace = Workspace::replacing();
    assert_eq!(workspace.run("rand", &["all"]), "SQUALL SQUALL SQUALL\n");
    let [bytes, seeds] = workspace.drawn();
    // Six times 5000 bytes.
    assert_eq!((bytes.requests, bytes.bytes), (6, 30_000));
    assert_eq!(seeds.requests, 0);
}

fn openssls_generators_are_seeded_by_squall() {
    let workspace = Workspace::seeding();
    assert_eq!(
        workspace.run("rand", &["all"]),
        "CTR-DRBG CTR-DRBG CTR-DRBG\n"
    );
    let [bytes, seeds] = workspace.drawn();
    assert_eq!(bytes.requests, 0);
    // The first generator's nonce and seed, and a seed for each of three calls that ask for one.
    assert!(seeds.requests >= 5, "{seeds:?}");
    assert!(seeds.bytes >= 16 + 4 * 32, "{seeds:?}");
}

/// The control for the counters: a provider that is only loaded serves nothing.
fn without_the_section_squall_serves_nothing() {
    let workspace = Workspace::unused();
    assert_eq!(
        workspace.run("rand", &["all"]),
        "CTR-DRBG CTR-DRBG CTR-DRBG\n"
    );
    assert_eq!(workspace.totals().loads, 1);
    assert_eq!(workspace.drawn().map(|total| total.requests), [0, 0]);
}

fn the_generator_can_be_selected_by_property() {
    for properties in ["provider=squall", "?provider=squall"] {
        let with = format!("\nrandom = SQUALL\nproperties = {properties}\n");
        let workspace = Workspace::new(&FRAGMENT.replace("\nrandom = SQUALL\n", &with));
        assert_eq!(workspace.run("rand", &["all"]), "SQUALL SQUALL SQUALL\n");
    }
}

fn the_fragment_can_be_included_in_openssl_cnf() {
    let workspace = Workspace::replacing();
    let whole = format!(
        "openssl_conf = openssl_init\n\
         [openssl_init]\nproviders = provider_sect\noid_section = new_oids\n\
         [new_oids]\nsquallTest = 1.2.3.4.5\n\
         [provider_sect]\ndefault = default_sect\nlegacy = legacy_sect\n\
         [default_sect]\nactivate = 1\n[legacy_sect]\nactivate = 1\n\
         .include {}\n",
        workspace.path("openssl.cnf").display()
    );
    std::fs::write(workspace.path("whole.cnf"), whole).expect("a file");
    let openssl = |arguments: &[&str]| {
        let mut command = workspace.command("openssl");
        command.env("OPENSSL_CONF", workspace.path("whole.cnf"));
        crate::workspace::output_of(command.args(arguments))
    };
    let providers = openssl(&["list", "-providers"]);
    for name in ["default", "legacy", "squall"] {
        assert!(providers.contains(&format!("  {name}\n")), "{providers}");
    }
    assert!(openssl(&["list", "-objects"]).contains("squallTest"));
    assert_eq!(openssl(&["rand", "-hex", "32"]).trim().len(), 64);
    assert_eq!(workspace.drawn()[0].bytes, 32);
}

fn the_openssl_command_works_with_squall() {
    for (workspace, generator, least) in [
        (Workspace::replacing(), "SQUALL @ squall", [1000, 0]),
        // At least a nonce and two seeds for each of seven processes.
        (Workspace::seeding(), "CTR-DRBG @ default", [0, 300]),
    ] {
        let instances = workspace.openssl(&["list", "-random-instances", "-verbose"]);
        assert_eq!(instances.matches(generator).count(), 3, "{instances}");
        assert_eq!(instances.matches("state = ready").count(), 3, "{instances}");
        assert_eq!(instances.matches("strength: 256").count(), 3, "{instances}");
        let first = workspace.openssl(&["rand", "-hex", "300"]);
        let second = workspace.openssl(&["rand", "-hex", "300"]);
        assert!(first.trim().len() == 600 && first[..32] != second[..32]);
        let key = workspace.path("key.pem");
        let key = key.to_str().expect("text");
        workspace.openssl(&["genpkey", "-quiet", "-algorithm", "ED25519", "-out", key]);
        workspace.openssl(&["pkey", "-in", key, "-check", "-noout"]);
        // Finding a prime of an RSA key takes some dozens of draws.
        let rsa = ["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"];
        workspace.openssl(&[&["genpkey", "-quiet", "-out", key], &rsa[..]].concat());
        workspace.openssl(&["pkey", "-in", key, "-check", "-noout"]);
        let [bytes, seeds] = workspace.drawn();
        let drawn = [bytes.bytes, seeds.bytes];
        assert!(drawn[0] >= least[0] && drawn[1] >= least[1], "{drawn:?}");
        assert_eq!(workspace.totals().loads, 7);
    }
}

fn generators_follow_the_life_cycle_of_provider_rand() {
    let workspace = Workspace::unused();
    workspace.run("generator", &[&MODULES.to_string_lossy(), "life"]);
    let [bytes, seeds] = workspace.drawn();
    assert!(
        bytes.bytes >= 4 * 32 && seeds.requests > 10,
        "{bytes:?} {seeds:?}"
    );
}

/// A program gets the same answers as from OpenSSL's own generators, call by call.
fn calls_are_answered_as_by_openssls_own_generators() {
    let stock = Workspace::unused().run("rand", &["calls"]);
    assert!(stock.lines().count() > 100, "{stock}");
    assert_eq!(Workspace::replacing().run("rand", &["calls"]), stock);
}

/// If the provider is missing, OpenSSL does not silently fall back to another generator.
fn without_the_module_there_are_no_bytes() {
    let workspace = Workspace::new(&FRAGMENT.replace("{module}", "/nonexistent/squall.so"));
    let output = run(workspace.command("openssl").args(["rand", "-hex", "16"]));
    assert!(!output.status.success() && output.stdout.is_empty());
}

pub const TESTS: &[Test] = tests![
    all_of_rand_is_served_by_squall: [OPENSSL],
    openssls_generators_are_seeded_by_squall: [OPENSSL],
    without_the_section_squall_serves_nothing: [OPENSSL],
    the_generator_can_be_selected_by_property: [OPENSSL],
    the_fragment_can_be_included_in_openssl_cnf: [OPENSSL],
    the_openssl_command_works_with_squall: [OPENSSL],
    generators_follow_the_life_cycle_of_provider_rand: [OPENSSL],
    calls_are_answered_as_by_openssls_own_generators: [OPENSSL],
    without_the_module_there_are_no_bytes: [OPENSSL],
];
