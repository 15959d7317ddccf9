//! API keys. (The specification is silent on their fields.)

mod new;
mod operations;
mod patch;
mod record;

pub use new::NewApiKey;
pub use operations::ApiKeys;
pub use record::{ApiKeySummary, CreatedApiKey};
