//! Broadcasts: one email to all contacts of a segment, sent immediately or at a scheduled time.

mod new;
mod operations;
mod patch;
mod recipients;
mod record;

pub use new::NewBroadcast;
pub use operations::Broadcasts;
pub use patch::BroadcastPatch;
pub use recipients::{BounceType, BroadcastRecipient, ClickedLink, RecipientLink, RecipientType};
pub use record::{Broadcast, BroadcastStatus, BroadcastSummary};
