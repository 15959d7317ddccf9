//! Topics, which contacts opt in to and out of. (The specification names them and is silent on their fields.)

mod new;
mod operations;
mod patch;
mod record;

pub use new::NewTopic;
pub use operations::Topics;
pub use patch::TopicPatch;
pub use record::{Topic, Visibility};

pub use super::shared::Subscription;
