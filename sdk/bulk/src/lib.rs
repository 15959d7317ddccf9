//! Bulk sending: jobs of any size, each row delivered once.

#[cfg(feature = "nats")]
mod coordinator;
mod counts;
mod error;
mod files;
mod folder;
mod host_id;
mod input;
mod job;
mod journal;
mod key;
mod lock;
mod message;
mod outcomes;
mod pace;
mod plan;
#[cfg(feature = "nats")]
pub mod queue;
mod report;
mod run;
mod sender;
mod state;
mod template;
#[cfg(feature = "nats")]
pub mod worker;

#[cfg(feature = "nats")]
pub use coordinator::DistributeOptions;
pub use counts::{CountMismatch, Counts};
pub use error::{BulkError, Result};
pub use input::{Format, Input, RowProblem};
pub use job::{Bulk, Job, JobState, Status};
pub use message::Message;
pub use outcomes::{Outcome, RowOutcome};
pub use plan::{Counts as PlanCounts, Plan, PreviewEmail};
pub use report::{Ending, Report};
pub use run::{Event, Progress, Run, RunOptions, Stop};
