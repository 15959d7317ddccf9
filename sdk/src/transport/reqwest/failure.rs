//! Determines from a failed reqwest request whether it may have been delivered.

use std::{error::Error as StdError, io};

use super::super::{RequestDelivery, TransportError, TransportErrorKind, authority};
use crate::problem::SettingsError;

/// The longest URL of the crate `http`, in bytes.
const MAX_URL: usize = 65_534;

/// Converts a request error. Any byte may have been sent unless the error says otherwise.
pub(super) fn transport_error(error: reqwest::Error, broken: Option<io::Error>) -> TransportError {
    let host = error.url().and_then(authority);
    let length = error.url().map_or(0, |url| url.as_str().len());
    // A path can contain an address, so errors omit it.
    let error = error.without_url();
    if let Some(broken) = broken {
        // The length was announced, so the service can't mistake an incomplete body for a complete one.
        return TransportError::new(RequestDelivery::NotSent, TransportErrorKind::Body).with_source(broken);
    }
    if error.is_builder() && length > MAX_URL {
        let rule = format!("must have at most {MAX_URL} bytes");
        return settings_error(SettingsError::new("the URL", rule).with_value(format!("{length} bytes")));
    }
    if error.is_builder() {
        return build_error(&error);
    }
    let (reached, kind) = if error.is_connect() {
        let untrusted = causes(&error).any(is_tls);
        (
            RequestDelivery::NotSent,
            if untrusted { TransportErrorKind::Tls } else { TransportErrorKind::Connect },
        )
    } else if causes(&error).any(is_client_certificate_rejected) {
        (RequestDelivery::NotSent, TransportErrorKind::Tls)
    } else if error.is_timeout() {
        (RequestDelivery::Unknown, TransportErrorKind::Timeout)
    } else {
        (RequestDelivery::Unknown, TransportErrorKind::Closed)
    };
    let failed = TransportError::new(reached, kind).with_source(error);
    match host {
        Some(host) => failed.with_host(host),
        None => failed,
    }
}

/// Returns the error of a client or a request that can't be built, for example because the system has no certificates: a retry doesn't help.
pub(super) fn build_error(error: &reqwest::Error) -> TransportError {
    let cause = causes(error).last().map_or_else(|| error.to_string(), ToString::to_string);
    settings_error(SettingsError::new("transport", format!("can't be used: {cause}")))
}

fn settings_error(error: SettingsError) -> TransportError {
    TransportError::new(RequestDelivery::NotSent, TransportErrorKind::Settings).with_source(error)
}

fn causes(error: &reqwest::Error) -> impl Iterator<Item = &(dyn StdError + 'static)> {
    std::iter::successors(error.source(), |&error| error.source())
}

/// A TLS failure arrives as an I/O error of the kind `InvalidData`, often wrapped in another I/O error that hides it from `source`; a refused
/// connection doesn't.
fn is_tls(cause: &(dyn StdError + 'static)) -> bool {
    let Some(error) = cause.downcast_ref::<io::Error>() else { return false };
    error.kind() == io::ErrorKind::InvalidData || error.get_ref().is_some_and(|inner| is_tls(inner))
}

/// Returns whether the peer rejected the client's certificate, or its absence. With TLS 1.3, it reports this only after the request was sent, which
/// it hasn't read.
fn is_client_certificate_rejected(cause: &(dyn StdError + 'static)) -> bool {
    #[cfg(feature = "rustls")]
    {
        use rustls::{AlertDescription, Error};
        if let Some(Error::AlertReceived(alert)) = cause.downcast_ref() {
            return matches!(
                alert,
                AlertDescription::AccessDenied
                    | AlertDescription::BadCertificate
                    | AlertDescription::CertificateExpired
                    | AlertDescription::CertificateRequired
                    | AlertDescription::CertificateRevoked
                    | AlertDescription::CertificateUnknown
                    | AlertDescription::HandshakeFailure
                    | AlertDescription::UnknownCA
                    | AlertDescription::UnsupportedCertificate
            );
        }
    }
    let error = cause.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
    error.is_some_and(|inner| is_client_certificate_rejected(inner))
}

/// Adds the proxy to the error of a request that got no connection through it. `variable` is the environment variable that applies, with its proxy.
/// `is_configured` is whether the application may have set another proxy, which reqwest doesn't expose.
pub(super) fn through_proxy(
    mut error: TransportError,
    variable: Option<(&'static str, String)>,
    is_configured: bool,
) -> TransportError {
    let source = error.source.as_deref().map(|source| source as &(dyn StdError + 'static));
    let causes: Vec<_> =
        std::iter::successors(source, |&cause| cause.source()).map(ToString::to_string).collect();
    let after = |start| causes.iter().find_map(|cause| cause.strip_prefix(start));
    // hyper-util doesn't export its error type, and preserves the response's status only for a 407.
    let tunnel = after("tunnel error: ");
    let invalid = |rule: &str, found: &str| {
        settings_error(match &variable {
            Some((name, proxy)) if !is_configured => {
                SettingsError::new(*name, rule).with_value(format!("{proxy:?}, which {found}"))
            }
            _ => SettingsError::new("the transport's proxy", rule).with_value(format!("one that {found}")),
        })
    };
    if tunnel == Some("proxy authorization required") {
        let rule = "must contain the user and the password that the proxy requires";
        return invalid(rule, "responded with a 407");
    }
    if let (Some(_), Some(scheme)) = (tunnel, after("unsupported scheme ")) {
        return invalid("must be an HTTP proxy", &format!("has the scheme {scheme}"));
    }
    let is_refused = tunnel == Some("unsuccessful");
    let proxy = match variable {
        Some((name, proxy)) if !is_configured => format!("the proxy {proxy} of {name}"),
        Some((name, proxy)) if tunnel.is_some() => {
            format!("a proxy ({proxy} of {name}, unless the transport has another)")
        }
        None if tunnel.is_some() => "the transport's proxy".to_owned(),
        _ => return error,
    };
    if is_refused {
        error.kind = TransportErrorKind::Proxy;
    }
    let host = error.host.take().unwrap_or_else(|| "the service".to_owned());
    error.with_host(format!("{host} through {proxy}"))
}
