//! Custom events, which trigger automations.

mod new;
mod operations;
mod patch;
mod record;

pub use new::{EventOccurrence, NewEvent};
pub use operations::Events;
pub use patch::EventPatch;
pub use record::{Event, PayloadType, SentEvent};
