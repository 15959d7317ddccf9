//! The operations on emails.

use http::{HeaderValue, Method};

use super::{
    new::{self, BatchEmail, Email},
    record::{Accepted, AcceptedBatch, EmailRecord, SentEmail},
};
use crate::{
    call::{Call, Operation},
    client::{Client, List, State, Wait},
    resources::shared::{Reference, Schedule},
    types::{EmailId, ScheduledAt},
};

/// The operations on emails: [`Client::emails`].
#[derive(Clone, Copy, Debug)]
pub struct Emails<'a> {
    client: &'a Client,
}

impl Client {
    /// Returns the operations on emails.
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
    /// [`Error::Invalid`](crate::Error::Invalid) with all problems that [`Email::check`] finds; nothing is sent then.
    pub fn send(&self, email: &Email) -> Call<Accepted> {
        let operation =
            Operation::new("emails.send", Method::POST, "/emails").validated(email).with_body(email.body());
        Call::new(&self.client.core, operation)
    }

    /// Sends up to 100 emails in one request: `POST /emails/batch`.
    ///
    /// It always carries an `Idempotency-Key`, as [`send`](Self::send) does; one key covers the whole batch. By default one invalid email
    /// refuses them all and nothing is sent; [`Call::permissive`] sends the valid ones.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) with all problems that [`check_batch`](super::check_batch) finds; nothing is sent then.
    pub fn send_batch(&self, emails: &[BatchEmail]) -> Call<AcceptedBatch> {
        let operation = Operation::new("emails.send_batch", Method::POST, "/emails/batch")
            .validated(emails)
            .with_ids(emails.len())
            .with_body(new::batch_body(emails));
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

    /// Reschedules an email that waits for its time: `PATCH /emails/{id}`. (The specification names the operation and is silent on its
    /// refusals.)
    ///
    /// The call is retried when its outcome is unknown: a moment stays the same, and words such as `in 1 hour` then count from the last
    /// attempt.
    ///
    /// ```
    /// # async fn example(client: &posthaste::Client, id: &posthaste::EmailId) -> posthaste::Result<()> {
    /// use std::time::{Duration, SystemTime};
    ///
    /// client.emails().reschedule(id, "tomorrow at 9am").await?;
    /// client.emails().reschedule(id, SystemTime::now() + Duration::from_secs(3_600)).await?;
    /// client.emails().cancel(id).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) if `when` is blank.
    pub fn reschedule(
        &self,
        id: impl Into<EmailId>,
        when: impl Into<ScheduledAt>,
    ) -> Call<Reference<EmailId>> {
        let (id, schedule) = (id.into(), Schedule::at(when));
        let operation = Operation::on("emails.reschedule", Method::PATCH, "/emails/", id.as_str(), "")
            .validated(&schedule)
            .with_json(&schedule);
        Call::new(&self.client.core, operation)
    }

    /// Cancels a scheduled email: `POST /emails/{id}/cancel`. (The specification is silent on this operation.)
    ///
    /// The call is retried when its outcome is unknown: canceling twice has the effect of canceling once.
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
