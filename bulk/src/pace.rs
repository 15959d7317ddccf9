//! The pace of a job: when each request may be sent.
//!
//! A [`Gate`] grants permits in FIFO order. Behind it, a [`Controller`] learns the service's limit from its responses,
//! pauses the whole job when the service asks for it, and bounds the requests in flight. The controller never reads a clock, so the
//! tests simulate ten minutes of sending in milliseconds.

mod breaker;
mod cell;
mod concurrency;
mod controller;
mod gate;
mod headers;
mod rate;
mod retries;
#[cfg(feature = "nats")]
pub(crate) mod shared;

#[cfg(test)]
mod simulation;

pub(crate) use controller::{Observation, PaceOptions, Pause};
pub(crate) use gate::{Gate, Permit};
