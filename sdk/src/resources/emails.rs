//! Emails: one at a time, in batches, and those that were sent.

mod attachment;
mod batch;
mod email;
mod from_json;
mod message;
mod sent;
mod variable;

pub use attachment::Attachment;
pub use batch::{AcceptedBatch, BatchEmail, BatchError, check_batch};
pub use email::Email;
pub use sent::{Accepted, EmailRecord, LastEvent, SentEmail, Tag};
pub use variable::VariableValue;

use http::{HeaderValue, Method};
use serde::Serialize;

use super::Reference;
use crate::{
    body::Body,
    call::{Call, Operation},
    client::{Client, List, State, Wait},
    problem::Problem,
    types::EmailId,
};

/// The operations on emails: [`Client::emails`].
#[derive(Clone, Copy, Debug)]
pub struct Emails<'a> {
    client: &'a Client,
}

impl Client {
    /// Sending emails, and looking at those that were sent.
    pub fn emails(&self) -> Emails<'_> {
        Emails { client: self }
    }
}

impl Emails<'_> {
    /// Sends one email: `POST /emails`.
    ///
    /// It always carries an `Idempotency-Key`: the one given with [`Call::idempotency_key`], or a random one. The service then does
    /// the send once, however often the request reaches it within 24 hours, so the client can try again after a lost answer.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) with all problems that [`Email::check`] finds, before anything is sent.
    pub fn send(&self, email: &Email) -> Call<Accepted> {
        let operation = Operation::new("emails.send", Method::POST, "/emails")
            .with_problems(email.problems())
            .with_body(email.body());
        Call::new(&self.client.core, operation)
    }

    /// Sends up to 100 emails in one request: `POST /emails/batch`.
    ///
    /// It always carries an `Idempotency-Key`, as [`send`](Self::send) does; one key covers the whole batch. By default one invalid email
    /// refuses them all and nothing is sent; [`Call::permissive`] sends the valid ones.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) with all problems that [`check_batch`] finds, before anything is sent.
    pub fn send_batch(&self, emails: &[BatchEmail]) -> Call<AcceptedBatch> {
        let operation = Operation::new("emails.send_batch", Method::POST, "/emails/batch")
            .with_problems(batch::problems(emails))
            .with_ids(emails.len())
            .with_body(Body::from(batch::wire(emails)));
        Call::new(&self.client.core, operation)
    }

    /// The emails that were sent, newest first: `GET /emails`, 20 a page unless a limit is given.
    pub fn list(&self) -> List<SentEmail> {
        List::new(self.client, Operation::get("emails.list", "/emails"))
    }

    /// One email with its body: `GET /emails/{id}`.
    pub fn get(&self, id: impl Into<EmailId>) -> Call<EmailRecord> {
        let id = id.into();
        Call::new(&self.client.core, Operation::on("emails.get", Method::GET, "/emails/", id.as_str(), ""))
    }

    /// Gives a scheduled email another time, in ISO 8601 or in words such as `in 1 hour`: `PATCH /emails/{id}`. The text goes to the service
    /// unchanged.
    ///
    /// Only an email that waits for its time can be changed. (The specification names the operation and is silent on its refusals.)
    ///
    /// It is tried again when its outcome is unknown: a moment stays the same, and words such as `in 1 hour` then count from the last
    /// attempt.
    ///
    /// ```
    /// # async fn example(client: &posthaste::Client, id: &posthaste::EmailId) -> posthaste::Result<()> {
    /// client.emails().reschedule(id, "tomorrow at 9am").await?;
    /// // … or not at all:
    /// client.emails().cancel(id).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) if `when` is empty.
    pub fn reschedule(&self, id: impl Into<EmailId>, when: impl Into<String>) -> Call<Reference<EmailId>> {
        #[derive(Serialize)]
        struct Schedule {
            scheduled_at: String,
        }
        let (id, schedule) = (id.into(), Schedule { scheduled_at: when.into() });
        let empty = schedule.scheduled_at.is_empty();
        let problem =
            empty.then(|| Problem::new("/scheduled_at", "empty", "`scheduled_at` must not be empty"));
        let operation = Operation::on("emails.reschedule", Method::PATCH, "/emails/", id.as_str(), "")
            .with_problems(problem.into_iter().collect())
            .with_json(&schedule);
        Call::new(&self.client.core, operation)
    }

    /// Takes a scheduled email back before it leaves: `POST /emails/{id}/cancel`. (The specification is silent on this operation.)
    ///
    /// It is tried again when its outcome is unknown: an email that was canceled stays so.
    pub fn cancel(&self, id: impl Into<EmailId>) -> Call<Reference<EmailId>> {
        let id = id.into();
        let operation = Operation::on("emails.cancel", Method::POST, "/emails/", id.as_str(), "/cancel");
        Call::new(&self.client.core, operation.repeatable())
    }

    /// Waits until an email is delivered, or has failed: [`LastEvent::is_delivered`], [`LastEvent::is_failed`].
    pub fn wait(&self, id: impl Into<EmailId>) -> Wait<EmailRecord> {
        let (client, id) = (self.client.clone(), id.into());
        Wait::new(
            move || client.emails().get(&id),
            |email| match &email.summary.last_event {
                Some(event) if event.is_delivered() || event.is_failed() => State::Settled,
                event => State::Open(event.as_ref().map(ToString::to_string)),
            },
        )
    }
}

impl Call<AcceptedBatch> {
    /// Sends the valid emails of a batch even if others are not: `x-batch-validation: permissive`.
    ///
    /// The answer then names the refused ones in [`AcceptedBatch::errors`], and the client checks only what holds for the batch as a
    /// whole. (The specification is silent on invalid emails in a batch.)
    pub fn permissive(self) -> Self {
        self.batch_validation(HeaderValue::from_static("permissive"))
    }
}
