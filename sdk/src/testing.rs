//! Test doubles for applications: a scripted transport, recorded exchanges, and records from JSON (feature `testing`).
//!
//! [`ScriptedTransport`] replies to a client's requests according to a script, so a unit test needs neither a server nor a network:
//!
//! ```
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> idempost::Result<()> {
//! use idempost::{
//!     Email,
//!     testing::{Reply, ScriptedTransport},
//! };
//! use serde_json::json;
//!
//! let script = ScriptedTransport::new([Reply::error(503, "service_unavailable"), Reply::json(200, json!({"id": "e1"}))]);
//! let accepted = script.client().emails().send(&Email::new("hi@acme.test", "ada@example.com", "Hello").text("Hi")).await?;
//! assert_eq!(accepted.id.as_str(), "e1");
//!
//! let requests = script.finish();
//! assert_eq!(requests.len(), 2, "the client retried");
//! assert_eq!(requests[1].json()["to"], json!(["ada@example.com"]));
//! assert_eq!(requests[0].header("idempotency-key"), requests[1].header("idempotency-key"));
//! # Ok(())
//! # }
//! ```
//!
//! With a paused clock (`#[tokio::test(start_paused = true)]`, Tokio's feature `test-util`), retries, delays and timeouts take no time.
//!
//! # Why at the transport
//!
//! Other SDKs replace more: google-cloud-rust's clients take a stub that implements a trait per service (`from_stub`), and aws-smithy-mocks returns
//! an operation's output. Such tests verify neither what the application sends nor how the client handles the response: validation, idempotency keys,
//! retries and decoding don't run. A script at the transport runs all of them, needs no trait per resource, and can be recorded, as with smithy-rs's
//! `dvr`: a [`Recorder`] writes a [`Recording`] of a real service or the sandbox, and [`ScriptedTransport::replay`] replays it.
//!
//! # Records
//!
//! Records are `#[non_exhaustive]`; to test code that takes a record, create one from JSON with [`record()`]. A single function serves all types: the
//! JSON is what the service sends (and what the CLI prints with `--json`), and it is decoded like a response. Builders would duplicate every record.

mod record;
mod recorder;
mod recording;
mod reply;
mod request;
mod script;

pub use record::record;
pub use recorder::Recorder;
pub use recording::Recording;
pub use reply::Reply;
pub use request::RecordedRequest;
pub use script::ScriptedTransport;
