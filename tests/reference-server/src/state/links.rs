//! The service's base URL, and the signatures of its links.

use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::uri::Authority;
use http::{Request, header};

use crate::digest::{Digest, first_half, hmac_sha256, is_secret};
use crate::lock::lock;
use crate::seeds::RandomBytes;
use crate::state::names::Names;

/// The base URL of links while no mount is listening: a reserved name that never resolves (RFC 2606).
const UNREACHABLE: &str = "http://sandbox.invalid";

/// The purpose of a tenant's tag. The tag for one purpose reveals nothing about another's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TagPurpose {
    /// Unsubscribe links, which recipients see.
    UnsubscribeLink,
    /// The list of accounts.
    Account,
}

impl TagPurpose {
    pub const ALL: [Self; 2] = [Self::UnsubscribeLink, Self::Account];
}

/// Identifies a tenant without revealing its name, which is an API key.
pub type Tag = [u8; 16];

/// The service's base URL, and the key that signs its links.
///
/// The key is random, or derived from the seed. It is part of the state: links from an earlier run are invalid unless that run's state was persisted.
pub struct Links {
    address: Mutex<Option<String>>,
    names: Mutex<Arc<Names>>,
    /// Whether clients reach the service only at `address`.
    is_published: bool,
    key: [u8; 64],
}

impl Links {
    pub fn new(seed: Option<u64>) -> Self {
        let key = RandomBytes::new(seed.map(|seed| seed ^ 0x006c_696e_6b73)).take();
        Self { address: Mutex::new(None), names: Mutex::default(), is_published: false, key }
    }

    /// Uses the key from an earlier run, so that its links stay valid.
    #[must_use]
    pub fn with_key(mut self, key: [u8; 64]) -> Self {
        self.key = key;
        self
    }

    pub fn key(&self) -> &[u8; 64] {
        &self.key
    }

    /// Adds an address. The first one becomes the base URL of links.
    pub fn add_address(&self, address: &str) {
        lock(&self.address).get_or_insert_with(|| address.trim_end_matches('/').to_owned());
        Arc::make_mut(&mut *lock(&self.names)).add(address);
    }

    /// Sets the public URL, which takes precedence over every other address.
    #[must_use]
    pub fn published_at(mut self, address: &str) -> Self {
        self.add_address(address);
        self.is_published = true;
        self
    }

    /// Allows a host name.
    pub fn allow(&self, host: &str) {
        Arc::make_mut(&mut *lock(&self.names)).add(host);
    }

    /// Allows every IP address of the machine as a host name.
    pub fn allow_any_ip(&self) {
        Arc::make_mut(&mut *lock(&self.names)).allow_any_ip();
    }

    /// The host names of the service.
    pub fn names(&self) -> Arc<Names> {
        Arc::clone(&lock(&self.names))
    }

    /// The service's base URL, without a trailing slash.
    pub fn address(&self) -> String {
        lock(&self.address).clone().unwrap_or_else(|| UNREACHABLE.to_owned())
    }

    /// The base URL at which the client of this request reaches the service, which is its issuer as an authorization server: the public
    /// URL, else the host of the request, which [`guard`](crate::guard) has checked.
    pub fn issuer<T>(&self, request: &Request<T>) -> String {
        let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
        let host = host.or_else(|| request.uri().authority().map(Authority::as_str));
        match host.filter(|_| !self.is_published) {
            // Only the host was checked.
            Some(host) => format!("http://{}", host.rsplit_once('@').map_or(host, |(_, host)| host)),
            None => self.address(),
        }
    }

    /// A well-known path without the path of the public URL, which follows it (RFC 8414, section 3.1).
    pub fn without_base_path<'a>(&self, path: &'a str) -> &'a str {
        if !path.starts_with("/.well-known/") {
            return path;
        }
        path.strip_suffix(&self.public_path()).unwrap_or(path)
    }

    /// The path of the public URL, which a reverse proxy strips from requests; without a trailing slash, and empty if there is none.
    pub fn public_path(&self) -> String {
        let address = if self.is_published { self.address() } else { String::new() };
        let rest = address.split_once("://").map_or("", |(_, rest)| rest);
        rest.find('/').map_or_else(String::new, |at| rest[at..].to_owned())
    }

    /// The prefix of the service's own links in emails.
    pub fn prefix(&self) -> String {
        format!("{}/_/", self.address())
    }

    /// Signs bytes for one purpose; the signature is invalid for every other.
    pub fn sign(&self, purpose: &str, bytes: &[u8]) -> Digest {
        hmac_sha256(&self.key, &[purpose.as_bytes(), &[0], bytes])
    }

    /// The tag of a tenant, constant as long as the key is.
    pub fn tag(&self, purpose: TagPurpose, tenant: &str) -> Tag {
        let purpose = match purpose {
            TagPurpose::UnsubscribeLink => "tenant of an unsubscribe link",
            TagPurpose::Account => "account",
        };
        first_half(self.sign(purpose, tenant.as_bytes()))
    }

    /// Encodes bytes and their signature as one path segment.
    pub fn seal(&self, purpose: &str, bytes: &[u8]) -> String {
        let mut signed = bytes.to_vec();
        signed.extend(self.sign(purpose, bytes));
        URL_SAFE_NO_PAD.encode(signed)
    }

    /// Decodes and verifies a segment that was sealed for this purpose.
    pub fn open(&self, purpose: &str, token: &str) -> Option<Vec<u8>> {
        let mut bytes = URL_SAFE_NO_PAD.decode(token).ok()?;
        let signature = bytes.split_off(bytes.len().checked_sub(32)?);
        is_secret(&self.sign(purpose, &bytes), &signature).then_some(bytes)
    }
}

impl std::fmt::Debug for Links {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Links").field("address", &self.address()).finish_non_exhaustive()
    }
}
