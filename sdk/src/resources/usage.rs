//! Usage and quotas of the account. (The specification doesn't have them; the shapes are Resend's.)

mod operations;
mod record;

pub use operations::UsageOperations;
pub use record::{AiCredits, EmailQuota, EmailUsage, PeriodQuota, Quota, RateLimitPolicy, Usage};
