//! URLs to which a client may send secrets, and the origin to which a credential is bound.

use url::{Host, Url};

use crate::problem::{SettingsError, mask_credentials};

pub(crate) fn base_url(given: &str, allow_plain_http: bool) -> Result<Url, SettingsError> {
    let wrong = |rule: &str| SettingsError::new("base_url", rule);
    if given.is_empty() {
        return Err(wrong("is missing; set the service's URL, such as https://api.example.com"));
    }
    let url = Url::parse(given).map_err(|_| {
        wrong("must be an absolute URL such as https://api.example.com").with_value(mask_credentials(given))
    })?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(wrong("must start with https:// or http://").with_value(url.scheme()));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(wrong("must not contain a username or password"));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(wrong("must not contain a query or a fragment").with_value(given));
    }
    if url.host().is_none() {
        return Err(wrong("must have a host").with_value(given));
    }
    if url.scheme() == "http" && !is_loopback(&url) && !allow_plain_http {
        let rule = "must use https, unless `ClientBuilder::allow_plain_http` permits plain http to a host other than loopback";
        return Err(wrong(rule).with_value(given));
    }
    Ok(url)
}

/// Returns whether a URL's host is a loopback address.
pub(crate) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        None => false,
    }
}

/// Parses a URL to which secrets may be sent: https, or http for a loopback address, with only a host, port and path.
#[cfg(feature = "oauth")]
pub(crate) fn parse_secure_url(given: &str) -> Result<Url, SettingsError> {
    let url = base_url(given, true)?;
    if url.scheme() == "http" && !is_loopback(&url) {
        let rule = "must use https; plain http is allowed only for loopback addresses";
        return Err(SettingsError::new("base_url", rule).with_value(given));
    }
    Ok(url)
}

/// Parses an endpoint of an authorization server, which may have a query (RFC 6749, 3.1 and 3.2).
#[cfg(feature = "oauth")]
pub(crate) fn parse_oauth_url(given: &str) -> Result<Url, SettingsError> {
    let (before, query) =
        given.split_once('?').map_or((given, None), |(before, query)| (before, Some(query)));
    let mut url = parse_secure_url(before)?;
    if query.is_some_and(|query| query.contains('#')) {
        return Err(SettingsError::new("base_url", "must not contain a fragment").with_value(given));
    }
    url.set_query(query);
    Ok(url)
}

/// Returns scheme, host and port: the origin to which a credential is bound.
#[cfg(feature = "oauth")]
pub(crate) fn origin(url: &Url) -> String {
    url.origin().ascii_serialization()
}
