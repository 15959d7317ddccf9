//! The pace of a job: when each request may be sent.
//!
//! A [`Gate`] grants permits in FIFO order. Behind it, a [`Controller`](controller::Controller) follows the service's limit with the SDK's
//! [`RateLimiter`](idempost::call::RateLimiter), limits the requests in flight, and stops while the service fails. The controller never reads a
//! clock.

mod breaker;
mod concurrency;
mod controller;
mod gate;
mod retries;
#[cfg(feature = "nats")]
pub(crate) mod shared;

pub(crate) use controller::{Observation, PaceOptions, Pause};
pub(crate) use gate::{Gate, Permit};
