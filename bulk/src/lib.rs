//! Bulk sending: jobs of any size in which each row is delivered at most once.
//!
//! A job sends one email per row of a CSV file, a TSV file, a JSON Lines file, or a stream from the application. Planning comes first: every row is
//! validated, and nothing is sent. Then the job runs, in batches of 100 under idempotency keys, at the rate that the service allows.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use idempost::{ClientBuilder, call::RateLimit};
//! use idempost_bulk::{Bulk, Event, Input, Message, RunOptions};
//!
//! // The job paces itself.
//! let client = ClientBuilder::from_env().rate_limit(RateLimit::Off).build()?;
//! let message = Message::new()
//!     .from("Acme <hi@acme.test>")
//!     .subject("Hello {{{NAME|there}}}")
//!     .html("<p>Your code is {{{CODE}}}.</p>");
//! let job = Bulk::new(Input::csv("people.csv"), message).plan(&client, "jobs").await?;
//! for problem in job.plan().problems() {
//!     println!("{problem}");
//! }
//!
//! let mut run = job.start(&client, RunOptions::default())?;
//! while let Some(event) = run.next().await {
//!     if let Event::Progress(progress) = event {
//!         println!("{} of {} sent", progress.counts.sent, job.plan().counts().valid);
//!     }
//! }
//! let report = run.finish().await?;
//! println!("{} sent, {} rejected, {} unknown", report.counts.sent, report.counts.rejected, report.counts.unknown);
//! # Ok(())
//! # }
//! ```
//!
//! # Interruptions
//!
//! Each job has its own folder with the plan and a journal. Whatever interrupts the job (a crash, a full disk, a power failure, an expired
//! credential, a service outage), [`Job::start`] continues where it stopped, and so does planning the same input with the same message again. The
//! folder contains a copy of the rows, so the job doesn't change when its input does.
//!
//! - A batch's intent is durable before its request is sent, and its result before the batch counts as done.
//! - After a crash, batches without a result are sent again with the same key and the same bytes, which the service executes at most once
//!   within 24 hours (`docs/specification.md`, POST /emails).
//! - A row whose outcome can't be determined this way is [unknown](Outcome::Unknown): it is listed and never sent again automatically. Only requests
//!   that were in flight during a crash can become unknown, and only if the job isn't resumed within 23 hours.
//!
//! A job belongs to the account that sent its first request, because idempotency keys are only valid within one account. Every later client has to
//! use the same credential, or [assert](Account::assume_same_account) that its credential belongs to the same account.
//!
//! All of this relies on the service honoring idempotency keys, and on the folder: a lock keeps a second process out. A copy of the folder has the
//! same keys but doesn't know what the original has sent.
//!
//! # Changed inputs
//!
//! A job has a [name](Bulk::job), by default the name of its file. If the input or the message differs from an unfinished job of this name, planning
//! [fails](BulkError::Differs) and reports the differences. [`Bulk::add_rows`] then plans the new rows as another part of the job, so that rows can
//! be appended and reordered, and a query can be the source. Rows are identified by their [key](Bulk::key), or else by all of their values; rows with
//! the same key are delivered once across all parts.
//!
//! # Pace
//!
//! A job needs no configured rate. It starts slowly and doubles its rate until the service responds with 429; then it stays just below the limit and
//! probes for a higher one. A limit announced in the response headers is never exceeded. [`RunOptions::max_rps`] sets an upper bound.
//!
//! # Memory
//!
//! Memory grows only with the number of requests, by less than 40 bytes each; a request carries up to 100 rows, or one row with an attachment or a
//! schedule. In addition, a job holds at most 64 MiB of rendered requests, or the largest one if it exceeds that. Planning detects equal rows,
//! including rows of the job's earlier parts, with temporary files of up to 100 bytes per row.
//!
//! # Schedule
//!
//! [`RunOptions::schedule`] limits the emails per day, for example to warm up a domain, the emails to a
//! domain, and the hours in which a job sends. The limits apply across restarts.
//!
//! # Several machines
//!
//! With the feature `nats`, a [queue] in NATS JetStream distributes a job over any number of [workers](worker::Worker), coordinated by
//! [`Job::distribute`]. The guarantees, the status and the report are the same.

#![cfg_attr(docsrs, feature(doc_cfg))]

#[macro_use]
mod macros;

mod account;
mod budget;
mod clock;
#[cfg(feature = "nats")]
mod coordinator;
mod counts;
mod deliver;
mod differences;
mod error;
mod files;
mod folder;
mod input;
mod job;
mod journal;
mod key;
mod last_events;
mod list;
mod lock;
mod locked;
mod message;
mod outcomes;
mod pace;
mod parts;
mod plan;
#[cfg(feature = "nats")]
pub mod queue;
mod reconcile;
mod report;
mod run;
mod salvage;
mod schedule;
mod sender;
mod state;
mod stop_rule;
mod template;
#[cfg(feature = "nats")]
pub mod worker;

pub use account::{AcceptedCredential, Account, AccountError, JobAccount};
#[cfg(feature = "nats")]
pub use coordinator::DistributeOptions;
pub use counts::{CountMismatch, Counts};
pub use differences::Differences;
pub use error::{BulkError, Result};
pub use input::{Format, Input, RowProblem, detect_delimiter};
pub use job::{Bulk, Job, JobState, Status};
pub use last_events::LastEvents;
pub use message::Message;
pub use outcomes::{Outcome, RowOutcome};
pub use parts::Retry;
pub use plan::{ChangedRows, Counts as PlanCounts, Plan, PreviewEmail};
pub use reconcile::Reconciliation;
pub use report::{Ending, Report};
pub use run::{Event, Progress, Run, RunOptions};
pub use salvage::{Salvage, SalvageOptions};
pub use schedule::Schedule;
pub use stop_rule::StopRule;
