//! The addresses that the service's own requests may reach.
//!
//! Names are resolved by a [`Networks`], which returns checked addresses only, and the client connects to these: a name that resolves
//! differently the next time (DNS rebinding) has no effect. An address in the URL itself bypasses a resolver, so [`check`] or
//! [`Networks::check`] must precede every request, redirects included.

use std::error::Error as _;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::{Host, Url};

/// Networks that aren't public, or lead to other networks: address and prefix length (the registries of RFC 6890).
const RESERVED: [(Ipv6Addr, u32); 19] = [
    v4([0, 0, 0, 0], 8),
    v4([10, 0, 0, 0], 8),
    v4([100, 64, 0, 0], 10),
    v4([127, 0, 0, 0], 8),
    // Link-local, with the metadata services of cloud providers.
    v4([169, 254, 0, 0], 16),
    v4([172, 16, 0, 0], 12),
    v4([192, 0, 0, 0], 24),
    v4([192, 0, 2, 0], 24),
    v4([192, 88, 99, 0], 24),
    v4([192, 168, 0, 0], 16),
    v4([198, 18, 0, 0], 15),
    v4([198, 51, 100, 0], 24),
    v4([203, 0, 113, 0], 24),
    v4([224, 0, 0, 0], 4),
    v4([240, 0, 0, 0], 4),
    // In global unicast (2000::/3): protocol assignments with Teredo, documentation, and 6to4.
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32),
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20),
];

/// Addresses that even a local sandbox doesn't request: link-local addresses, and other addresses of the metadata services of cloud providers,
/// which return credentials. The one of Azure is public.
const METADATA: [(Ipv6Addr, u32); 10] = [
    v4([169, 254, 0, 0], 16),
    // Alibaba, Oracle, Azure.
    v4([100, 100, 100, 200], 32),
    v4([192, 0, 0, 192], 32),
    v4([168, 63, 129, 16], 32),
    (Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0), 10),
    // AWS, which also uses other addresses of this network; Google, Oracle, Scaleway, Alibaba.
    (Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0), 32),
    (Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254), 128),
    (Ipv6Addr::new(0xfd00, 0xc1, 0, 0, 0, 0, 0xa9fe, 0xa9fe), 128),
    (Ipv6Addr::new(0xfd00, 0x42, 0, 0, 0, 0, 0, 0x42), 128),
    (Ipv6Addr::new(0xfd00, 0x100, 0, 0, 0, 0, 0x100, 0x200), 128),
];

/// A network of IPv4 addresses, mapped into IPv6 (`::ffff:0:0/96`).
const fn v4([a, b, c, d]: [u8; 4], length: u32) -> (Ipv6Addr, u32) {
    (Ipv4Addr::new(a, b, c, d).to_ipv6_mapped(), 96 + length)
}

/// Why a URL isn't requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotPublic {
    #[error("only http and https URLs are requested")]
    Scheme,
    #[error("URLs with a user name or password aren't requested")]
    Credentials,
    #[error("the port must be 80, 443 or at least 1024")]
    Port,
    #[error("the address isn't public")]
    Address,
    #[error(
        "the address isn't public, and this sandbox listens beyond loopback addresses or has a public URL; allow it with `--allow-private-addresses`"
    )]
    Private,
    #[error("the address is link-local or belongs to a metadata service")]
    Metadata,
}

impl NotPublic {
    /// The reason why a request didn't start, if it is one of these.
    pub fn from_error(error: &reqwest::Error) -> Option<Self> {
        let mut causes = std::iter::successors(error.source(), |cause| (**cause).source());
        causes.find_map(|cause| cause.downcast_ref().copied())
    }
}

/// The addresses that a client may reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Networks {
    /// For an email's images and links: public addresses that aren't this machine's.
    Public,
    /// For webhooks and hosted attachments of a sandbox that others can reach: the same.
    PublicByDefault,
    /// For webhooks and hosted attachments of a sandbox that only this machine can reach: all but metadata services.
    Private,
}

impl Networks {
    /// Checks the address in a URL. A name is checked when it is resolved.
    pub fn check(self, url: &Url) -> Result<(), NotPublic> {
        url_ip(url).map_or(Ok(()), |ip| self.check_ip(ip))
    }

    fn check_ip(self, ip: IpAddr) -> Result<(), NotPublic> {
        match self {
            Self::Public if is_allowed(ip) => Ok(()),
            Self::Public => Err(NotPublic::Address),
            Self::PublicByDefault | Self::Private if is_metadata(ip) => Err(NotPublic::Metadata),
            Self::PublicByDefault if !is_allowed(ip) => Err(NotPublic::Private),
            Self::PublicByDefault | Self::Private => Ok(()),
        }
    }
}

/// Checks all of a URL except a host name, which is checked when it is resolved. `servers` are addresses that are accepted although they aren't
/// public; they have no names.
pub fn check(url: &Url, servers: &[SocketAddr]) -> Result<(), NotPublic> {
    if !matches!(url.scheme(), "http" | "https") {
        return Err(NotPublic::Scheme);
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(NotPublic::Credentials);
    }
    let port = url.port_or_known_default().unwrap_or_default();
    if url.host().is_none() {
        return Err(NotPublic::Address);
    }
    let ip = url_ip(url);
    if ip.is_some_and(|ip| servers.contains(&SocketAddr::new(ip, port))) {
        return Ok(());
    }
    if !matches!(port, 80 | 443 | 1024..) {
        // The ports of other protocols.
        return Err(NotPublic::Port);
    }
    Networks::Public.check(url)
}

fn url_ip(url: &Url) -> Option<IpAddr> {
    match url.host()? {
        Host::Ipv4(ip) => Some(ip.into()),
        Host::Ipv6(ip) => Some(ip.into()),
        Host::Domain(_) => None,
    }
}

/// Resolves a name to the addresses that may be reached.
impl Resolve for Networks {
    fn resolve(&self, name: Name) -> Resolving {
        let networks = *self;
        Box::pin(async move {
            // The client sets the port.
            let all = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let (mut addresses, mut reason) = (Vec::new(), NotPublic::Address);
            for address in all {
                match networks.check_ip(address.ip()) {
                    Ok(()) => addresses.push(address),
                    Err(found) => reason = found,
                }
            }
            if addresses.is_empty() {
                return Err(reason.into());
            }
            Ok(Box::new(addresses.into_iter()) as Addrs)
        })
    }
}

fn is_allowed(ip: IpAddr) -> bool {
    is_public(ip) && !is_metadata(ip) && !is_of_this_machine(ip)
}

/// Whether an address belongs to this machine: a packet to it would also have it as its source. (Nothing is sent.) Such an address can be public
/// while a firewall protects its services, which a connection from this machine bypasses.
fn is_of_this_machine(ip: IpAddr) -> bool {
    let any: IpAddr = if ip.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let source = UdpSocket::bind((any, 0)).and_then(|socket| {
        socket.connect((ip, 443))?;
        socket.local_addr()
    });
    // Without a route, the connection fails anyway.
    source.is_ok_and(|source| source.ip() == ip)
}

/// Whether an address is globally reachable unicast.
fn is_public(ip: IpAddr) -> bool {
    let ip = map_v4(ip);
    let is_unicast = ip.to_ipv4_mapped().is_some() || ip.to_bits() >> 125 == 1;
    is_unicast && !is_in(&RESERVED, ip)
}

fn is_metadata(ip: IpAddr) -> bool {
    is_in(&METADATA, map_v4(ip))
}

fn is_in(networks: &[(Ipv6Addr, u32)], ip: Ipv6Addr) -> bool {
    networks.iter().any(|(network, length)| (ip.to_bits() ^ network.to_bits()) >> (128 - length) == 0)
}

/// The IPv6 address to which an IPv4 address is mapped, also if it is given by NAT64 (`64:ff9b::/96`).
fn map_v4(ip: IpAddr) -> Ipv6Addr {
    match ip {
        IpAddr::V4(ip) => ip.to_ipv6_mapped(),
        IpAddr::V6(ip) if ip.segments()[..6] == [0x64, 0xff9b, 0, 0, 0, 0] => {
            let [.., a, b, c, d] = ip.octets();
            Ipv4Addr::new(a, b, c, d).to_ipv6_mapped()
        }
        IpAddr::V6(ip) => ip,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_public_addresses_are_accepted() {
        let ips = "0.0.0.0 0.1.2.3 10.0.0.1 100.64.0.1 100.127.255.255 127.0.0.1 127.255.255.254 169.254.169.254 \
             172.16.0.1 172.31.255.255 192.0.0.192 192.0.2.1 192.88.99.1 192.168.1.1 198.18.0.1 198.19.255.255 \
             198.51.100.7 203.0.113.9 224.0.0.1 239.255.255.250 240.0.0.1 255.255.255.255 :: ::1 ::127.0.0.1 \
             ::ffff:127.0.0.1 ::ffff:169.254.169.254 ::ffff:0.0.0.0 ::ffff:0:127.0.0.1 64:ff9b::7f00:1 \
             64:ff9b::a9fe:a9fe 64:ff9b:1::1 100::1 2001::1 2001:0:7f00:1:: 2001:2::1 2001:db8::1 2002:7f00:1::1 \
             3fff::1 5f00::1 fc00::1 fd00:ec2::254 fe80::1 fec0::1 ff02::1";
        for ip in ips.split_whitespace() {
            assert!(!is_public(ip.parse().unwrap()), "{ip}");
        }
        let ips = "1.1.1.1 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 128.0.0.1 169.253.255.255 172.15.255.255 \
             172.32.0.0 192.0.1.0 192.167.255.255 198.17.255.255 198.20.0.0 223.255.255.255 ::ffff:1.1.1.1 \
             64:ff9b::101:101 2001:200::1 2001:4860:4860::8888 2606:4700::1111 2a00:1450::1 3ffe::1";
        for ip in ips.split_whitespace() {
            assert!(is_public(ip.parse().unwrap()), "{ip}");
        }
    }

    #[test]
    fn metadata_services_are_never_requested() {
        let hosts = "169.254.169.254 169.254.0.1 0xA9FEA9FE 2852039166 100.100.100.200 192.0.0.192 [fe80::1] [febf::1] \
             [fd00:ec2::254] [::ffff:169.254.169.254] [64:ff9b::a9fe:a9fe] 168.63.129.16 [64:ff9b::168.63.129.16] \
             [fd00:ec2::23] [fd20:ce::254] [fd00:c1::a9fe:a9fe] [fd00:42::42] \
             [fd00:100::100:200]";
        for host in hosts.split_whitespace() {
            let url = Url::parse(&format!("http://{host}/latest/meta-data/")).unwrap();
            assert_eq!(Networks::Public.check(&url), Err(NotPublic::Address), "{host}");
            for networks in [Networks::Private, Networks::PublicByDefault] {
                assert_eq!(networks.check(&url), Err(NotPublic::Metadata), "{host}");
            }
        }
        for host in ["127.0.0.1", "10.0.0.1", "192.168.1.1", "[::1]", "[fd00::1]"] {
            let url = Url::parse(&format!("http://{host}/")).unwrap();
            assert_eq!(Networks::Private.check(&url), Ok(()), "{host}");
            assert_eq!(Networks::PublicByDefault.check(&url), Err(NotPublic::Private), "{host}");
        }
    }

    #[test]
    fn every_spelling_of_a_local_address_in_a_url_is_rejected() {
        let hosts = "127.0.0.1 127.1 2130706433 0x7f000001 0177.0.0.1 127.0.0.1. 0 0.0.0.0 [::1] [::] [::ffff:127.0.0.1] \
             [::ffff:7f00:1] [64:ff9b::127.0.0.1] 169.254.169.254 0xA9FEA9FE ①②⑦.0.0.1 [fd00:ec2::254]";
        for host in hosts.split_whitespace() {
            let url = Url::parse(&format!("http://{host}/logo.png")).unwrap();
            assert_eq!(check(&url, &[]), Err(NotPublic::Address), "{host}");
        }
    }

    #[test]
    fn only_web_urls_without_credentials_on_ports_of_the_web_are_requested() {
        let found = |url: &str| check(&Url::parse(url).unwrap(), &[]);
        for url in
            ["https://a.example/x", "http://a.example:8080/", "https://1.1.1.1/", "http://localhost:1024/"]
        {
            assert_eq!(found(url), Ok(()), "{url}");
        }
        for url in
            ["http://a.example:25/", "http://a.example:22/", "https://1.1.1.1:1023/", "http://a.example:0/"]
        {
            assert_eq!(found(url), Err(NotPublic::Port), "{url}");
        }
        for url in
            ["file:///etc/passwd", "data:image/png,x", "ftp://a.example/x", "javascript:alert(1)", "cid:logo"]
        {
            assert_eq!(found(url), Err(NotPublic::Scheme), "{url}");
        }
        for url in ["http://user@a.example/", "http://:secret@a.example/"] {
            assert_eq!(found(url), Err(NotPublic::Credentials), "{url}");
        }
    }

    #[test]
    fn a_permitted_server_is_an_exact_address_and_port() {
        let servers = ["127.0.0.1:81".parse().unwrap()];
        let found = |url: &str| check(&Url::parse(url).unwrap(), &servers).is_ok();
        assert!(found("http://127.0.0.1:81/a.png") && found("http://127.1:81/a.png"));
        for url in [
            "http://127.0.0.1/",
            "http://127.0.0.1:8100/",
            "http://127.0.0.2:81/",
            "http://[::ffff:127.0.0.1]:81/",
            "http://localhost:81/",
        ] {
            assert!(!found(url), "{url}");
        }
    }

    #[tokio::test]
    async fn a_name_of_this_machine_resolves_to_no_address() {
        for name in ["localhost", "127.0.0.1", "::1"] {
            for (networks, reason) in
                [(Networks::Public, NotPublic::Address), (Networks::PublicByDefault, NotPublic::Private)]
            {
                let found = networks.resolve(name.parse().unwrap()).await;
                let error = found.map(Vec::from_iter).unwrap_err();
                assert_eq!(error.downcast_ref(), Some(&reason), "{name}");
            }
            assert!(Networks::Private.resolve(name.parse().unwrap()).await.is_ok(), "{name}");
        }
    }

    #[test]
    fn an_address_of_this_machine_is_recognized() {
        assert!(is_of_this_machine(Ipv4Addr::LOCALHOST.into()));
        assert!(!is_of_this_machine(Ipv4Addr::new(1, 1, 1, 1).into()));
    }
}
