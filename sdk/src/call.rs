//! One operation: its description, and how it is sent, retried, paced and decoded.

mod admission;
mod announced;
mod builder;
mod classify;
mod core;
mod decode;
mod download;
mod execute;
mod limiter;
mod operation;
#[cfg(feature = "otel")]
mod otel;
mod preview;
mod rate_limiter;
mod retry;
mod state;
mod trace;

pub use builder::Call;
pub(crate) use core::Core;
pub use decode::{QuotaUsed, WithResponse};
pub(crate) use limiter::Limiter;
pub use limiter::RateLimit;
pub(crate) use operation::{IDEMPOTENCY_KEY, Operation, RESERVED_HEADERS};
#[cfg(feature = "otel")]
pub(crate) use otel::Metrics;
pub use preview::Preview;
pub use rate_limiter::{RateLimiter, RateSignal, RateSlot, RateVerdict};
pub(crate) use retry::Budget;
pub use retry::{FailedAttempt, RetryEvent, RetryPolicy};
