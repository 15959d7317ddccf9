//! The reference server of idempost: the Email Delivery Service of the specification, in memory.
//!
//! Tests start it in their own process and inspect what it captured; `idempost sandbox serve` runs the same service for days. It never
//! delivers mail: an accepted email is rendered as the message that would have been sent, and stored.
//!
//! ```
//! # use idempost_reference_server::ReferenceServer;
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! let server = ReferenceServer::start().await;
//! // Point a client at `server.base_url()` with `server.api_key()`, send, then inspect:
//! assert!(server.service().mails(&server.api_key()).is_empty());
//! # });
//! ```
//!
//! # Modules
//!
//! | module, bottom to top | contents |
//! |---|---|
//! | `wire` | request bodies, list parameters, responses and errors |
//! | `store` | tables with indexes, ordered lists, and the accounting of memory |
//! | `clock`, `scheduler` | a clock that tests can move, and jobs that run at a time of it |
//! | `mime`, `content` | bounded MIME parsing; the [`check`] of a mail, placeholders, and HTML as text |
//! | `model` | the records, one module per resource |
//! | `state` | the state of one service: tenants, logins, [`faults`] and queues |
//! | `delivery` | delivery of accepted emails; broadcasts; webhook events |
//! | `context` | the context of a handler |
//! | `oauth`, `resources` | the handlers, named as the specification names the resources |
//! | `routes` | the route table: method, path, scope and handler, one line per route |
//! | `inbox` | the sandbox's own routes under `/_/`: captured emails as JSON and as a page |
//! | `guard` | protection against DNS rebinding and requests from other origins |
//! | `service` | the life cycle of a request, without a socket |
//! | [`persistence`] | state that survives a restart |
//! | [`mount`] | the listeners: `wiremock` for tests, `hyper` for the sandbox and for faults on the wire, SMTP |
//!
//! Where the specification leaves a choice, the modules document it.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod access;
mod clock;
mod content;
mod context;
mod control;
#[cfg(test)]
mod cpu_time;
mod delivery;
mod guard;
mod inbox;
mod lock;
mod mime;
mod model;
pub mod mount;
mod oauth;
pub mod persistence;
mod reply;
mod resources;
mod route;
mod routes;
mod scheduler;
mod seeds;
mod server;
mod service;
mod settings;
mod state;
mod store;
mod wire;

pub use clock::{Clock, ClockStart};
pub use content::check;
pub use content::links::Link;
pub use delivery::webhooks::post::{Posted, WebhookPost};
pub use model::email::tags::Tag;
pub use model::mail::lazy::Lazy;
pub use model::mail::{CapturedAttachment, CapturedMail};
pub use model::oauth::clients::OAuthClient;
pub use model::oauth::events::{IssuedTokens, TokenEvent, TokenEventKind};
pub use resources::received::NotReceived;
pub use server::ReferenceServer;
pub use service::Service;
pub use settings::{Compat, Settings};
pub use state::faults::{self, Faults};
pub use state::fetches::{FetchError, FetchJob, Fetched};
pub use state::relay::{AllowList, Outgoing, Relay, RelayError};
pub use state::requests::RecordedRequest;
