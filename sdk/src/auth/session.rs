//! A login in use: an access token for each call, refreshed when a call needs it, over tasks, processes and crashes.
//!
//! # Why a grant is not lost
//!
//! The service replaces the refresh token at each use, and treats one that is sent again as stolen: it revokes the grant (`SPEC.md`,
//! Authentication 4). There is no grace period. A refresh without a response leaves three possibilities:
//!
//! | world | what happened | a repetition |
//! |---|---|---|
//! | W1 | it was not executed | refreshes |
//! | W2 | it was executed, and the new token is lost | is a reuse; but the session was lost before it |
//! | W3 | it is still in flight | refreshes, and then the late original is a reuse that ends a *live* session |
//!
//! So a repetition does harm in W3, and in W2 to what the old access token could still do. It does none once that has expired and the original can
//! no longer arrive. From this follows the whole protocol, which [`protocol`] carries out step by step:
//!
//! 1. **One at a time.** In a process one task refreshes and all others wait for it; between processes the store's lock decides, which is never
//!    broken by age and never skipped. The holder of the lock *reads again*: if another process was faster, there is nothing to send. So without a
//!    fault each refresh token is sent once.
//! 2. **A mark before, the outcome after.** Before the request is sent, the record says so durably. A process that finds a mark may be in W1, W2 or
//!    W3, and waits until the access token has expired *and* the settle time is over (60 s: more than the 30 s that a request may take here, with as
//!    much again for one that is stuck in the network). W3 is then impossible, and in W1 and W2 a repetition costs nothing. The mark also proves that
//!    the store can be written: one that can't fails before anything was sent. A mark that comes too late (the machine slept) is written anew.
//! 3. **Every byte counts.** A response that ends early, by a broken connection or a timeout, is still searched for a complete refresh token.
//! 4. **Saved first.** The record with the new refresh token is written before any other code of the application runs: events are delivered
//!    afterwards, and a panic in a clock, a listener or the store's write is caught. If the write fails, this process keeps the record in memory, reports
//!    it ([`SessionEvent::NotSaved`]) and writes it again later; it never sends the old token again.
//! 5. **Nothing stops it halfway.** The refresh runs in a task of its own; a caller that is dropped or times out leaves it running.
//! 6. **Only `invalid_grant` ends a session**, and only after the record was read once more: a program that takes no lock may have been faster. A
//!    tombstone is written, so that no later process asks in vain. Every other error leaves the tokens unchanged.
//! 7. **A logout is final.** It holds the store's lock, and what was read or started in memory before it belongs to an earlier epoch, which changes
//!    nothing in the next one (`state`).
//!
//! What is left: a response that is lost after the service has acted, by the network or by a kill of the process in that moment. That session is
//! lost whatever a client does (W2), and the error says so. `model_check` searches all interleavings of the protocol for anything else, and
//! `state_check` those of the state in memory.
//!
//! What rests on assumptions: that a request arrives within the settle time or never; that a process is not stopped for as long between its last look at
//! the clock and its request (one that slept before that writes its mark anew); that the store keeps its [promises](super::TokenStore); that the wall clock is not put forward by more than the settle time between a lost answer and the next attempt.

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

pub(crate) use self::token::Token;
pub use self::{
    builder::SessionBuilder,
    event::{RefreshRequest, Revocation, SessionEvent},
    handle::Session,
};
