//! The client: one accessor a resource, and the escape hatch.

mod builder;

pub use builder::ClientBuilder;
pub(crate) use builder::{address, is_loopback};

use std::{fmt, sync::Arc, time::Duration};

use http::{HeaderMap, Method};
use url::Url;

use crate::{
    auth::Credentials,
    call::{Call, Operation},
    error::Result,
    keys::KeyMemory,
    limiter::Limiter,
    resources::{
        api_keys::ApiKeys, audiences::Audiences, automations::Automations, broadcasts::Broadcasts,
        contact_properties::ContactProperties, contacts::Contacts, domains::Domains, emails::Emails,
        events::Events, logs::Logs, oauth_grants::OAuthGrants, received::Received, segments::Segments,
        templates::Templates, topics::Topics, webhooks::Webhooks,
    },
    retry::{Budget, RetryPolicy},
    transport::Transport,
};

/// A connection to the service, with its settings. Cloning it is cheap; clones share connections, limits and budgets.
#[derive(Clone)]
pub struct Client {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) base_url: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) credentials: Credentials,
    pub(crate) transport: Box<dyn Transport>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) attempt_timeout: Option<Duration>,
    pub(crate) idle_timeout: Duration,
    pub(crate) answer_limit: usize,
    pub(crate) retry: RetryPolicy,
    pub(crate) budget: Budget,
    pub(crate) keys: KeyMemory,
    pub(crate) limiter: Limiter,
}

impl Client {
    /// A client for the service at `base_url`, with an API key and the default settings.
    ///
    /// # Errors
    /// The address or the key is malformed.
    pub fn new(base_url: &str, api_key: &str) -> Result<Self> {
        Self::builder().base_url(base_url).api_key(api_key).build()
    }

    /// A client with the settings of the environment: see [`ClientBuilder::from_env`].
    ///
    /// # Errors
    /// A variable is missing or malformed.
    #[cfg(feature = "reqwest")]
    pub fn from_env() -> Result<Self> {
        ClientBuilder::from_env().build()
    }

    /// Settings that differ from the defaults.
    pub fn builder() -> ClientBuilder {
        ClientBuilder::default()
    }

    /// The address that all paths are put behind.
    pub fn base_url(&self) -> &Url {
        &self.inner.base_url
    }

    /// What happens by itself when an event is sent.
    pub fn automations(&self) -> Automations<'_> {
        Automations::of(self)
    }

    /// Sending emails, and looking at those that were sent.
    pub fn emails(&self) -> Emails<'_> {
        Emails::of(self)
    }

    /// Broadcasts: one email for all contacts of a segment.
    pub fn broadcasts(&self) -> Broadcasts<'_> {
        Broadcasts::of(self)
    }

    /// Contacts, and the segments they are in.
    pub fn contacts(&self) -> Contacts<'_> {
        Contacts::of(self)
    }

    /// Segments: groups of contacts.
    pub fn segments(&self) -> Segments<'_> {
        Segments::of(self)
    }

    /// Audiences, the deprecated former name of segments.
    pub fn audiences(&self) -> Audiences<'_> {
        Audiences::of(self)
    }

    /// Custom events, which trigger automations.
    pub fn events(&self) -> Events<'_> {
        Events::of(self)
    }

    /// Domains to send from and to receive at.
    pub fn domains(&self) -> Domains<'_> {
        Domains::of(self)
    }

    /// Contact properties: what else can be known of a contact.
    pub fn contact_properties(&self) -> ContactProperties<'_> {
        ContactProperties::of(self)
    }

    /// Topics: what contacts can say yes or no to.
    pub fn topics(&self) -> Topics<'_> {
        Topics::of(self)
    }

    /// Templates: stored bodies with variables.
    pub fn templates(&self) -> Templates<'_> {
        Templates::of(self)
    }

    /// Received emails, and what is attached to them.
    pub fn received(&self) -> Received<'_> {
        Received::of(self)
    }

    /// Webhooks: where the service tells its events.
    pub fn webhooks(&self) -> Webhooks<'_> {
        Webhooks::of(self)
    }

    /// API keys.
    pub fn api_keys(&self) -> ApiKeys<'_> {
        ApiKeys::of(self)
    }

    /// Whom access was given to.
    pub fn oauth_grants(&self) -> OAuthGrants<'_> {
        OAuthGrants::of(self)
    }

    /// The service's log of API requests.
    pub fn logs(&self) -> Logs<'_> {
        Logs::of(self)
    }

    /// An operation that this version has no type for.
    ///
    /// `path` is relative to the base address, begins with `/`, and is sent as it is: write its parts with
    /// [`path_segment`](crate::path_segment). Add a [`query`](Call::query) or a [`json`](Call::json) body, and read the answer as
    /// `serde_json::Value` or as a type of your own with [`typed`](Call::typed).
    ///
    /// ```
    /// # async fn example(client: &posthaste::Client) -> posthaste::Result<()> {
    /// let domain = posthaste::path_segment("d91cd9bd-1176-453e-8fc1-35364d380206")?;
    /// let answer = client.request(http::Method::GET, format!("/domains/{domain}")).await?;
    /// println!("{}", answer["status"]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// It is retried as a typed call would be: a `POST` whose outcome is unknown never, except for `/emails` and `/emails/batch`, which
    /// carry an idempotency key here too.
    pub fn request(&self, method: Method, path: impl Into<String>) -> Call<serde_json::Value> {
        Call::new(self, Operation::raw(method, path.into()))
    }
}

/// `Debug` names the address and nothing else.
impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("base_url", &self.inner.base_url.as_str()).finish_non_exhaustive()
    }
}
