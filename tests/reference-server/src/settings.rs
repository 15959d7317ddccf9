//! The settings of a service: limits, strictness and clock.

use std::net::SocketAddr;
use std::time::Duration;

use jiff::SignedDuration;
use secrecy::SecretString;

use crate::model::oauth::clients::OAuthClient;

pub(crate) use crate::clock::ClockStart;

/// The behavior where the specification and Resend differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compat {
    /// As specified.
    #[default]
    Specification,
    /// Resend's: emails of a batch can have `scheduled_at`. An empty `scheduled_at` or `topic_id`, and an empty `from`, `subject`, `html` or
    /// `text` alongside a template, count as absent, and `[]` counts as an object without fields: some clients send them for unset fields. The
    /// response's header `x-sandbox-ignored-fields` names these fields.
    Live,
}

/// The settings of one [`Service`](crate::Service).
///
/// Every limit has a default that suits both tests and a sandbox that runs for days.
///
/// ```
/// use idempost_reference_server::Settings;
///
/// let settings = Settings { rate_limit: Some(10), ..Settings::default() };
/// assert_eq!(settings.keep_mails, 100_000);
/// ```
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
pub struct Settings {
    /// Makes identifiers repeatable: two services with the same seed generate the same IDs in the same order. `None` generates random ones.
    pub seed: Option<u64>,
    /// Requests per second for each tenant. `None` disables the limit; the headers then announce 1,000,000.
    pub rate_limit: Option<u32>,
    /// Emails per day (UTC) for each tenant; sends beyond it are rejected with 429. `None`: no daily quota.
    pub daily_quota: Option<u64>,
    /// The same per month.
    pub monthly_quota: Option<u64>,
    /// The behavior where the specification and Resend differ.
    pub compat: Compat,
    /// Rejects senders whose domain the tenant hasn't verified. If false, any domain may send.
    pub strict_domains: bool,
    /// The maximum memory of the service's state, in bytes. Each kind of data has a share: emails, sent and received, 4/16; records of tables
    /// (contacts, templates, …) 4/16; webhook events 2/16; and 1/16 each for emails that wait for their hosted attachments, loaded remote images,
    /// recorded requests, the log, idempotency keys and OAuth state. A request body may use 1/8 of the total. Emails, events, requests and the log
    /// evict their oldest entries (except for requests, from the tenant that has the most); new records are rejected with 403 when their share is
    /// used up. Request bodies, responses that clients haven't read yet, messages of SMTP sessions, and attachments that are being fetched share
    /// another 3/16: bodies wait for it, and requests that can't wait are rejected with 503. The program itself and its connections need additional
    /// memory.
    pub max_memory: usize,
    /// The maximum number of emails over all tenants; beyond it, the oldest emails of the tenant with the most emails are evicted.
    pub keep_mails: usize,
    /// The maximum number of bytes of email over all tenants; beyond it, the oldest emails of the tenant with the most bytes are evicted.
    pub keep_mail_bytes: usize,
    /// The maximum age of captured and received mails by the service's clock; older ones are deleted. `None`: no maximum age.
    pub keep_for: Option<Duration>,
    /// The maximum number of records of each kind (templates, contacts, …) per tenant; further ones are rejected with 403.
    pub keep_records: usize,
    /// The maximum number of recorded requests, for [`Service::requests`](crate::Service::requests) and `GET /logs`.
    pub keep_requests: usize,
    /// The maximum number of bytes of recorded requests and responses, headers and URLs included. A larger single exchange is recorded
    /// without its bodies, and without its headers if they are too large as well.
    pub keep_request_bytes: usize,
    /// The maximum number of webhook events per tenant; the oldest are evicted, and no longer delivered.
    pub keep_webhook_events: usize,
    /// The response timeout of webhook endpoints: 15 seconds.
    pub webhook_timeout: Duration,
    /// The maximum number of tenants. Beyond it, one without data is evicted, or the least recently used one with all its data
    /// ([`Service::on_evicted`](crate::Service::on_evicted)). Requests that only read create no tenant.
    pub keep_tenants: usize,
    /// The maximum size of a request body in bytes. Larger ones are rejected with 413. The body of a contact import may have 200 MB plus the size of
    /// its other parts, but no more than the share of records.
    pub body_limit: usize,
    /// The timeout for the complete head of an HTTP request.
    pub header_timeout: Duration,
    /// The idle timeout for the body of an HTTP request, which is then rejected with 408, and for a client that doesn't read its response, whose
    /// connection is then closed.
    pub body_timeout: Duration,
    /// The maximum number of HTTP connections; further ones are rejected with 503 and closed.
    pub max_connections: usize,
    /// Fetches attachments given by `path`. If false, they are rejected.
    pub fetch_attachments: bool,
    /// Permits webhooks and hosted attachments at private addresses, this machine's included, even if the service listens beyond loopback addresses
    /// or its `public_url` isn't this machine's; without either, it always permits them. Link-local addresses and metadata services are never
    /// requested.
    pub allow_private_addresses: bool,
    /// Loads the remote images of an email and requests its links when a user requests it, at public addresses. If false, this is rejected.
    pub fetch_remote: bool,
    /// The timeout of one remote image or link. The limit for an email is three times as long.
    pub remote_timeout: Duration,
    /// Servers at non-public addresses that may be requested for remote images and links, by exact IP address and port: for tests, whose
    /// servers run on this machine. The program has no flag for it.
    pub remote_servers: Vec<SocketAddr>,
    /// The password of every request, for a sandbox that other machines can reach. API keys must then be `sb_` or `re_` and the password,
    /// optionally followed by `_` and a name, such as `sb_PASSWORD_worker1`; created keys and access tokens stay valid. The inbox page and the
    /// consent page ask for it. SMTP requires `AUTH`. `None`: every key is accepted.
    pub password: Option<SecretString>,
    /// Accepted host names, in addition to this machine's and `public_url`'s.
    pub allowed_hosts: Vec<String>,
    /// The public base URL, for links. `None`: the address of the first mount.
    pub public_url: Option<String>,
    /// OAuth clients, in addition to those that register.
    pub oauth_clients: Vec<OAuthClient>,
    /// Serves the operations that are in beta (inboxes). If false, they respond 404.
    pub beta: bool,
    /// The initial state of the clock.
    pub clock: ClockStart,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            seed: None,
            rate_limit: None,
            daily_quota: None,
            monthly_quota: None,
            compat: Compat::default(),
            strict_domains: false,
            max_memory: 1 << 30,
            keep_mails: 100_000,
            keep_mail_bytes: 1 << 30,
            keep_for: None,
            keep_records: 200_000,
            keep_requests: 10_000,
            keep_request_bytes: 64 << 20,
            keep_webhook_events: 20_000,
            webhook_timeout: Duration::from_secs(15),
            keep_tenants: 1_000,
            body_limit: 64 << 20,
            header_timeout: Duration::from_secs(30),
            body_timeout: Duration::from_secs(30),
            max_connections: 1_000,
            fetch_attachments: true,
            allow_private_addresses: false,
            fetch_remote: true,
            remote_timeout: Duration::from_secs(10),
            remote_servers: Vec::new(),
            password: None,
            allowed_hosts: Vec::new(),
            public_url: None,
            oauth_clients: OAuthClient::defaults(),
            beta: false,
            clock: ClockStart::Real,
        }
    }
}

impl Settings {
    /// The effective settings: no byte limit exceeds its share of [`max_memory`](Self::max_memory).
    pub(crate) fn within_memory(self) -> Self {
        let share = self.share();
        Self {
            keep_mail_bytes: self.keep_mail_bytes.min(4 * share),
            keep_request_bytes: self.keep_request_bytes.min(share),
            body_limit: self.body_limit.min(2 * share),
            ..self
        }
    }

    /// The maximum age of mails.
    pub(crate) fn max_age(&self) -> Option<SignedDuration> {
        self.keep_for.and_then(|age| SignedDuration::try_from(age).ok())
    }

    /// A sixteenth of the memory.
    #[doc(hidden)]
    pub fn share(&self) -> usize {
        self.max_memory / 16
    }

    /// The memory limit of the records of all tables.
    pub(crate) fn record_bytes(&self) -> usize {
        4 * self.share()
    }

    /// The memory limit of emails that wait for their hosted attachments.
    pub(crate) fn fetch_bytes(&self) -> usize {
        self.share()
    }

    /// The memory limit of loaded remote images.
    pub(crate) fn image_bytes(&self) -> usize {
        self.share()
    }

    /// The memory limit of data in flight, in addition to the state's.
    pub(crate) fn in_flight_bytes(&self) -> usize {
        3 * self.share()
    }

    /// The memory limit of webhook events.
    pub(crate) fn webhook_event_bytes(&self) -> usize {
        2 * self.share()
    }
}
