//! A typed client for an HTTP email service.
//!
//! ```no_run
//! # async fn example() -> posthaste::Result<()> {
//! use posthaste::{Client, Email};
//!
//! let client = Client::new("https://api.example.com", "re_…")?;
//! let email = Email::new("Acme <hi@acme.test>", "ada@example.com", "Hello").text("It works");
//! let accepted = client.emails().send(&email).await?;
//! println!("accepted as {}", accepted.id);
//! # Ok(())
//! # }
//! ```
//!
//! # What it promises
//!
//! - **A send happens once.** Every send carries an idempotency key, and keeps it over all its attempts. A request whose
//!   outcome is unknown is repeated only when that can't do a thing twice. When the outcome stays unknown, the error says so
//!   and carries the key with which you can safely repeat: [`Error::outcome`], [`Error::idempotency_key`].
//! - **Everything wrong is said at once**, with its place, before anything is sent: [`Email::check`].
//! - **Nothing the service adds breaks you**: unknown fields, unknown enum values, other 2xx codes, either timestamp style.
//! - **Large things stream**: an [`Attachment::from_file`] costs the same memory whatever its size;
//!   [`List::stream`] asks page by page.
//! - **What a webhook receives is verified** before it is believed, over its bytes and in constant time: [`WebhookVerifier`].
//! - **Nothing secret shows** in `Debug`, in errors or in `tracing` events.
//!
//! # Finding your way
//!
//! A [`Client`] has one accessor a resource ([`Client::emails`], [`Client::logs`]). An operation returns a [`Call`], which takes its options
//! and is then awaited; a list returns a [`List`], which is a page when awaited and all items when streamed. An operation without
//! a type of its own is reached with [`Client::request`]. Errors are one enum, [`Error`], whose table says what to do.
//!
//! Retries, time limits and pace have defaults that suit a service in production; [`ClientBuilder`] changes them for all calls
//! and [`Call`] for one.
//!
//! It runs on tokio. HTTP goes over reqwest: with `default-features = false` an application brings its own
//! [`Transport`](transport::Transport).
//!
//! # Features
//!
//! | feature | adds |
//! |---|---|
//! | `reqwest` | the default transport, over plain HTTP alone |
//! | `rustls` | TLS by rustls, which trusts what the operating system trusts; implies `reqwest` |
//! | `rustls-no-provider` | the same with the cryptography provider that the application installs; implies `reqwest`; off by default |
//! | `oauth` | logins: the authorization code flow, sessions that refresh themselves, token stores |
//! | `redirect-listener` | the loopback server that receives the browser's redirect; implies `oauth` |
//!
//! | `blocking` | `blocking()` on calls, lists and waits, for programs without an async runtime; off by default |
//!
//! The others are on by default. With `default-features = false, features = ["rustls"]` a program that only sends builds neither an HTTP
//! server nor the OAuth crate.

#[macro_use]
mod macros;
#[macro_use]
pub mod types;
#[macro_use]
pub mod problem;

pub mod auth;
pub mod body;
mod call;
mod client;
mod error;
pub mod guide;
pub mod resources;
pub mod transport;

/// The crates whose types are part of this API.
pub use {bytes, http, url};

pub use call::{Call, Preview, RateLimit, RetryEvent, RetryPolicy, WithResponse};
#[cfg(feature = "blocking")]
pub use client::BlockingIter;
pub use client::{Client, ClientBuilder, List, Page, Paginator, Wait, page};
pub use error::{
    ApiError, ApiErrorKind, DecodeCause, DecodeError, Error, FileError, Outcome, PagingError, RateLimitError,
    Result, TransportFailure, WaitTimeout,
};
pub use problem::{Problem, Problems, SettingsError, Validate, path_segment};
pub use resources::{
    Deleted, Reference,
    api_keys::{ApiKeySummary, CreatedApiKey, NewApiKey},
    automations::{
        Action, Automation, AutomationEmail, AutomationPatch, AutomationRun, AutomationRunSummary,
        AutomationStatus, AutomationSummary, Connection, ConnectionType, ContactUpdate, NewAutomation, Rule,
        RunStatus, RunStep, RunValue, Step, StepStatus, WaitForEvent,
    },
    broadcasts::{Broadcast, BroadcastPatch, BroadcastStatus, BroadcastSummary, NewBroadcast},
    contact_properties::{
        ContactProperty, ContactPropertyPatch, NewContactProperty, NumberProperty, PropertyType,
        StringProperty,
    },
    contacts::{
        Contact, ContactPatch, ContactRef, ContactSummary, DeletedContact, HeldProperty, Membership,
        NewContact, PropertyValue, TopicSubscription, TopicsUpdated,
    },
    domains::{
        Capabilities, Capability, DnsRecord, Domain, DomainPatch, DomainStatus, DomainSummary, NewDomain,
        RecordPurpose, RecordStatus, RecordType, Region, Tls,
    },
    emails::{
        Accepted, AcceptedBatch, Attachment, BatchEmail, BatchError, Email, EmailFields, EmailRecord,
        LastEvent, SentEmail, Tag, TemplateFields, VariableValue, check_batch,
    },
    events::{Event, EventOccurrence, EventPatch, NewEvent, PayloadType, SentEvent},
    logs::{LogEntry, LogEntrySummary},
    oauth_grants::{GrantedClient, OAuthGrant, RevokedOAuthGrant},
    received::{
        ContentDisposition, RawEmail, ReceivedAttachment, ReceivedEmail, ReceivedEmailSummary, ReceivedFile,
    },
    segments::Segment,
    templates::{
        DefinedVariable, NewTemplate, NumberVariable, StringVariable, Template, TemplatePatch,
        TemplateStatus, TemplateSummary, TemplateVariable, VariableType,
    },
    topics::{NewTopic, Subscription, Topic, TopicPatch, Visibility},
    webhooks::{
        CreatedWebhook, Delivery, EventData, EventType, NewWebhook, SecretError, VerificationError, Webhook,
        WebhookAttempt, WebhookEvent, WebhookEventStatus, WebhookEventSummary, WebhookPatch, WebhookPayload,
        WebhookStatus, WebhookSummary, WebhookVerifier,
    },
};
pub use types::IdempotencyKey;
pub use types::{
    ApiKeyId, AttachmentId, AutomationId, AutomationRunId, BroadcastId, ContactId, ContactPropertyId,
    DomainId, EmailId, EventId, LogId, OAuthGrantId, ReceivedEmailId, Recipients, ScheduledAt, SegmentId,
    TemplateId, Timestamp, TopicId, WebhookAttemptId, WebhookEventId, WebhookId,
};
