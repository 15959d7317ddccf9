//! The network settings: certificate authorities, client certificate and proxy.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use idempost::transport::{ReqwestTransport, install_crypto_provider};
use url::Url;

use super::env::Env;
use super::keys;

const CACERT: &str = "IDEMPOST_CACERT";
const CLIENT_CERT: &str = "IDEMPOST_CLIENT_CERT";
const PROXY: &str = "IDEMPOST_PROXY";
/// A larger file isn't a bundle of certificates.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// Additional certificate authorities, the client certificate, and a proxy that replaces the environment's.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Network {
    pub(crate) cacert: Option<PathBuf>,
    pub(crate) client_cert: Option<PathBuf>,
    pub(crate) proxy: Option<Url>,
}

impl Network {
    /// The settings that another process of this program [passed on](Self::variables).
    pub(crate) fn from_env(env: &Env) -> Self {
        let proxy = env.get(PROXY).and_then(|proxy| keys::parse_proxy(proxy).ok());
        Self { cacert: env.path(CACERT), client_cert: env.path(CLIENT_CERT), proxy }
    }

    /// The variables that pass the settings on to another process of this program.
    pub(crate) fn variables(&self) -> impl Iterator<Item = (&'static str, OsString)> {
        let files = [(CACERT, &self.cacert), (CLIENT_CERT, &self.client_cert)];
        let files = files.into_iter().filter_map(|(name, file)| Some((name, file.as_ref()?.into())));
        files.chain(self.proxy.as_ref().map(|proxy| (PROXY, proxy.as_str().into())))
    }

    /// The transport.
    ///
    /// # Errors
    /// The setting that names an unusable file, and the rule that the file breaks.
    pub(crate) fn transport(&self) -> Result<ReqwestTransport, (&'static str, String)> {
        let trusted =
            self.cacert.as_deref().map(read_certificates).transpose().map_err(|rule| ("cacert", rule))?;
        let own = self.client_cert.as_deref().map(read_identity).transpose();
        let own = own.map_err(|rule| ("client_cert", rule))?;
        let transport = if trusted.is_none() && own.is_none() {
            ReqwestTransport::new()
        } else {
            let trusted = trusted.unwrap_or_default();
            ReqwestTransport::with_config(move |http| {
                let http = http.tls_certs_merge(trusted.iter().cloned());
                own.iter().cloned().fold(http, reqwest::ClientBuilder::identity)
            })
        };
        Ok(self.proxy.iter().fold(transport, |transport, proxy| transport.proxy(proxy.as_str())))
    }
}

/// The certificates in a PEM file.
pub(crate) fn read_certificates(file: &Path) -> Result<Vec<reqwest::Certificate>, String> {
    let shown = file.display();
    let found = reqwest::Certificate::from_pem_bundle(&read(file)?).unwrap_or_default();
    if found.is_empty() {
        return Err(format!("{shown} contains no certificate in PEM format"));
    }
    // Only the builder reads the PEM's content.
    install_crypto_provider();
    let built = reqwest::Client::builder().tls_certs_only(found.iter().cloned()).build();
    built.map_err(|_| format!("{shown} contains an invalid certificate"))?;
    Ok(found)
}

/// The client's certificate and its key in a PEM file.
fn read_identity(file: &Path) -> Result<reqwest::Identity, String> {
    let shown = file.display();
    let identity = reqwest::Identity::from_pem(&read(file)?).map_err(|_| {
        format!("{shown} must contain a certificate and its private key, unencrypted, in PEM format")
    })?;
    // Only the builder checks whether the key belongs to the certificate.
    install_crypto_provider();
    let built = reqwest::Client::builder().tls_certs_only([]).identity(identity.clone()).build();
    built.map_err(|_| format!("{shown} contains an invalid certificate, or the key of another one"))?;
    Ok(identity)
}

fn read(file: &Path) -> Result<Vec<u8>, String> {
    let shown = file.display();
    let read = crate::files::read(file, MAX_BYTES, true);
    let pem = read.map_err(|error| format!("couldn't read {shown}: {error}"))?;
    pem.ok_or_else(|| format!("couldn't read {shown}: no such file"))
}

/// The file in `SSL_CERT_FILE`, which replaces the system's certificates, if it can't be read.
pub(crate) fn unreadable_cert_file(env: &Env) -> Option<String> {
    let file = env.path("SSL_CERT_FILE").filter(|_| cfg!(all(unix, not(target_vendor = "apple"))))?;
    read_certificates(&file).err()
}
