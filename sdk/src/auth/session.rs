//! A login in use: an access token for each call, renewed when a call needs it, over tasks, processes and crashes.
//!
//! # Why a grant is not lost
//!
//! The service replaces the refresh token at each use, and takes one that comes back for stolen: it revokes the grant (`SPEC.md`,
//! Authentication 4). There is no time of grace. Three things a client can't see of a refresh that got no answer:
//!
//! | world | what happened | what a repetition does |
//! |---|---|---|
//! | W1 | it was not executed | renews |
//! | W2 | it was executed, and nobody has the new token | is a reuse; but the session was lost before it |
//! | W3 | it is still on its way | renews, and then the late original is a reuse that ends a *live* session |
//!
//! So a repetition does harm in W3, and in W2 to what the old access token could still do. It does none once that has expired and the original can
//! no longer arrive. From this follows the whole protocol, which [`protocol`] carries out step by step:
//!
//! 1. **One at a time.** In a process one task renews and all others wait for it; between processes the store's lock decides, which is never
//!    broken by age and never done without. Whoever got the lock *reads again*: if somebody was faster, there is nothing to send. So without a fault
//!    each refresh token is shown once.
//! 2. **A mark before, the outcome after.** Before the request leaves, the record says durably that it is about to. Whoever finds a mark knows that
//!    he may be in W1, W2 or W3, and waits until the access token has expired *and* the settle time is over (60 s: more than the 30 s that a request
//!    may take here, with as much again for one that is stuck on its way). W3 is then impossible, and in W1 and W2 a repetition costs nothing. That
//!    the store took the mark shows as well that it can be written: one that can't fails before anything was sent.
//!    A mark that comes too late (the machine slept) is written anew.
//! 3. **Saved first.** The record with the new refresh token is written before anything else in the answer is looked at. If that fails, this process
//!    keeps it in memory, goes on, says so ([`SessionEvent::NotSaved`]) and offers it to the store again; it never shows the old one again.
//! 4. **Nothing stops it halfway.** The renewal runs in a task of its own; a caller that is dropped or runs out of time leaves it running.
//! 5. **Only `invalid_grant` ends a session**, and only after the record was read once more: a program that keeps no lock may have been faster. A
//!    tombstone is written, so that nobody asks again in vain. Every other refusal leaves the tokens as they are.
//!
//! What is left: an answer that is lost after the service has acted, by the network or by a kill of the process in that moment. That session is
//! lost whatever a client does (W2), and the error says so. `model_check` searches all interleavings of this very machine for anything else.
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
