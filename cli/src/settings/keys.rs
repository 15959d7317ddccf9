//! All settings: one table for validation, help, completions and `config list`.

use std::net::IpAddr;
use std::time::Duration;

use idempost::{Email, types::RecipientGuard};
use url::{Host, Url};

use super::env::parse_bool;

/// One setting of the configuration file.
#[derive(Debug)]
pub(crate) struct ConfigKey {
    /// Its name in the file.
    pub(crate) name: &'static str,
    /// Its type.
    pub(crate) kind: Kind,
    pub(crate) default: Option<&'static str>,
    /// The environment variable that overrides the file.
    pub(crate) env: Option<&'static str>,
    /// The flag that overrides both.
    pub(crate) flag: Option<&'static str>,
    /// One line of help.
    pub(crate) help: &'static str,
}

impl ConfigKey {
    const fn new(name: &'static str, kind: Kind, help: &'static str) -> Self {
        Self { name, kind, default: None, env: None, flag: None, help }
    }

    const fn default(self, value: &'static str) -> Self {
        Self { default: Some(value), ..self }
    }

    const fn given_by(self, variable: &'static str, flag: &'static str) -> Self {
        self.env(variable).flag(flag)
    }

    const fn env(self, variable: &'static str) -> Self {
        Self { env: Some(variable), ..self }
    }

    const fn flag(self, flag: &'static str) -> Self {
        Self { flag: Some(flag), ..self }
    }
}

/// The type of a setting.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    /// Any non-empty text.
    Text,
    /// The path of a file. In the configuration file, a relative path is relative to the file's folder.
    Path,
    /// The sender of an email.
    Sender,
    /// OAuth scopes, separated by spaces or commas.
    Scope,
    /// A URL that may receive credentials: https, or http on this machine.
    BaseUrl,
    /// The URL of a proxy.
    Proxy,
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// A whole number up to this maximum.
    Count(u32),
    /// A positive duration.
    Duration,
    /// A boolean.
    Switch,
    /// Recipients that a guard allows.
    AllowTo,
    /// Addresses that a guard redirects to.
    RedirectTo,
}

/// All settings of a profile or `[defaults]`.
pub(crate) static KEYS: &[ConfigKey] = &[
    ConfigKey::new("base_url", Kind::BaseUrl, "base URL of the service")
        .given_by("IDEMPOST_BASE_URL", "--base-url"),
    ConfigKey::new("cacert", Kind::Path, "PEM file of certificate authorities to trust besides the system's")
        .given_by("IDEMPOST_CACERT", "--cacert"),
    ConfigKey::new(
        "client_cert",
        Kind::Path,
        "PEM file with a client certificate and its private key, for a service or gateway that requires one",
    )
    .given_by("IDEMPOST_CLIENT_CERT", "--client-cert"),
    ConfigKey::new(
        "proxy",
        Kind::Proxy,
        "proxy (http, https or socks5) instead of HTTPS_PROXY; NO_PROXY lists exceptions",
    )
    .given_by("IDEMPOST_PROXY", "--proxy"),
    ConfigKey::new("from", Kind::Sender, "default sender").flag("--from"),
    ConfigKey::new(
        "allow_to",
        Kind::AllowTo,
        "allowed recipients: addresses or *@DOMAIN, comma-separated; all sources apply",
    )
    .given_by("IDEMPOST_ALLOW_TO", "--allow-to"),
    ConfigKey::new(
        "redirect_to",
        Kind::RedirectTo,
        "addresses that receive everything instead, comma-separated",
    )
    .given_by("IDEMPOST_REDIRECT_TO", "--redirect-to"),
    ConfigKey::new("client_id", Kind::Text, "OAuth client ID for logins"),
    ConfigKey::new(
        "issuer",
        Kind::BaseUrl,
        "OAuth authorization server for logins, if the service doesn't advertise one",
    ),
    ConfigKey::new(
        "trust_endpoints",
        Kind::Switch,
        "accept endpoints of the authorization server at other origins",
    ),
    ConfigKey::new("scope", Kind::Scope, "OAuth scope for logins: emails:send or full_access"),
    ConfigKey::new(
        "store",
        Kind::OneOf(&["keyring", "file"]),
        "credential store: keyring (encrypted), or file (plain text)",
    )
    .env("IDEMPOST_CREDENTIAL_STORE"),
    ConfigKey::new("output", Kind::OneOf(&["human", "json", "ndjson", "tsv"]), "output format")
        .default("human")
        .given_by("IDEMPOST_OUTPUT", "--output"),
    ConfigKey::new(
        "timeout",
        Kind::Duration,
        "timeout of a request including retries; by default 60 s, plus 1 s per 64 KiB of body",
    )
    .given_by("IDEMPOST_TIMEOUT", "--timeout"),
    ConfigKey::new("retries", Kind::Count(100), "maximum number of retries, where retrying is safe")
        .default("3")
        .given_by("IDEMPOST_RETRIES", "--retries"),
    ConfigKey::new(
        "color",
        Kind::OneOf(&["auto", "always", "never"]),
        "when to use color; NO_COLOR and CLICOLOR_FORCE are respected too",
    )
    .default("auto")
    .flag("--color"),
    ConfigKey::new("progress", Kind::OneOf(&["auto", "plain", "json", "none"]), "upload progress")
        .default("auto")
        .flag("--progress"),
    ConfigKey::new("no_input", Kind::Switch, "never prompt")
        .default("false")
        .given_by("IDEMPOST_NO_INPUT", "--no-input"),
    ConfigKey::new("complete_ids", Kind::Switch, "shell completions request IDs from the service")
        .default("true"),
];

/// Looks up a setting by name.
pub(crate) fn find(name: &str) -> Option<&'static ConfigKey> {
    KEYS.iter().find(|key| key.name == name)
}

/// The hint with the most similar known name.
pub(crate) fn suggestion_hint<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    most_similar(name, known).map(|meant| format!("did you mean `{meant}`?"))
}

/// The longest name that can be similar to a known one: input may be a megabyte, whose comparison would take seconds.
const MAX_SIMILAR: usize = 100;

/// The most similar known name.
pub(crate) fn most_similar<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if name.len() > MAX_SIMILAR {
        return None;
    }
    let scored = known.into_iter().map(|candidate| (strsim::jaro_winkler(name, candidate), candidate));
    scored
        .filter(|(score, _)| *score > 0.75)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}

impl Kind {
    /// Validates a text; the error is the broken rule.
    pub(crate) fn check(self, text: &str) -> Result<(), String> {
        match self {
            Self::Text | Self::Path if text.trim().is_empty() => Err("must not be empty".to_owned()),
            Self::Text | Self::Path => Ok(()),
            Self::Sender => {
                let email = Email::new(text, "qa@example.com", "-").text("-");
                email.check().map_err(|_| "must be `email` or `Name <email>`".to_owned())
            }
            Self::Scope => {
                split_scopes(text).all(is_scope).then_some(()).ok_or_else(|| SCOPE_RULE.to_owned())
            }
            Self::BaseUrl => base_url(text).map(drop),
            Self::Proxy => match parse_proxy(text)? {
                url if has_user_info(&url) => {
                    Err("must not contain a username or password; set IDEMPOST_PROXY".to_owned())
                }
                _ => Ok(()),
            },
            Self::OneOf(words) if words.contains(&text) => Ok(()),
            Self::OneOf(words) => Err(format!("must be one of {}", words.join(", "))),
            Self::Count(most) => parse_count(text, most).map(drop),
            Self::Duration => parse_duration(text).map(drop),
            Self::Switch => parse_bool(text).map(drop).ok_or_else(|| "must be true or false".to_owned()),
            Self::AllowTo | Self::RedirectTo => self.narrow(RecipientGuard::new(), text).map(drop),
        }
    }

    /// Adds a comma-separated list to a guard.
    pub(crate) fn narrow(self, guard: RecipientGuard, text: &str) -> Result<RecipientGuard, String> {
        let list = text.split(',').map(str::trim);
        let narrowed = match self {
            Self::AllowTo => guard.allow_to(list),
            Self::RedirectTo => guard.redirect_to(list),
            _ => Ok(guard),
        };
        narrowed.map_err(|error| error.rule)
    }
}

/// The rule for a scope.
pub(crate) const SCOPE_RULE: &str = "must be a single word, such as emails:send";

/// The scopes in a list.
pub(crate) fn split_scopes(text: &str) -> impl Iterator<Item = &str> {
    text.split([' ', ','])
}

/// Whether a text is one scope (RFC 6749, 3.3).
pub(crate) fn is_scope(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\';
    !text.is_empty() && text.bytes().all(fits)
}

/// Parses a count.
pub(crate) fn parse_count(text: &str, most: u32) -> Result<u32, String> {
    let rule = || format!("must be a whole number from 0 to {most}");
    text.parse().ok().filter(|&number| number <= most).ok_or_else(rule)
}

/// Parses `30s`, `1m 30s`, `500ms`, `PT1M`, or a bare number of seconds; must be positive.
pub(crate) fn parse_duration(text: &str) -> Result<Duration, String> {
    let rule = "must be a duration above zero, such as 30s or 2m";
    let bare = text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().map(Duration::from_secs));
    let read = match bare {
        Some(Ok(seconds)) => seconds,
        Some(Err(_)) => return Err(rule.to_owned()),
        None => {
            text.parse::<jiff::SignedDuration>().ok().and_then(|span| span.try_into().ok()).ok_or(rule)?
        }
    };
    if read.is_zero() { Err(rule.to_owned()) } else { Ok(read) }
}

/// Parses a base URL: https, or http to this machine only; it may have a path, but no query or fragment.
pub(crate) fn base_url(text: &str) -> Result<Url, String> {
    let url = http_url(text)?;
    if url.scheme() == "http" && !is_loopback(&url) {
        return Err("must use https: plain http would send the API key unencrypted \
                    (http is for this machine only)"
            .to_owned());
    }
    Ok(url)
}

/// The same with plain http to any host.
pub(crate) fn http_url(text: &str) -> Result<Url, String> {
    let url = Url::parse(text)
        .map_err(|_| "must be an absolute URL, such as https://api.example.com".to_owned())?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err("must start with https:// (or http:// for this machine)".to_owned());
    }
    if has_user_info(&url) {
        return Err("must not contain a username or password".to_owned());
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err("must not have a query or a fragment".to_owned());
    }
    Ok(url)
}

/// Parses the URL of a proxy, which may contain a username and a password.
pub(crate) fn parse_proxy(text: &str) -> Result<Url, String> {
    let is_proxy = |url: &Url| {
        matches!(url.scheme(), "http" | "https" | "socks5" | "socks5h")
            && url.has_host()
            && matches!(url.path(), "" | "/")
            && url.query().is_none()
            && url.fragment().is_none()
    };
    let rule = "must be the URL of a proxy (http, https or socks5), such as http://proxy.example.com:3128";
    Url::parse(text).ok().filter(is_proxy).ok_or_else(|| rule.to_owned())
}

fn has_user_info(url: &Url) -> bool {
    !url.username().is_empty() || url.password().is_some()
}

/// Whether the URL has a loopback host.
pub(crate) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => IpAddr::V4(address).is_loopback(),
        Some(Host::Ipv6(address)) => IpAddr::V6(address).is_loopback(),
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_default_is_valid() {
        let defaults: Vec<_> = KEYS.iter().filter_map(|key| Some((key, key.default?))).collect();
        assert!(!defaults.is_empty());
        for (key, default) in defaults {
            assert_eq!(key.kind.check(default), Ok(()), "{}", key.name);
        }
    }

    #[test]
    fn a_duration_is_positive_and_may_be_huge() {
        //
        assert_eq!(parse_duration("30s"), Ok(Duration::from_secs(30)));
        assert_eq!(parse_duration("1m 30s"), Ok(Duration::from_secs(90)));
        assert_eq!(parse_duration("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(parse_duration("45"), Ok(Duration::from_secs(45)));
        assert_eq!(parse_duration(&u64::MAX.to_string()), Ok(Duration::from_secs(u64::MAX)));
        for refused in ["0", "0s", "-1s", "-5", "", "soon", "99999999999999999999", "5 apples"] {
            assert!(parse_duration(refused).is_err(), "{refused:?}");
        }
    }

    #[test]
    fn a_base_url_cannot_leak_a_key() {
        //
        for accepted in [
            "https://api.example.com",
            "https://api.example.com/prefix/",
            "http://127.0.0.1:4010",
            "http://[::1]:4010/",
            "http://localhost:1",
            "https://[2001:db8::1]",
        ] {
            assert!(base_url(accepted).is_ok(), "{accepted}");
        }
        for refused in [
            "http://api.example.com",
            "http://127.0.0.1.example.com",
            "https://user@api.example.com",
            "https://:secret@api.example.com",
            "https://api.example.com?x=1",
            "https://api.example.com#x",
            "ftp://api.example.com",
            "api.example.com",
            "http://10.0.0.1",
        ] {
            assert!(base_url(refused).is_err(), "{refused}");
        }
    }

    #[test]
    fn a_misspelling_suggests_the_nearest_name() {
        let names = || KEYS.iter().map(|key| key.name);
        assert_eq!(most_similar("base-url", names()), Some("base_url"));
        assert_eq!(most_similar("outptu", names()), Some("output"));
        assert_eq!(most_similar("zebra", names()), None);
    }
}
