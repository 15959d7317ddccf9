//! TLS for the doors that offer it: a self-signed certificate of the run.
//!
//! It is not trusted in advance: a client that verifies the server compares the fingerprint, which the sandbox prints at startup.

use std::io;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::PrivatePkcs8KeyDer;

/// The names and addresses that the certificate is for: those of this machine.
const NAMES: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// A certificate, and what it takes to serve with it. Clones share it.
#[derive(Clone)]
pub struct Tls {
    pub(super) acceptor: TlsAcceptor,
    certificate: Arc<[u8]>,
}

impl Tls {
    /// A new key, and a certificate for this machine that it signs itself.
    ///
    /// # Errors
    /// If the cryptography fails, which it does without random numbers only.
    pub fn self_signed() -> io::Result<Self> {
        let made = rcgen::generate_simple_self_signed(NAMES.map(str::to_owned)).map_err(io::Error::other)?;
        let certificate = made.cert.der().clone();
        let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
        let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()
            .and_then(|builder| {
                builder.with_no_client_auth().with_single_cert(vec![certificate.clone()], key.into())
            })
            .map_err(io::Error::other)?;
        Ok(Self { acceptor: TlsAcceptor::from(Arc::new(config)), certificate: certificate.as_ref().into() })
    }

    /// The certificate in DER.
    pub fn certificate(&self) -> &[u8] {
        &self.certificate
    }

    /// The SHA-256 fingerprint of the certificate as other programs write it: `AB:CD:…`, 32 bytes.
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
