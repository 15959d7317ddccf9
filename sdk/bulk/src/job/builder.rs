//! Describing a job.

use std::path::Path;

use posthaste::Client;

use super::{Job, blocking};
use crate::{error::Result, input::Input, message::Message, plan::{self, PlanOptions}};

/// A description of a job: the rows, the message, and options.
///
/// ```no_run
/// # async fn example(client: &posthaste::Client) -> posthaste_bulk::Result<()> {
/// use posthaste_bulk::{Bulk, Input, Message, RunOptions};
///
/// let message = Message::new()
///     .from("Acme <hi@acme.test>")
///     .subject("Hello {{{NAME|there}}}")
///     .html("<p>Your code is {{{CODE}}}.</p>");
/// let job = Bulk::new(Input::csv("people.csv"), message).plan(client, "jobs").await?;
/// println!("{} emails in {} requests", job.plan().counts().valid, job.plan().batches());
///
/// let report = job.start(client, RunOptions::default())?.finish().await?;
/// println!("{} sent, {} unknown", report.counts.sent, report.counts.unknown);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Bulk {
    input: Input,
    message: Message,
    options: PlanOptions,
}

impl Bulk {
    /// Creates a job from its rows and what they have in common.
    pub fn new(input: Input, message: Message) -> Self {
        Self { input, message, options: PlanOptions::default() }
    }

    /// Sets the options of the plan.
    #[must_use]
    pub fn options(mut self, options: PlanOptions) -> Self {
        self.options = options;
        self
    }

    /// Validates every row and writes the plan to a folder of its own below `jobs`. Nothing is sent. The same description and input lead to
    /// the same job, whose earlier progress is kept.
    ///
    /// # Errors
    /// The input as a whole can't be used. Invalid rows are no error: [`Plan::counts`](crate::Plan::counts) has their number, and
    /// `invalid.csv` lists them.
    pub async fn plan(self, client: &Client, jobs: impl AsRef<Path>) -> Result<Job> {
        let (origin, jobs) = (client.base_url().to_string(), jobs.as_ref().to_owned());
        let Self { input, message, options } = self;
        blocking(move || plan::plan(input, &message, &options.origin(origin), &jobs).map(Job::new)).await
    }
}
