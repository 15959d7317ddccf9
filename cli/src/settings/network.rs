//! How the service is reached: the certificate authorities and the proxy of the settings.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use idempost::transport::{ReqwestTransport, install_crypto_provider};
use url::Url;

use super::env::Env;
use super::keys;

const CACERT: &str = "IDEMPOST_CACERT";
const PROXY: &str = "IDEMPOST_PROXY";
/// A larger file isn't a bundle of certificates.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// The certificate authorities to trust besides the system's, and the proxy instead of the environment's.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Network {
    pub(crate) cacert: Option<PathBuf>,
    pub(crate) proxy: Option<Url>,
}

impl Network {
    /// The settings that another process of this program [passed on](Self::variables).
    pub(crate) fn of_env(env: &Env) -> Self {
        let proxy = env.get(PROXY).and_then(|proxy| keys::proxy(proxy).ok());
        Self { cacert: env.path(CACERT), proxy }
    }

    /// The variables that pass the settings on to another process of this program.
    pub(crate) fn variables(&self) -> impl Iterator<Item = (&'static str, OsString)> {
        let cacert = self.cacert.as_ref().map(|file| (CACERT, file.into()));
        cacert.into_iter().chain(self.proxy.as_ref().map(|proxy| (PROXY, proxy.as_str().into())))
    }

    /// The transport.
    ///
    /// # Errors
    /// The rule that the file of the certificates breaks.
    pub(crate) fn transport(&self) -> Result<ReqwestTransport, String> {
        let transport = match &self.cacert {
            Some(file) => {
                let certificates = certificates(file)?;
                ReqwestTransport::configured(move |http| http.tls_certs_merge(certificates.iter().cloned()))
            }
            None => ReqwestTransport::new(),
        };
        Ok(match &self.proxy {
            Some(proxy) => transport.proxy(proxy.as_str()),
            None => transport,
        })
    }
}

/// The certificates in a PEM file.
pub(crate) fn certificates(file: &Path) -> Result<Vec<reqwest::Certificate>, String> {
    let shown = file.display();
    let read = crate::files::read(file, MAX_BYTES, true);
    let pem = read.map_err(|error| format!("couldn't read {shown}: {error}"))?;
    let pem = pem.ok_or_else(|| format!("couldn't read {shown}: no such file"))?;
    let found = reqwest::Certificate::from_pem_bundle(&pem).unwrap_or_default();
    if found.is_empty() {
        return Err(format!("{shown} contains no certificate in PEM format"));
    }
    // What the PEM contains is read only by the builder.
    install_crypto_provider();
    let built = reqwest::Client::builder().tls_certs_only(found.iter().cloned()).build();
    built.map_err(|_| format!("{shown} contains an invalid certificate"))?;
    Ok(found)
}

/// The file in `SSL_CERT_FILE`, which replaces the system's certificates, if it can't be read.
pub(crate) fn unreadable_cert_file(env: &Env) -> Option<String> {
    let file = env.path("SSL_CERT_FILE").filter(|_| cfg!(all(unix, not(target_vendor = "apple"))))?;
    certificates(&file).err()
}
