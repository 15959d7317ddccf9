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
//! | module, bottom to top | idea |
//! |---|---|
//! | `wire` | reading bodies and list parameters; answers and their errors |
//! | `store` | tables with indexes, lists in order, and how much memory a record takes |
//! | `clock`, `scheduler` | time that a test can move, and work that falls due |
//! | `mime`, `content` | reading mail, within limits; placeholders, and HTML as text |
//! | `model` | the records, one module a resource |
//! | `state` | what the whole service shares, with its tenants, logins, [`faults`] and queues |
//! | `delivery` | what becomes of an accepted email; broadcasts; webhook events |
//! | `context` | what a handler gets |
//! | `oauth`, `resources` | the handlers, named as the specification names the resources |
//! | `routes` | the table: method, path, scope, handler; a line a route |
//! | `inbox` | the sandbox's own routes under `/_/`: captured mails as JSON and as a page |
//! | `guard` | pages from elsewhere are refused: DNS rebinding, other origins |
//! | `service` | the life of a request, from request to response, without a socket |
//! | [`persistence`] | state that outlives the process |
//! | [`mount`] | the doors: `wiremock` for tests, `hyper` for the sandbox and for faults on the wire, SMTP |
//!
//! Where the specification is silent the modules say what was chosen.

mod clock;
mod content;
mod context;
mod delivery;
mod guard;
mod inbox;
mod lock;
mod mime;
mod model;
pub mod mount;
mod oauth;
pub mod persistence;
mod resources;
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
pub use delivery::webhooks::post::{Posted, WebhookPost};
pub use model::email::tags::Tag;
pub use model::mail::lazy::Lazy;
pub use model::mail::{CapturedAttachment, CapturedMail};
pub use model::oauth::clients::OAuthClient;
pub use model::oauth::events::{IssuedTokens, TokenEvent, TokenEventKind};
pub use resources::received::NotReceived;
pub use server::ReferenceServer;
pub use service::Service;
pub use settings::Settings;
pub use state::faults::{self, Faults};
pub use state::fetches::{FetchError, FetchJob, Fetched};
pub use state::requests::RecordedRequest;
