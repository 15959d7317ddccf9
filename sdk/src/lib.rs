//! A typed async Rust SDK for the [Resend](https://resend.com) email API. Not affiliated with Resend.
//!
//! ```no_run
//! # async fn example() -> idempost::Result<()> {
//! use idempost::{Client, Email};
//!
//! let client = Client::resend("re_…")?;
//! let email = Email::new("Acme <hi@acme.test>", "ada@example.com", "Hello").text("It works");
//! let accepted = client.emails().send(&email).await?;
//! println!("accepted as {}", accepted.id);
//! # Ok(())
//! # }
//! ```
//!
//! # Calls
//!
//! A [`Client`] has an accessor per resource, such as [`Client::emails`] or [`Client::domains`], whose methods are the operations of the API.
//! Each returns one of three lazy values, which send nothing until they are awaited and take options before that:
//!
//! | value | awaited | options |
//! |---|---|---|
//! | [`Call`] | sends one request, with retries | timeout, retries, headers, idempotency key |
//! | [`List`] | requests one page; [`stream`](List::stream) yields all items | page size, cursor |
//! | [`Wait`] | polls until a record reaches a terminal state | maximum wait and interval |
//!
//! ```no_run
//! # async fn example(client: &idempost::Client, email: &idempost::Email) -> idempost::Result<()> {
//! use std::time::Duration;
//!
//! use futures_util::TryStreamExt;
//!
//! let accepted = client.emails().send(email).idempotency_key("order-17").timeout(Duration::from_secs(10)).await?;
//! let delivered = client.emails().wait(accepted.id).await?;
//! println!("{:?}", delivered.last_event);
//!
//! let mut all = client.emails().list().stream();
//! while let Some(email) = all.try_next().await? {
//!     println!("{} {}", email.id, email.subject);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! [`Client::request`] calls operations that have no typed method; [`Call::query`] and [`Call::json`] set parameters that have none.
//! [`ClientBuilder`] configures all calls; the defaults suit production. [`Client::new`] takes the base URL of a
//! service other than Resend, and [`Client::from_env`] reads both from the environment.
//!
//! # Errors
//!
//! All calls fail with [`Error`], whose table lists each variant with the recommended action. After a failed send, [`Error::outcome`] says whether
//! the service may have accepted it, and [`Error::idempotency_key`] returns the key for retrying it:
//!
//! ```no_run
//! # async fn example(client: &idempost::Client, email: &idempost::Email) -> idempost::Result<()> {
//! use idempost::Outcome;
//!
//! match client.emails().send(email).await {
//!     Ok(accepted) => println!("accepted as {}", accepted.id),
//!     Err(error) if error.outcome() == Outcome::Unknown => {
//!         println!("unknown; safe to retry with the key {:?}", error.idempotency_key());
//!     }
//!     Err(error) => return Err(error),
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # Guarantees
//!
//! - **Every send is delivered at most once.** All attempts of a send have the same idempotency key. Any other request with an unknown outcome is
//!   retried only if the operation is idempotent.
//! - **All validation errors are reported together**, each with its JSON pointer, before anything is sent: [`Email::check`].
//! - **Additions to the API don't break the client**: unknown fields and enum values, other 2xx statuses, and both timestamp formats are
//!   accepted.
//! - **Large data is streamed**: [`Attachment::from_file`] and [`from_stream`](Attachment::from_stream) take constant memory, and [`List::stream`]
//!   requests one page at a time.
//! - **Webhook requests are verified** over the received bytes and in constant time: [`WebhookVerifier`](webhooks::WebhookVerifier).
//! - **Secrets never appear** in `Debug` output, errors or `tracing` events.
//!
//! # Login
//!
//! A client authenticates with an API key, an access token, or (feature `oauth`) an OAuth [`Session`](auth::Session), which refreshes its
//! access token on demand. [`auth`] contains the authorization code flow with PKCE; [`AuthorizationServer`](auth::AuthorizationServer)
//! shows a complete example.
//!
//! # Runtime, transport and features
//!
//! The client runs on tokio and sends over reqwest. With `default-features = false`, an application provides its own
//! [`Transport`](transport::Transport).
//!
//! | feature | default | adds |
//! |---|---|---|
//! | `reqwest` | yes | the default transport, over plain HTTP only |
//! | `rustls` | yes | TLS by rustls and ring with the operating system's trust store; implies `reqwest` |
//! | `rustls-no-provider` | no | TLS with a cryptography provider that the application installs, without ring; implies `reqwest` |
//! | `oauth` | no | the authorization code flow, sessions and token stores |
//! | `redirect-listener` | no | a loopback server that receives the browser's redirect; implies `oauth` |
//! | `gzip` | no | compressed responses: smaller pages of long lists; implies `reqwest` |
//! | `socks` | no | SOCKS proxies; implies `reqwest` |
//! | `otel` | no | OpenTelemetry: `traceparent` on requests, and metrics of calls, attempts, waits and refreshes |
//! | `beta` | no | operations in private beta at Resend, which may still change: `Client::inboxes` |
//! | `blocking` | no | `blocking()` on calls, lists, waits and every other future, for programs without an async runtime |
//! | `testing` | no | the module `testing`: a scripted transport, recorded exchanges, and records from JSON, for unit tests |
//! | `lettre` | no | `Email::try_from(&message)` for messages of the lettre crate |
//!
//! For WebAssembly in JavaScript (`wasm32-unknown-unknown`), use the feature `reqwest` without the default features: requests use the host's `fetch`,
//! and delays its timers. There, redirects are followed before the call fails, a failed connection counts as [`Outcome::Unknown`], and bodies are
//! held in memory. Features that need files, sockets or threads aren't available: `from_file`, `auth::FileStore`, `ClientBuilder::connect_timeout`,
//! `ReqwestTransport::with_config`, `ReqwestTransport::proxy`, and the features `blocking` and `redirect-listener`.

#![cfg_attr(docsrs, feature(doc_cfg))]

#[macro_use]
mod macros;
#[macro_use]
pub mod types;
#[macro_use]
pub mod problem;

pub mod auth;
pub mod body;
pub mod call;
mod client;
mod clock;
pub mod error;
pub mod guide;
mod resources;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod transport;

/// Crates whose types are part of this API.
pub use {bytes, http, serde_json, url};

#[cfg(feature = "lettre")]
pub use lettre;
#[cfg(feature = "reqwest")]
pub use reqwest;

#[doc(inline)]
pub use call::Call;
#[cfg(feature = "blocking")]
pub use client::Blocking;
pub use client::{Client, ClientBuilder, List, Page, Wait};
#[doc(inline)]
pub use error::{Error, Outcome, Result};
#[doc(inline)]
pub use resources::emails::{Accepted, Attachment, BatchEmail, Email, Tag};
#[cfg(feature = "beta")]
pub use resources::inboxes;
pub use resources::{
    Deleted, Reference, api_keys, audiences, automations, broadcasts, contact_imports, contact_properties,
    contacts, domains, emails, events, logs, oauth_grants, received, segments, suppressions, templates,
    topics, usage, webhooks,
};
#[doc(inline)]
pub use types::{
    ApiKeyId, AttachmentId, AutomationId, AutomationRunId, BroadcastId, ContactId, ContactImportId,
    ContactPropertyId, DomainClaimId, DomainId, EmailId, EventId, IdempotencyKey, LogId, OAuthGrantId,
    ReceivedEmailId, Recipients, ScheduledAt, SegmentId, SuppressionId, TemplateId, Timestamp, TopicId,
    WebhookAttemptId, WebhookEventId, WebhookId,
};
#[cfg(feature = "beta")]
#[doc(inline)]
pub use types::{InboxDraftId, InboxEmailId, InboxId, InboxLabelId, InboxThreadId};

/// The items and pages of lists, and positions to continue from.
pub mod page {
    #[cfg(feature = "blocking")]
    pub use crate::client::BlockingIter;
    pub use crate::client::page::{Item, ListPosition, Pages, Paginator};
}
