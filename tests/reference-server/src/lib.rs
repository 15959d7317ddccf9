//! The reference server of idempost: the Email Delivery Service of the specification, in memory.
//!
//! Tests start it in their own process and inspect what it captured. It never delivers mail: an accepted email is rendered as the message that would
//! have been sent, and stored. The crate `idempost-sandbox` runs the same service as a development tool, with a web page for captured mail, SMTP, and
//! state that survives a restart. It builds on the modules of this crate, which are hidden from its documentation: they may change with every
//! version.
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
//! | `store` | tables with indexes, ordered lists, and memory accounting |
//! | `clock`, `scheduler` | a clock that tests can move, and jobs scheduled on it |
//! | `mime`, `content` | bounded MIME parsing; placeholders, HTML as text, codes and links |
//! | `model` | the records, one module per resource |
//! | `state` | the state of one service: tenants, logins, [`faults`] and queues |
//! | `delivery` | delivery of accepted emails; broadcasts; webhook events |
//! | `context`, `access` | the context of a handler; the account of a request |
//! | `reply`, `route` | what a mount does with a request; a route as data |
//! | `oauth`, `resources` | the handlers, named as the specification names the resources |
//! | `control` | links of emails and logins, the clock and faults, under `/_/` |
//! | `routes` | the route tables, one line per route |
//! | `guard` | protection against DNS rebinding and requests from other origins |
//! | `service` | the life cycle of a request, without a socket |
//! | [`mount`] | the listeners: `wiremock` for tests, `hyper` for the sandbox and for faults on the wire |
//!
//! Where the specification leaves a choice, the modules document it.

#![cfg_attr(docsrs, feature(doc_cfg))]

#[doc(hidden)]
pub mod access;
#[doc(hidden)]
pub mod clock;
#[doc(hidden)]
pub mod content;
#[doc(hidden)]
pub mod context;
#[doc(hidden)]
pub mod control;
#[cfg(test)]
mod cpu_time;
#[doc(hidden)]
pub mod delivery;
#[doc(hidden)]
pub mod digest;
#[doc(hidden)]
pub mod guard;
#[doc(hidden)]
pub mod lock;
#[doc(hidden)]
pub mod mime;
#[doc(hidden)]
pub mod model;
pub mod mount;
#[doc(hidden)]
pub mod oauth;
#[doc(hidden)]
pub mod reply;
#[doc(hidden)]
pub mod resources;
#[doc(hidden)]
pub mod route;
#[doc(hidden)]
pub mod routes;
#[doc(hidden)]
pub mod scheduler;
#[doc(hidden)]
pub mod seeds;
#[doc(hidden)]
pub mod server;
#[doc(hidden)]
pub mod service;
#[doc(hidden)]
pub mod settings;
#[doc(hidden)]
pub mod state;
#[doc(hidden)]
pub mod store;
#[doc(hidden)]
pub mod wire;

pub use clock::{Clock, ClockStart};
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
