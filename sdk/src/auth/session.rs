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
//! A retry is therefore harmful in W3, and in W2 for the remaining lifetime of the old access token. It is harmless once that token has expired and
//! the original request can no longer arrive. The whole protocol follows from this; [`protocol`] implements it step by step:
//!
//! 1. **One refresh at a time.** Within a process, one task refreshes and all others wait for it. Between processes, the store's lock decides; it is
//!    never broken by age and never skipped. The holder of the lock *reads the record again*: if another process was faster, nothing is sent. Without
//!    failures, each refresh token is therefore sent once.
//! 2. **Mark before, outcome after.** Before the request is sent, the record is durably marked as pending. A process that finds a mark may be in W1,
//!    W2 or W3, and waits until the access token has expired *and* the settle time has passed (60 s: twice the 30 s timeout of a request, to allow
//!    for delays in the network). W3 is then impossible, and in W1 and W2 a retry does no harm. The mark also proves that the store is writable:
//!    otherwise the refresh fails before anything is sent. A mark that has become stale (the machine slept) is written again.
//! 3. **Every byte counts.** A response cut short by a broken connection or a timeout is still searched for a complete refresh token.
//! 4. **Save first.** The record with the new refresh token is written before any other application code runs: events are delivered afterwards, and
//!    panics in a clock, a listener or the store's write are caught. If the write fails, this process keeps the record in memory, reports it
//!    ([`SessionEvent::NotSaved`]) and retries the write later; it never sends the old token again.
//! 5. **Nothing interrupts a refresh.** It runs in its own task; a caller that is dropped or times out leaves it running.
//! 6. **Only `invalid_grant` ends a session**, and only after the record has been read once more: a program that doesn't take the lock may have been
//!    faster. A tombstone is written, so that no later process retries. Every other error leaves the tokens unchanged.
//! 7. **A logout is final.** It holds the store's lock. Anything read or started in memory before it belongs to an earlier epoch and can't change
//!    anything in the next one (`state`).
//!
//! One case remains: a response that is lost after the service has acted, because of the network or because the process is killed at that point. That
//! session is lost whatever the client does (W2), and the error says so. `model_check` searches all interleavings of the protocol for any other case,
//! and `state_check` searches those of the in-memory state.
//!
//! The assumptions: a request arrives within the settle time or never; a process isn't suspended for that long between its last reading of the clock
//! and its request (if suspended earlier, it writes its mark again); the store fulfills its [contract](super::TokenStore); the wall clock isn't set
//! forward by more than the settle time between a lost response and the next attempt.

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
