//! How a service is set up: what it remembers, how strict it is, what time it is.

use std::time::Duration;

use crate::model::oauth::clients::OAuthClient;

pub(crate) use crate::clock::ClockStart;

/// The settings of one [`Service`](crate::Service).
///
/// Every limit has a default that suits both a test and a sandbox that runs for days.
///
/// ```
/// use posthaste_reference_server::Settings;
///
/// let settings = Settings { rate_limit: Some(10), ..Settings::default() };
/// assert_eq!(settings.keep_mails, 100_000);
/// ```
#[derive(Clone, Debug)]
pub struct Settings {
    /// Makes identifiers repeatable: two services with the same seed hand out the same ids in the same order.
    /// `None` hands out random ones.
    pub seed: Option<u64>,
    /// Requests a second for each tenant. `None` switches the limit off; the headers then announce 1,000,000.
    pub rate_limit: Option<u32>,
    /// Refuses senders whose domain the tenant has not verified. Off: any domain may send.
    pub strict_domains: bool,
    /// How many bytes the service remembers at most, whatever it is. Each kind has its share: emails 4/16, received and sent; records of
    /// tables (contacts, templates, …) 4/16; webhook events 2/16; emails that wait for their hosted attachments 2/16; and 1/16 each for the requests, the
    /// log, idempotency keys and what is remembered of logins. A request body has 1/8 of it at most. What forgets its oldest does so within its share; records are
    /// refused with 403 when theirs is used up. The program itself, its connections and the requests under way come on top.
    pub max_memory: usize,
    /// How many emails are remembered over all tenants; the oldest go first.
    pub keep_mails: usize,
    /// How many bytes of email are remembered over all tenants; the oldest go first.
    pub keep_mail_bytes: usize,
    /// How many records of each kind (templates, contacts, …) a tenant can have; more are refused with 403.
    pub keep_records: usize,
    /// How many requests are remembered, by [`Service::requests`](crate::Service::requests) and by `GET /logs`.
    pub keep_requests: usize,
    /// How many bytes of requests and responses are remembered, headers and addresses included. An exchange that is larger on its own is
    /// remembered without its bodies, and without its headers if they are too large too.
    pub keep_request_bytes: usize,
    /// How many webhook events of each tenant are remembered; the oldest go first, and are then told no more.
    pub keep_webhook_events: usize,
    /// How long the endpoint of a webhook may take to answer (`rulings.md`: 15 seconds).
    pub webhook_patience: Duration,
    /// How many tenants are remembered; the one that was silent longest goes first.
    pub keep_tenants: usize,
    /// The largest request body in bytes. A larger one is answered 413.
    pub body_limit: usize,
    /// How long the head of an HTTP request may take to arrive, all of it.
    pub header_timeout: Duration,
    /// How long the body of an HTTP request may stand still; it is then answered 408.
    pub body_timeout: Duration,
    /// HTTP connections at a time; one more is answered 503 and closed.
    pub max_connections: usize,
    /// Fetches attachments that are given by their `path`, from any address, this machine's own included. Off: they are refused.
    pub fetch_attachments: bool,
    /// The address by which others reach the service, for the links that it hands out. `None`: where its first mount listens.
    pub public_url: Option<String>,
    /// The programs that may log people in, besides those that register.
    pub oauth_clients: Vec<OAuthClient>,
    /// What the clock shows at the start.
    pub clock: ClockStart,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            seed: None,
            rate_limit: None,
            strict_domains: false,
            max_memory: 1 << 30,
            keep_mails: 100_000,
            keep_mail_bytes: 1 << 30,
            keep_records: 200_000,
            keep_requests: 10_000,
            keep_request_bytes: 64 << 20,
            keep_webhook_events: 20_000,
            webhook_patience: Duration::from_secs(15),
            keep_tenants: 1_000,
            body_limit: 64 << 20,
            header_timeout: Duration::from_secs(30),
            body_timeout: Duration::from_secs(30),
            max_connections: 1_000,
            fetch_attachments: true,
            public_url: None,
            oauth_clients: OAuthClient::usual(),
            clock: ClockStart::Real,
        }
    }
}

impl Settings {
    /// The settings as they hold: no bound on bytes is above its share of [`max_memory`](Self::max_memory).
    pub(crate) fn within_memory(self) -> Self {
        let share = self.share();
        Self {
            keep_mail_bytes: self.keep_mail_bytes.min(4 * share),
            keep_request_bytes: self.keep_request_bytes.min(share),
            body_limit: self.body_limit.min(2 * share),
            ..self
        }
    }

    /// A sixteenth of the memory.
    pub(crate) fn share(&self) -> usize {
        self.max_memory / 16
    }

    /// What the records of all tables may take.
    pub(crate) fn record_bytes(&self) -> usize {
        4 * self.share()
    }

    /// What the emails may take that wait for their hosted attachments.
    pub(crate) fn fetch_bytes(&self) -> usize {
        2 * self.share()
    }

    /// What the events of all webhooks may take.
    pub(crate) fn webhook_event_bytes(&self) -> usize {
        2 * self.share()
    }
}
