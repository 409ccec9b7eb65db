//! A handshake in memory between a client and a server that use one provider.

use std::sync::Arc;

use rustls::crypto::CryptoProvider;
use rustls::pki_types::{PrivateKeyDer, ServerName};
use rustls::{
    ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection,
    SupportedProtocolVersion,
};

/// A client and a server that trust each other.
pub struct Pair {
    client: Arc<ClientConfig>,
    server: Arc<ServerConfig>,
}

impl Pair {
    /// Both with `provider`, for one version of TLS.
    pub fn new(provider: CryptoProvider, version: &'static SupportedProtocolVersion) -> Pair {
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
    pub fn shake_hands(&self) {
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
