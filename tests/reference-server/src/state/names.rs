//! The host names that the service accepts.

use std::borrow::Cow;
use std::net::{IpAddr, Ipv6Addr};

use crate::store::table::lower_case;

/// The accepted host names, in addition to this machine's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    known: Vec<String>,
    /// The service listens on all addresses. IP addresses aren't subject to DNS rebinding, so any is accepted.
    any_number: bool,
}

impl Names {
    /// Adds the host of a base URL, such as `http://sandbox.example:8025`.
    pub fn add(&mut self, address: &str) {
        let host = host_of(authority_of(address));
        if !host.is_empty() && !self.contains_host(&host) {
            self.known.push(host.into_owned());
        }
    }

    pub fn allow_any_ip(&mut self) {
        self.any_number = true;
    }

    fn contains_host(&self, host: &str) -> bool {
        self.known.iter().any(|known| known == host)
    }

    /// Whether the service accepts the host of a URL.
    pub fn accepts_url(&self, url: &str) -> bool {
        self.accepts(authority_of(url))
    }

    /// Whether the service accepts this authority, with or without a port.
    pub fn accepts(&self, authority: &str) -> bool {
        let host = host_of(authority);
        if host == "localhost" || host.ends_with(".localhost") || self.contains_host(&host) {
            return true;
        }
        let number = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(&host);
        number.parse::<IpAddr>().is_ok_and(|number| self.any_number || is_loopback(number))
    }
}

/// Covers IPv4-mapped IPv6 addresses.
fn is_loopback(number: IpAddr) -> bool {
    match number {
        IpAddr::V4(number) => number.is_loopback(),
        IpAddr::V6(number) => {
            number == Ipv6Addr::LOCALHOST
                || number.to_ipv4_mapped().is_some_and(|number| number.is_loopback())
        }
    }
}

fn authority_of(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split(['/', '?', '#']).next().unwrap_or_default()
}

/// The host of `host:port`, in lower case, without a trailing dot.
fn host_of(authority: &str) -> Cow<'_, str> {
    let authority = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let host = match (authority.strip_prefix('['), authority.rsplit_once(':')) {
        (Some(rest), _) => {
            rest.split_once(']').map_or(authority, |(number, _)| &authority[..number.len() + 2])
        }
        (None, Some((host, port))) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        (None, _) => authority,
    };
    lower_case(host.strip_suffix('.').unwrap_or(host))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_and_added_names_are_accepted() {
        let mut names = Names::default();
        names.add("https://Sandbox.example:8443/base");
        names.add("http://192.168.7.1:8025");
        let own = "localhost LocalHost:8025 localhost.:80 inbox.localhost:1 127.0.0.1 127.9.9.9:65535 [::1]:8025 \
            [::ffff:127.0.0.1] sandbox.example sandbox.EXAMPLE.:1 192.168.7.1:8025";
        for own in own.split(' ') {
            assert!(names.accepts(own), "{own}");
        }
        for other in [
            "",
            "evil.test",
            "127.0.0.1.evil.test",
            "localhost.evil.test",
            "evillocalhost",
            "sandbox.example.evil.test",
            "192.168.7.2",
            "[::2]",
            "[::1",
            "0x7f.1",
            "127.0.0.1@evil.test",
            "evil.test:80:127.0.0.1",
        ] {
            assert!(!names.accepts(other), "{other}");
        }
        names.allow_any_ip();
        assert!(
            names.accepts("192.168.7.2:1") && names.accepts("[2001:db8::1]") && !names.accepts("evil.test")
        );
    }
}
