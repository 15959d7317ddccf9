//! The suppression list: addresses that the service sends no emails to. (The specification doesn't have it; the shapes are Resend's.)

mod batch;
mod operations;
mod record;

pub use operations::Suppressions;
pub use record::{AddedSuppressions, RemovedSuppressions, Suppression};

pub use super::shared::SuppressionOrigin;
