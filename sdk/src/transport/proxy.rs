//! Detects malformed proxy variables, which reqwest ignores, connecting directly.

use std::{
    env,
    ffi::{OsStr, OsString},
};

use hyper_util::client::proxy::matcher::Matcher;
use url::Url;

use crate::problem::{SettingsError, mask_credentials};

const RULE: &str = if cfg!(feature = "socks") {
    "must be the URL of an HTTP proxy (or SOCKS), such as http://proxy.example.com:3128"
} else {
    "must be the URL of an HTTP proxy, such as http://proxy.example.com:3128"
};

/// The environment's proxy variables, interpreted like in reqwest: an uppercase name takes precedence over its lowercase form, and `ALL_PROXY`
/// applies if the scheme's own variable is unset or empty.
pub(super) struct ProxyVariables {
    all: Variable,
    http: Variable,
    https: Variable,
    /// Matches the URLs that `NO_PROXY` doesn't exclude.
    proxied: Matcher,
    /// Matches each `NO_PROXY` entry that reqwest doesn't support, with its port if it has one: `example.com:8443`, `*.example.com`.
    further: Vec<(Matcher, Option<u16>)>,
    /// Whether this is a CGI script: `HTTP_PROXY` may come from a request header, so the variables are ignored.
    is_cgi: bool,
}

type Variable = Option<(&'static str, OsString)>;

impl ProxyVariables {
    pub(super) fn from_env() -> Self {
        Self::read(|name| env::var_os(name))
    }

    /// Uses this proxy instead of the environment's, with the exceptions in `NO_PROXY`.
    pub(super) fn with_proxy(proxy: &str) -> Self {
        let no_proxy =
            |name: &str| name.eq_ignore_ascii_case("NO_PROXY").then(|| env::var_os(name)).flatten();
        Self { all: Some(("the setting `proxy`", proxy.into())), ..Self::read(no_proxy) }
    }

    fn read(get: impl Fn(&str) -> Option<OsString>) -> Self {
        let first = |names: [&'static str; 2]| {
            let found = names.into_iter().find_map(|name| get(name).map(|value| (name, value)));
            found.filter(|(_, value)| !value.is_empty())
        };
        let no_proxy = first(["NO_PROXY", "no_proxy"]).map(|(_, value)| value).unwrap_or_default();
        let no_proxy = no_proxy.to_string_lossy().into_owned();
        let all_but = |hosts: String| Matcher::builder().all("http://proxy.invalid").no(hosts).build();
        let further = no_proxy.split(',').map(str::trim).filter_map(|entry| {
            let (host, port) = match entry.rsplit_once(':') {
                // An IPv6 address without brackets has no port.
                Some((host, port)) if !host.contains(':') || host.ends_with(']') => {
                    (host, Some(port.parse().ok()?))
                }
                _ => (entry, None),
            };
            let domain = host.strip_prefix("*.");
            (port.is_some() || domain.is_some())
                .then(|| (all_but(domain.unwrap_or(host).trim_matches(['[', ']']).to_owned()), port))
        });
        Self {
            all: first(["ALL_PROXY", "all_proxy"]),
            http: first(["HTTP_PROXY", "http_proxy"]),
            https: first(["HTTPS_PROXY", "https_proxy"]),
            further: further.collect(),
            proxied: all_but(no_proxy),
            is_cgi: get("REQUEST_METHOD").is_some(),
        }
    }

    /// Rejects a malformed variable that would apply to `url`.
    pub(super) fn check(&self, url: &Url) -> Result<(), SettingsError> {
        self.variable_for(url).map_or(Ok(()), |(name, value)| check(name, value))
    }

    /// Returns the variable that applies to `url` and its proxy, without a password.
    pub(super) fn proxy_for(&self, url: &Url) -> Option<(&'static str, String)> {
        self.variable_for(url).map(|(name, value)| (*name, mask_credentials(&value.to_string_lossy())))
    }

    /// Returns whether `NO_PROXY` excludes `url` with an entry that reqwest doesn't support.
    pub(super) fn excludes(&self, url: &Url) -> bool {
        let port = url.port_or_known_default();
        let excludes =
            |proxied: &Matcher| url.as_str().parse().is_ok_and(|uri| proxied.intercept(&uri).is_none());
        let mut entries = self.further.iter().filter(|(_, of)| of.is_none() || *of == port);
        entries.any(|(proxied, _)| excludes(proxied))
    }

    fn variable_for(&self, url: &Url) -> Option<&(&'static str, OsString)> {
        let uri = url.as_str().parse().ok()?;
        if self.is_cgi || self.proxied.intercept(&uri).is_none() || self.excludes(url) {
            return None;
        }
        let of_scheme = if url.scheme() == "http" { &self.http } else { &self.https };
        of_scheme.as_ref().or(self.all.as_ref())
    }
}

fn check(name: &str, value: &OsStr) -> Result<(), SettingsError> {
    let wrong = |rule: &str| SettingsError::new(name, rule);
    let Some(value) = value.to_str() else { return Err(wrong(RULE).with_value("a value that isn't UTF-8")) };
    let found = || format!("{:?}", mask_credentials(value));
    let absolute = if value.contains("://") { value.to_owned() } else { format!("http://{value}") };
    let url = Url::parse(&absolute).ok();
    match url.as_ref().map_or("", Url::scheme) {
        "http" | "https" if is_usable(value) => Ok(()),
        "socks4" | "socks4a" | "socks5" | "socks5h" if cfg!(feature = "socks") && is_usable(value) => Ok(()),
        "socks4" | "socks4a" | "socks5" | "socks5h" if !cfg!(feature = "socks") => {
            Err(wrong(&format!("{RULE}; SOCKS proxies aren't supported")).with_value(found()))
        }
        _ => Err(wrong(RULE).with_value(found())),
    }
}

/// Returns whether reqwest can connect through this proxy.
fn is_usable(value: &str) -> bool {
    let matcher = Matcher::builder().all(value.to_owned()).build();
    matcher
        .intercept(&http::Uri::from_static("https://service.invalid"))
        .is_some_and(|proxy| proxy.uri().host().is_some_and(|host| !host.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(variables: &[(&str, &str)], url: &str) -> Option<String> {
        let found =
            |name: &str| variables.iter().find(|(set, _)| *set == name).map(|(_, value)| value.into());
        ProxyVariables::read(found).check(&Url::parse(url).unwrap()).err().map(|error| error.to_string())
    }

    const SERVICE: &str = "https://api.example.com/emails";

    #[test]
    fn a_malformed_proxy_variable_is_named_with_its_value() {
        // B-25
        for value in [
            "ftp://proxy:3128",
            "http://",
            "://x",
            " http://127.0.0.1:3128",
            "http://p:99999",
            "http://:1",
            " ",
            "/p",
        ] {
            let error = checked(&[("HTTPS_PROXY", value)], SERVICE).expect(value);
            assert_eq!(error, format!("HTTPS_PROXY {RULE} (found {value:?})"));
        }
        let socks = checked(&[("all_proxy", "socks5://127.0.0.1:1080")], SERVICE);
        let unsupported = "SOCKS proxies aren't supported (found \"socks5://127.0.0.1:1080\")";
        let is_rejected = socks.as_ref().is_some_and(|error| error.contains(unsupported));
        assert_eq!(is_rejected, cfg!(not(feature = "socks")), "{socks:?}");
    }

    #[test]
    fn an_empty_proxy_setting_is_malformed_and_not_unset() {
        let error = ProxyVariables::with_proxy("").check(&Url::parse(SERVICE).unwrap()).unwrap_err();
        assert_eq!(error.to_string(), format!("the setting `proxy` {RULE} (found \"\")"));
    }

    #[test]
    fn a_proxy_variable_is_reported_without_its_password() {
        // B-25
        for (value, shown) in [
            ("ftp://me:sentinel@proxy:1", "ftp://***@proxy:1"),
            ("http://me:sen@tinel@", "http://***@"),
            ("http://me:sen/tinel#@proxy", "http://***@proxy"),
            ("http://me:sentinel", "http://me:***"),
            ("me:sentinel", "me:***"),
        ] {
            let error = checked(&[("HTTPS_PROXY", value)], SERVICE).expect(value);
            assert!(error.ends_with(&format!("(found {shown:?})")), "{error}");
        }
    }

    #[test]
    fn a_proxy_variable_that_does_not_apply_is_not_checked() {
        // B-25
        const BAD: &str = "ftp://proxy";
        const GOOD: &str = "http://me:secret@proxy.test:3128";
        for variables in [
            &[("HTTPS_PROXY", "")][..],
            &[("HTTPS_PROXY", GOOD), ("https_proxy", BAD), ("ALL_PROXY", BAD), ("HTTP_PROXY", BAD)],
            &[("HTTPS_PROXY", "proxy.test:3128"), ("ALL_PROXY", BAD)],
            &[("HTTPS_PROXY", "https://[::1]:3128/"), ("ALL_PROXY", BAD)],
            &[("HTTPS_PROXY", BAD), ("NO_PROXY", "other.test, example.com")],
            &[("HTTPS_PROXY", BAD), ("NO_PROXY", "api.example.com:80,example.com:443")],
            &[("HTTPS_PROXY", BAD), ("NO_PROXY", "*.example.com")],
            &[("HTTPS_PROXY", BAD), ("NO_PROXY", "*.test, *.com:443")],
            &[("ALL_PROXY", BAD), ("no_proxy", "*")],
            &[("ALL_PROXY", BAD), ("REQUEST_METHOD", "GET")],
        ] {
            assert_eq!(checked(variables, SERVICE), None, "{variables:?}");
        }
        for variables in [
            &[("HTTPS_PROXY", ""), ("ALL_PROXY", BAD)][..],
            &[("https_proxy", BAD), ("ALL_PROXY", GOOD)],
            &[("ALL_PROXY", BAD), ("NO_PROXY", "ample.com")],
            &[("ALL_PROXY", BAD), ("NO_PROXY", "example.com:8443, ample.com:443, example.com:, :443")],
            &[("ALL_PROXY", BAD), ("NO_PROXY", "*.ample.com, *.example.com:80")],
        ] {
            assert!(checked(variables, SERVICE).is_some(), "{variables:?}");
        }
        assert!(checked(&[("http_proxy", BAD)], "http://api.example.com").is_some());
        let address =
            |no_proxy| checked(&[("ALL_PROXY", BAD), ("NO_PROXY", no_proxy)], "https://[2001:db8::1]:8443");
        assert_eq!(address("[2001:db8::1]:8443"), None);
        assert!(address("[2001:db8::1]:443").is_some() && address("2001:db8::8443").is_some());
    }
}
