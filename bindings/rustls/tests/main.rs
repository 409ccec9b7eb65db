//! Handshakes of TLS 1.2 and 1.3 in memory, with squall's provider: counts what they draw from squall through rustls,
//! and what `ring` draws from getrandom(2). The preloaded library counts the latter.

use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rustls::crypto::{CryptoProvider, GetRandomFailed, SecureRandom, ring};
use rustls::pki_types::{PrivateKeyDer, ServerName};
use rustls::version::{TLS12, TLS13};
use rustls::{
    ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection,
    SupportedProtocolVersion,
};
use squall_binding_base::counters::Interface;
use squall_testing::suite::{self, Test};
use squall_testing::workspace::counted;
use squall_testing::{artifacts, tests};

fn main() -> ExitCode {
    if std::env::var_os(CHILD).is_some() {
        shake_hands_and_count();
        return ExitCode::SUCCESS;
    }
    suite::main(&[TESTS])
}

const TESTS: &[Test] = tests![
    bytes_of_rustls_come_from_squall_and_those_of_ring_from_the_kernel,
    the_provider_changes_nothing_else,
];

/// If this variable is set, this program shakes hands.
const CHILD: &str = "SQUALL_TEST_HANDSHAKE";

/// How many handshakes of each version the child makes.
const HANDSHAKES: u64 = 10;

/// Counts the bytes that rustls draws from a provider.
#[derive(Debug)]
struct Counting {
    provider: &'static dyn SecureRandom,
    bytes: AtomicU64,
}

impl SecureRandom for Counting {
    fn fill(&self, buffer: &mut [u8]) -> Result<(), GetRandomFailed> {
        self.bytes.fetch_add(buffer.len() as u64, Ordering::Relaxed);
        self.provider.fill(buffer)
    }
}

/// Shakes hands with squall's provider, or `ring`'s if the variable says so, and prints the number of bytes
/// that rustls drew.
fn shake_hands_and_count() {
    let base = ring::default_provider();
    let is_control = std::env::var(CHILD).is_ok_and(|name| name == "ring");
    let provider = if is_control {
        base
    } else {
        squall_rustls::provider(base)
    };
    let counting: &'static Counting = Box::leak(Box::new(Counting {
        provider: provider.secure_random,
        bytes: AtomicU64::new(0),
    }));
    let provider = CryptoProvider {
        secure_random: counting,
        ..provider
    };
    for version in [&TLS12, &TLS13] {
        let pair = Pair::new(provider.clone(), version);
        (0..HANDSHAKES).for_each(|_| pair.shake_hands());
    }
    println!("{}", counting.bytes.load(Ordering::Relaxed));
}

/// The bytes that rustls drew, and those that were drawn by getrandom(2), with this provider.
fn drawn_with(provider: &str) -> (u64, u64) {
    let mut child = Command::new(std::env::current_exe().expect("this program"));
    child
        .env(CHILD, provider)
        .env("LD_PRELOAD", artifacts::preload());
    let (by_rustls, totals) = counted(&mut child);
    let by_rustls = by_rustls.trim().parse();
    (
        by_rustls.expect("a number"),
        totals.count(Interface::Getrandom).bytes,
    )
}

fn bytes_of_rustls_come_from_squall_and_those_of_ring_from_the_kernel() {
    let (by_rustls, beside_squall) = drawn_with("squall");
    // Two hello messages have 32 random bytes each.
    assert!(by_rustls >= 2 * HANDSHAKES * 64, "{by_rustls}");
    // ring draws two private keys of 32 bytes in each handshake of TLS 1.3.
    assert!(beside_squall >= HANDSHAKES * 64, "{beside_squall}");
    // The control: with ring's provider the bytes of rustls are drawn by the same calls.
    let (by_rustls, beside_ring) = drawn_with("ring");
    assert!(
        beside_ring >= beside_squall + by_rustls / 2,
        "{beside_ring}, {beside_squall} and {by_rustls}"
    );
}

fn the_provider_changes_nothing_else() {
    let base = ring::default_provider();
    let ours = squall_rustls::provider(base.clone());
    assert_eq!(
        format!("{:?}", ours.cipher_suites),
        format!("{:?}", base.cipher_suites)
    );
    assert_eq!(format!("{:?}", ours.secure_random), "Squall");
    assert!(!ours.fips());
    let mut bytes = [0; 32];
    ours.secure_random.fill(&mut bytes).expect("bytes");
    assert_ne!(bytes, [0; 32]);
}

/// A client and a server that trust each other.
struct Pair {
    client: Arc<ClientConfig>,
    server: Arc<ServerConfig>,
}

impl Pair {
    /// Both with `provider`, for one version of TLS.
    fn new(provider: CryptoProvider, version: &'static SupportedProtocolVersion) -> Pair {
        let provider = Arc::new(provider);
        let certified =
            rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
        let certificate = certified.cert.der().clone();
        let key = PrivateKeyDer::try_from(certified.signing_key.serialize_der()).expect("a key");
        let mut roots = RootCertStore::empty();
        roots.add(certificate.clone()).expect("a certificate");
        let client = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&[version])
            .expect("a version")
            .with_root_certificates(roots)
            .with_no_client_auth();
        let server = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[version])
            .expect("a version")
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key)
            .expect("a key and its certificate");
        Pair {
            client: Arc::new(client),
            server: Arc::new(server),
        }
    }

    /// Shakes hands, and sends a few bytes.
    fn shake_hands(&self) {
        let name = ServerName::try_from("localhost").expect("a name");
        let mut client = ClientConnection::new(Arc::clone(&self.client), name).expect("a client");
        let mut server = ServerConnection::new(Arc::clone(&self.server)).expect("a server");
        while client.is_handshaking() || server.is_handshaking() {
            pass(&mut client, &mut server);
            pass(&mut server, &mut client);
        }
        let sent = b"hello";
        std::io::Write::write_all(&mut client.writer(), sent).expect("room");
        pass(&mut client, &mut server);
        let mut received = [0; 5];
        std::io::Read::read_exact(&mut server.reader(), &mut received).expect("bytes");
        assert_eq!(&received, sent);
    }
}

/// Passes on what one side wants to send.
fn pass<A, B>(from: &mut rustls::ConnectionCommon<A>, to: &mut rustls::ConnectionCommon<B>)
where
    A: rustls::SideData,
    B: rustls::SideData,
{
    let mut bytes = Vec::new();
    while from.wants_write() {
        from.write_tls(&mut bytes).expect("memory has room");
    }
    let mut rest = bytes.as_slice();
    while !rest.is_empty() {
        to.read_tls(&mut rest).expect("bytes");
        to.process_new_packets().expect("a handshake");
    }
}
