//! Connecting to a NATS server.

use std::{fs, path::Path, sync::Once, time::Duration};

use async_nats::{
    Client, ConnectErrorKind, ConnectOptions,
    rustls::crypto::{CryptoProvider, ring},
};
use secrecy::ExposeSecret;

use crate::queue::{QueueAuth, QueueError, QueueOptions, Result};

/// The timeout of a request to the server.
pub(super) const TIMEOUT: Duration = Duration::from_secs(5);
/// The longest delay between attempts to reconnect.
const MAX_RECONNECT_DELAY: Duration = Duration::from_secs(1);
/// The first version with all features that the queue relies on, and with the necessary fixes for lost writes.
const MIN_VERSION: (i64, i64, i64) = (2, 12, 0);

pub(super) async fn connect(options: &QueueOptions) -> Result<Client> {
    install_crypto();
    let mut connect = ConnectOptions::new()
        .name("idempost bulk")
        .connection_timeout(TIMEOUT)
        .request_timeout(Some(TIMEOUT))
        .ping_interval(Duration::from_secs(10))
        .reconnect_delay_callback(|attempts| {
            let exponent = u32::try_from(attempts.saturating_sub(1)).unwrap_or(u32::MAX).min(6);
            Duration::from_millis(20).saturating_mul(1 << exponent).min(MAX_RECONNECT_DELAY)
        })
        .require_tls(options.require_tls);
    if let Some(ca) = &options.ca_file {
        check_readable("CA certificate", ca)?;
        connect = connect.add_root_certificates(ca.clone());
    }
    if let Some((certificate, key)) = &options.client_certificate {
        check_readable("client certificate", certificate)?;
        check_readable("client key", key)?;
        connect = connect.add_client_certificate(certificate.clone(), key.clone());
    }
    let connect = authenticate(connect, &options.auth)?;
    let address = options.display_address();
    let servers = options
        .servers
        .iter()
        .map(|url| url.as_str().parse())
        .collect::<Result<Vec<async_nats::ServerAddr>, _>>()
        .map_err(|error| QueueError::option("address", error.to_string()))?;
    let client = connect.connect(servers).await.map_err(|error| match error.kind() {
        ConnectErrorKind::AuthorizationViolation | ConnectErrorKind::Authentication => QueueError::Connect {
            address: address.clone(),
            source: "the server rejected the credentials".into(),
        },
        _ => QueueError::Connect { address: address.clone(), source: error.into() },
    })?;
    let (major, minor, patch) = MIN_VERSION;
    if !client.is_server_compatible(major, minor, patch) {
        return Err(QueueError::ServerVersion { address, version: client.server_info().version });
    }
    Ok(client)
}

fn authenticate(connect: ConnectOptions, auth: &QueueAuth) -> Result<ConnectOptions> {
    Ok(match auth {
        QueueAuth::None => connect,
        QueueAuth::UserPassword { user, password } => {
            connect.user_and_password(user.clone(), password.expose_secret().to_owned())
        }
        QueueAuth::Token(token) => connect.token(token.expose_secret().to_owned()),
        QueueAuth::NkeySeed(seed) => connect.nkey(seed.expose_secret().trim().to_owned()),
        QueueAuth::CredentialsFile(path) => {
            let option = "credentials file";
            let text = fs::read_to_string(path).map_err(QueueError::unreadable(option, path))?;
            // The cause could quote the file's content.
            let problem = format!("{} doesn't contain a user JWT and its NKey seed", path.display());
            connect.credentials(&text).map_err(|_| QueueError::option(option, problem))?
        }
    })
}

/// Reports an unreadable file by name and purpose, which the TLS library doesn't.
fn check_readable(option: &'static str, path: &Path) -> Result<()> {
    fs::File::open(path).map(drop).map_err(QueueError::unreadable(option, path))
}

/// Selects the TLS cryptography provider, unless the application already has. Otherwise rustls would panic if a dependency of the application adds a
/// second provider.
pub(super) fn install_crypto() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        if CryptoProvider::get_default().is_none() {
            // Fails only if the application was faster, which is fine.
            let _ = ring::default_provider().install_default();
        }
    });
}
