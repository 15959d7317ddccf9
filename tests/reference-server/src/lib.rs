//! The reference server of posthaste: the Email Delivery Service of the specification, in memory.
//!
//! Tests start it in their own process and look at what arrived; `posthaste sandbox serve` runs the same service for
//! days. It never delivers anything: an accepted email is rendered as the mail that would have left, and kept.
//!
//! ```
//! # use posthaste_reference_server::ReferenceServer;
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! let server = ReferenceServer::start().await;
//! // Point a client at `server.base_url()` with `server.api_key()`, let it send, then look:
//! assert!(server.service().mails(&server.api_key()).is_empty());
//! # });
//! ```
//!
//! # Where things are
//!
//! | file | idea |
//! |---|---|
//! | `service` | the life of a request, from request to response, without a socket |
//! | `routes` | the table: method, path, scope, handler; a line a route |
//! | `keys`, `ratelimit`, `idempotency`, [`faults`] | what a request meets before its handler |
//! | `validation`, `paging`, `problem` | reading bodies and list parameters; error answers |
//! | `resources` | the handlers, named as the specification names the resources |
//! | `schedule` | `scheduled_at`, in ISO 8601 or in words |
//! | `delivery` | what becomes of an accepted email: its mail, its fate, its hosted attachments |
//! | `guard` | pages from elsewhere are refused: DNS rebinding, other origins |
//! | `state` | what is remembered of each tenant, and the bounds on it |
//! | `store` | tables with indexes, lists in order, and how much memory a record takes |
//! | [`keep`] | state that outlives the process |
//! | `mime` | reading mail, within limits: the only door to the parser |
//! | `cancel` | work for a client that may have gone |
//! | `clock` | time that a test can move, and work that falls due |
//! | `links` | addresses that the service hands out, and how it knows its own again |
//! | `news` | what has just happened, for whoever looks on |
//! | `oauth` | logins: authorization, the consent page, codes, tokens, grants |
//! | `inbox` | the sandbox's own routes under `/_/`: captured mails as JSON and as a page |
//! | [`mount`] | the doors: `wiremock` for tests, `hyper` for the sandbox and for faults on the wire, SMTP |
//!
//! Where the specification is silent the modules say what was chosen.

mod cancel;
mod clock;
mod delivery;
pub mod faults;
mod guard;
mod idempotency;
mod inbox;
pub mod keep;
mod keys;
mod links;
mod lock;
mod mime;
pub mod mount;
mod news;
mod oauth;
mod paging;
mod problem;
mod ratelimit;
mod resources;
mod routes;
mod schedule;
mod seeds;
mod server;
mod service;
mod settings;
mod state;
mod store;
mod validation;

pub use clock::Clock;
pub use delivery::captured::{CapturedAttachment, CapturedMail, Lazy, Tag};
pub use delivery::fetch::{Errand, FetchError, Fetched};
pub use delivery::webhooks::post::{Posted, WebhookPost};
pub use faults::Faults;
pub use oauth::{IssuedTokens, OAuthClient, TokenEvent, TokenEventKind};
pub use resources::received::NotReceived;
pub use server::ReferenceServer;
pub use service::Service;
pub use settings::{ClockStart, Settings};
pub use state::requests::RecordedRequest;
