//! Queue connection options.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use secrecy::SecretString;
use url::Url;

use super::QueueError;

/// How a worker or a coordinator authenticates with the queue.
///
/// It is never stored with a job, and never appears in errors, logs or `Debug` output.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum QueueAuth {
    /// No credentials, or only the client certificate.
    #[default]
    None,
    /// A user name and a password.
    UserPassword {
        /// The user.
        user: String,
        /// The password.
        password: SecretString,
    },
    /// A token.
    Token(SecretString),
    /// A credentials file (`.creds`), with a user JWT and its NKey seed.
    CredentialsFile(PathBuf),
    /// An NKey seed (`SU…`).
    NkeySeed(SecretString),
}

/// The queue's address, credentials, TLS settings and number of replicas.
#[derive(Clone, Debug)]
pub struct QueueOptions {
    /// Without credentials.
    pub(crate) servers: Vec<Url>,
    pub(crate) auth: QueueAuth,
    pub(crate) ca_file: Option<PathBuf>,
    pub(crate) client_certificate: Option<(PathBuf, PathBuf)>,
    pub(crate) require_tls: bool,
    pub(crate) replicas: usize,
    pub(crate) monitoring: Option<Url>,
    pub(crate) lease: Option<Duration>,
}

impl QueueOptions {
    /// Creates options for the queue at an address such as `nats://queue.example.com:4222`. `tls://` requires TLS; separate several servers of a
    /// cluster with commas. The address may contain credentials: `nats://user:password@…` or `nats://token@…`.
    ///
    /// # Errors
    /// [`QueueError::Option`] if the address is invalid.
    pub fn new(address: &str) -> Result<Self, QueueError> {
        let mut servers = Vec::new();
        let mut auth = QueueAuth::None;
        for part in address.split(',').map(str::trim) {
            let (server, found) =
                parse_server(part).map_err(|problem| QueueError::option("address", problem))?;
            servers.push(server);
            if !matches!(found, QueueAuth::None) {
                auth = found;
            }
        }
        Ok(Self {
            servers,
            auth,
            ca_file: None,
            client_certificate: None,
            require_tls: false,
            replicas: 1,
            monitoring: None,
            lease: None,
        })
    }

    setters! {
        /// Sets the credentials, overriding credentials in the address.
        auth: QueueAuth;
    }

    /// Trusts only the certificate authorities in this PEM file instead of the operating system's.
    #[must_use]
    pub fn ca_file(mut self, path: impl AsRef<Path>) -> Self {
        self.ca_file = Some(path.as_ref().to_owned());
        self.require_tls = true;
        self
    }

    /// Uses a client certificate: PEM files with the certificate chain and the private key.
    #[must_use]
    pub fn client_certificate(mut self, certificate: impl AsRef<Path>, key: impl AsRef<Path>) -> Self {
        self.client_certificate = Some((certificate.as_ref().to_owned(), key.as_ref().to_owned()));
        self.require_tls = true;
        self
    }

    setters! {
        /// Rejects connections without TLS.
        require_tls = true;
    }

    /// Sets the number of servers in a cluster that store each record, from 1 (the default) to 5. Applies when a stream is created.
    ///
    /// # Errors
    /// [`QueueError::Option`] if the number isn't between 1 and 5.
    pub fn replicas(mut self, replicas: usize) -> Result<Self, QueueError> {
        if !(1..=5).contains(&replicas) {
            return Err(QueueError::option("replicas", format!("{replicas} isn't between 1 and 5")));
        }
        self.replicas = replicas;
        Ok(self)
    }

    /// Sets the server's monitoring address, such as `http://queue.example.com:8222`. Only this interface reports whether the server syncs each
    /// record to disk; see [`Durability`](super::Durability).
    ///
    /// # Errors
    /// [`QueueError::Option`] if the address is invalid.
    pub fn monitoring(mut self, address: &str) -> Result<Self, QueueError> {
        let invalid = |problem: &str| QueueError::option("monitoring address", problem);
        let url = Url::parse(address).map_err(|_| invalid("it isn't a URL; use http://HOST:8222"))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(invalid(&format!("unsupported scheme `{}`; use http:// or https://", url.scheme())));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(invalid("it contains credentials, which NATS's monitoring doesn't use"));
        }
        self.monitoring = Some(url);
        Ok(self)
    }

    setters! {
        /// Sets how long the queue waits for an unresponsive worker before another worker gets its batch; one minute by default. Workers renew their
        /// leases every third of this time.
        lease: Duration;
    }

    /// Returns the addresses, for messages.
    pub(crate) fn display_address(&self) -> String {
        let servers = self.servers.iter().map(|url| url.as_str().trim_end_matches('/'));
        servers.collect::<Vec<_>>().join(",")
    }
}

/// Parses one address. Problems never quote the address, which may contain a password.
fn parse_server(address: &str) -> Result<(Url, QueueAuth), String> {
    if address.is_empty() {
        return Err("it is empty; use nats://HOST:PORT".to_owned());
    }
    let mut url =
        if address.contains("://") { Url::parse(address) } else { Url::parse(&format!("nats://{address}")) }
            .map_err(|_| "it isn't a URL; use nats://HOST:PORT".to_owned())?;
    if !matches!(url.scheme(), "nats" | "tls") {
        return Err(format!("unsupported scheme `{}`; use nats:// or tls://", url.scheme()));
    }
    if url.host_str().is_none_or(str::is_empty) {
        return Err("the host is missing; use nats://HOST:PORT".to_owned());
    }
    if !matches!(url.path(), "" | "/") || url.query().is_some() || url.fragment().is_some() {
        return Err("unexpected text after the port; use nats://HOST:PORT".to_owned());
    }
    let decoded = |text: &str| percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned();
    let auth = match (url.username(), url.password()) {
        ("", None) => QueueAuth::None,
        ("", Some(_)) => return Err("it has a password but no user".to_owned()),
        (token, None) => QueueAuth::Token(decoded(token).into()),
        (user, Some(password)) => {
            QueueAuth::UserPassword { user: decoded(user), password: decoded(password).into() }
        }
    };
    // Neither call fails on a URL with a host.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    Ok((url, auth))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(address: &str) -> String {
        QueueOptions::new(address).expect_err(address).to_string()
    }

    #[test]
    fn an_address_may_omit_scheme_and_port() {
        let options = QueueOptions::new("queue.example.com").expect("valid");
        assert_eq!(options.display_address(), "nats://queue.example.com");
    }

    #[test]
    fn a_cluster_has_several_addresses() {
        let options = QueueOptions::new("nats://a.test:4222, tls://b.test:4223").expect("valid");
        assert_eq!(options.display_address(), "nats://a.test:4222,tls://b.test:4223");
    }

    #[test]
    fn credentials_in_the_address_appear_neither_in_messages_nor_in_debug_output() {
        let options = QueueOptions::new("nats://ada:s3cr%40t@a.test:4222").expect("valid");
        assert_eq!(options.display_address(), "nats://a.test:4222");
        assert!(!format!("{options:?}").contains("s3cr"), "{options:?}");
        let QueueAuth::UserPassword { user, password } = &options.auth else { panic!("{options:?}") };
        assert_eq!((user.as_str(), secrecy::ExposeSecret::expose_secret(password)), ("ada", "s3cr@t"));
        for wrong in [
            "http://ada:s3cret@a.test",
            "nats://ada:s3cret@a.test/x",
            "nats://ada:s3cret@a.test:99999",
            "nats://:s3cret@a",
        ] {
            assert!(!problem(wrong).contains("s3cret"), "{}", problem(wrong));
        }
    }

    #[test]
    fn a_user_without_a_password_is_a_token() {
        let options = QueueOptions::new("nats://t0ken@a.test").expect("valid");
        assert!(matches!(options.auth, QueueAuth::Token(_)));
    }

    #[test]
    fn an_invalid_address_names_the_problem() {
        assert_eq!(
            problem("http://a.test"),
            "invalid queue address: unsupported scheme `http`; use nats:// or tls://"
        );
        assert_eq!(problem(""), "invalid queue address: it is empty; use nats://HOST:PORT");
        assert_eq!(
            problem("nats://a.test/jobs"),
            "invalid queue address: unexpected text after the port; use nats://HOST:PORT"
        );
        assert_eq!(
            problem("nats://a.test:123456"),
            "invalid queue address: it isn't a URL; use nats://HOST:PORT"
        );
    }
}
