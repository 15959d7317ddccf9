//! TLS for the listeners that support it: a self-signed certificate, generated per run.
//!
//! It isn't trusted in advance: a client that verifies the server compares the fingerprint, which the sandbox prints at startup.

use std::io;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivatePkcs8KeyDer;

/// The names and addresses of the certificate: those of this machine.
const NAMES: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// A certificate with its server configuration. Clones share it.
#[derive(Clone)]
pub struct Tls {
    pub(super) acceptor: TlsAcceptor,
    certificate: Arc<[u8]>,
}

impl Tls {
    /// Generates a key, and a self-signed certificate for this machine.
    ///
    /// # Errors
    /// Fails if the cryptography fails, which happens only without random numbers.
    pub fn self_signed() -> io::Result<Self> {
        let made = rcgen::generate_simple_self_signed(NAMES.map(str::to_owned)).map_err(io::Error::other)?;
        let certificate = made.cert.der().clone();
        let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .and_then(|builder| {
                builder.with_no_client_auth().with_single_cert(vec![certificate.clone()], key.into())
            })
            .map_err(io::Error::other)?;
        Ok(Self { acceptor: TlsAcceptor::from(Arc::new(config)), certificate: certificate.as_ref().into() })
    }

    /// The certificate, DER-encoded.
    pub fn certificate(&self) -> &[u8] {
        &self.certificate
    }

    /// The SHA-256 fingerprint of the certificate in the usual format: `AB:CD:…`, 32 bytes.
    pub fn fingerprint(&self) -> String {
        let bytes = Sha256::digest(&self.certificate);
        bytes.iter().map(|byte| format!("{byte:02X}")).collect::<Vec<_>>().join(":")
    }
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tls").field("fingerprint", &self.fingerprint()).finish_non_exhaustive()
    }
}
