//! A login in use: access tokens for calls, refreshed on demand, safely across tasks, processes and crashes.
//!
//! # Why a grant is not lost
//!
//! The service replaces the refresh token at each use, and treats a reused one as stolen: it revokes the grant (`docs/specification.md`,
//! Authentication 4). There is no grace period. A refresh without a response leaves three possibilities:
//!
//! | case | what happened | a retry |
//! |---|---|---|
//! | W1 | the request was not executed | refreshes |
//! | W2 | it was executed, and the new token is lost | is a reuse; but the session was lost already |
//! | W3 | it is still in flight | refreshes, and then the late original is a reuse that revokes a *live* session |
//!
//! So a retry is harmful in W3, and in W2 for the remaining lifetime of the old access token. It is harmless once that token has expired and the
//! original request can no longer arrive. The whole protocol follows from this; [`protocol`] implements it step by step:
//!
//! 1. **One at a time.** Within a process one task refreshes and all others wait for it. Between processes the store's lock decides, which is never
//!    broken by age and never skipped. The holder of the lock *reads again*: if another process was faster, nothing is sent. Without a
//!    failure, each refresh token is thus sent once.
//! 2. **Mark before, outcome after.** Before the request is sent, the record is durably marked as pending. A process that finds a mark may be in W1, W2 or
//!    W3, and waits until the access token has expired *and* the settle time has passed (60 s: more than the 30 s timeout of a request, with as
//!    much again for one delayed in the network). W3 is then impossible, and in W1 and W2 a retry costs nothing. The mark also proves that
//!    the store is writable: one that isn't fails before anything is sent. A mark that became stale (the machine slept) is written again.
//! 3. **Every byte counts.** A response that ends early, because of a broken connection or a timeout, is still searched for a complete refresh token.
//! 4. **Save first.** The record with the new refresh token is written before any other code of the application runs: events are delivered
//!    afterwards, and a panic in a clock, a listener or the store's write is caught. If the write fails, this process keeps the record in memory, reports
//!    it ([`SessionEvent::NotSaved`]) and retries the write later; it never sends the old token again.
//! 5. **Nothing interrupts it.** The refresh runs in its own task; a caller that is dropped or times out leaves it running.
//! 6. **Only `invalid_grant` ends a session**, and only after the record was read once more: a program that takes no lock may have been faster. A
//!    tombstone is written, so that no later process retries. Every other error leaves the tokens unchanged.
//! 7. **A logout is final.** It holds the store's lock, and anything that was read or started in memory before it belongs to an earlier epoch, which
//!    changes nothing in the next one (`state`).
//!
//! One case remains: a response that is lost after the service has acted, because of the network or because the process is killed at that point. That session is
//! lost whatever a client does (W2), and the error says so. `model_check` searches all interleavings of the protocol for anything else, and
//! `state_check` those of the state in memory.
//!
//! The assumptions: a request arrives within the settle time or never; a process is not suspended for that long between its last read of
//! the clock and its request (one suspended before that writes its mark again); the store keeps its [contract](super::TokenStore); the wall clock is
//! not set forward by more than the settle time between a lost response and the next attempt.

mod builder;
mod driver;
mod event;
mod flight;
mod handle;
#[cfg(test)]
mod model_check;
mod protocol;
mod shared;
mod state;
#[cfg(test)]
mod state_check;
mod token;
#[cfg(feature = "blocking")]
pub(crate) mod used_sessions;

pub(crate) use self::token::Token;
pub use self::{
    builder::SessionBuilder,
    event::{RefreshRequest, Revocation, SessionEvent},
    handle::Session,
};
