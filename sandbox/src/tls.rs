//! TLS for the listeners that support it, with a given certificate or one that is generated and self-signed at each start.
//!
//! Clients don't trust a self-signed certificate in advance: to verify the server, compare its fingerprint with the one the sandbox prints at
//! startup.

use std::io;
use std::sync::Arc;

use ::ring::digest::{SHA256, digest};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

/// The names and addresses in the certificate.
const NAMES: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// A certificate and its server configuration. Clones share both.
#[derive(Clone)]
pub struct Tls {
    pub(super) acceptor: TlsAcceptor,
    certificate: Arc<[u8]>,
    /// The certificate, if it is self-signed.
    self_signed: Option<Arc<str>>,
}

impl Tls {
    /// Generates a key, and a self-signed certificate for this machine.
    ///
    /// # Errors
    /// Fails if random numbers are unavailable.
    pub fn self_signed() -> io::Result<Self> {
        let made = rcgen::generate_simple_self_signed(NAMES.map(str::to_owned)).map_err(io::Error::other)?;
        let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
        let tls = Self::from_chain(vec![made.cert.der().clone()], key.into())?;
        Ok(Self { self_signed: Some(made.cert.pem().into()), ..tls })
    }

    /// Reads a certificate, optionally followed by its chain, and its private key, both in PEM format.
    ///
    /// # Errors
    /// Fails if there is no certificate or no key, or if they don't match.
    pub fn from_pem(certificate: &[u8], key: &[u8]) -> io::Result<Self> {
        let chain = CertificateDer::pem_slice_iter(certificate).collect::<Result<Vec<_>, _>>();
        let chain = chain.map_err(io::Error::other)?;
        let key = PrivateKeyDer::from_pem_slice(key)
            .map_err(|_| io::Error::other("there is no private key in PEM format"))?;
        Self::from_chain(chain, key)
    }

    fn from_chain(chain: Vec<CertificateDer<'static>>, key: PrivateKeyDer<'static>) -> io::Result<Self> {
        let first = chain.first().ok_or_else(|| io::Error::other("there is no certificate in PEM format"))?;
        let certificate = first.as_ref().into();
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key))
            .map_err(io::Error::other)?;
        Ok(Self { acceptor: TlsAcceptor::from(Arc::new(config)), certificate, self_signed: None })
    }

    /// Returns the certificate in PEM format if it is self-signed, so that clients can trust it.
    pub fn self_signed_pem(&self) -> Option<&str> {
        self.self_signed.as_deref()
    }

    /// Returns the DER-encoded certificate.
    pub fn certificate(&self) -> &[u8] {
        &self.certificate
    }

    /// Returns the certificate's SHA-256 fingerprint in the usual format: 32 bytes as `AB:CD:…`.
    pub fn fingerprint(&self) -> String {
        let bytes = digest(&SHA256, &self.certificate);
        bytes.as_ref().iter().map(|byte| format!("{byte:02X}")).collect::<Vec<_>>().join(":")
    }
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tls").field("fingerprint", &self.fingerprint()).finish_non_exhaustive()
    }
}
