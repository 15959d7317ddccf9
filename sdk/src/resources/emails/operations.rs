//! The operations on emails.

use http::{HeaderValue, Method};

use super::{
    metrics::{EmailMetrics, EmailMetricsQuery},
    new::{self, BatchEmail, Email},
    record::{Accepted, AcceptedBatch, SentEmail, SentEmailSummary},
    share::SharedEmail,
};
use crate::{
    call::{Call, Operation},
    client::{List, State, Wait},
    resources::shared::{EmailAttachment, Reference, Schedule},
    types::{AttachmentId, EmailId, ScheduledAt},
};

operations! {
    /// The operations on emails: [`Client::emails`](crate::Client::emails).
    pub struct Emails;

    /// Returns the operations on emails.
    accessor emails;

    /// Lists sent emails, newest first: `GET /emails`, 20 per page by default.
    fn list() -> List<SentEmailSummary> = GET["/emails"];

    /// Gets an email with its body: `GET /emails/{id}`.
    fn get(id: EmailId) -> Call<SentEmail> = GET["/emails/" id];

    /// Lists a sent email's attachments in order: `GET /emails/{id}/attachments`. Awaited without a page size, it returns all of them. A canceled or
    /// failed email may no longer have any. (The specification doesn't define this operation.)
    ///
    /// ```
    /// # async fn example(client: &idempost::Client, id: &idempost::EmailId) -> idempost::Result<()> {
    /// for attachment in client.emails().attachments(id).await?.data {
    ///     let fresh = client.emails().attachment(id, &attachment.id).await?;
    ///     let bytes = client.received().download(&fresh.download_url).await?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    fn attachments(id: EmailId) -> List<EmailAttachment> = GET["/emails/" id "/attachments"];

    /// Gets an attachment with a new download URL: `GET /emails/{id}/attachments/{attachment_id}`. (The specification doesn't define this operation.)
    fn attachment(id: EmailId, attachment: AttachmentId) -> Call<EmailAttachment>
        = GET["/emails/" id "/attachments/" attachment];

    /// Cancels a scheduled email: `POST /emails/{id}/cancel`. (The specification doesn't define this operation.)
    ///
    /// The client retries it if its outcome is unknown, since it is idempotent.
    fn cancel(id: EmailId) -> Call<Reference<EmailId>> = POST["/emails/" id "/cancel"].idempotent();

    /// Reschedules a scheduled email: `PATCH /emails/{id}`. (The specification names the operation but doesn't define its errors.)
    ///
    /// The client retries it if its outcome is unknown: an absolute time doesn't change, and text such as `in 1 hour` counts from the last attempt.
    ///
    /// ```
    /// # async fn example(client: &idempost::Client, id: &idempost::EmailId) -> idempost::Result<()> {
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
    fn reschedule(id: EmailId, when: ScheduledAt) with input (Schedule::new(when)) -> Call<Reference<EmailId>>
        = PATCH["/emails/" id];

    /// Counts emails by their events: `GET /emails/metrics`.
    ///
    /// ```
    /// # async fn example(client: &idempost::Client) -> idempost::Result<()> {
    /// use idempost::emails::{EmailMetric, EmailMetricsQuery, MetricsDimension};
    ///
    /// let query = EmailMetricsQuery::new()
    ///     .start_date("2026-07-01")
    ///     .metrics([EmailMetric::Sent, EmailMetric::OpenRate])
    ///     .dimensions([MetricsDimension::Period]);
    /// for day in client.emails().metrics(&query).await?.data {
    ///     println!("{:?}: {:?} sent, {:?} % opened", day.period, day.sent, day.open_rate);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) with all problems that [`EmailMetricsQuery::check`] finds, before anything is sent.
    fn metrics() with query (query: &EmailMetricsQuery) -> Call<EmailMetrics> = GET["/emails/metrics"];

    /// Sends one email: `POST /emails`.
    ///
    /// The request always has an `Idempotency-Key`: the one set with [`Call::idempotency_key`], or a random one. The service sends the email once, no
    /// matter how many requests with the key arrive within 24 hours, so the client retries if the outcome is unknown.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) with all problems that [`Email::check`] finds, before anything is sent.
    fn send() with body (email: &Email) -> Call<Accepted> = POST["/emails"].keyed();

    /// Creates a link that lets anyone read a sent email for 48 hours: `POST /emails/{id}/share`. [`Call::expires_in`] shortens this time. A link
    /// can't be revoked. (The specification doesn't define this operation.)
    ///
    /// ```
    /// # async fn example(client: &idempost::Client) -> idempost::Result<()> {
    /// use std::time::Duration;
    ///
    /// let id = "4ef9a417-02e9-4d39-ad75-9611e0fcc33c";
    /// let link = client.emails().share(id).expires_in(Duration::from_secs(7_200)).await?;
    /// println!("{}", link.url);
    /// # Ok(())
    /// # }
    /// ```
    fn share(id: EmailId) -> Call<SharedEmail> = POST["/emails/" id "/share"].idempotent();
}

impl Emails<'_> {
    /// Sends up to 100 emails in one request: `POST /emails/batch`.
    ///
    /// One `Idempotency-Key` covers the whole batch, as in [`send`](Self::send). By default the service rejects a batch with an invalid
    /// email and sends nothing; [`Call::permissive`] sends the valid ones.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) with all problems that [`check_batch`](super::check_batch) finds, before anything is sent.
    pub fn send_batch(&self, emails: &[BatchEmail]) -> Call<AcceptedBatch> {
        let operation = Operation::new("emails.send_batch", Method::POST, "/emails/batch")
            .keyed()
            .validate(emails)
            .with_ids(emails.len())
            .with_body(new::batch_body(emails));
        Call::new(&self.client.core, operation)
    }

    /// Waits until an email has been delivered or has failed: [`LastEvent::is_delivered`](crate::emails::LastEvent::is_delivered),
    /// [`LastEvent::is_failed`](crate::emails::LastEvent::is_failed).
    pub fn wait(&self, id: impl Into<EmailId>) -> Wait<SentEmail> {
        Wait::new(self.get(id), |email| {
            State::from_status(email.last_event.as_ref(), |event| event.is_delivered() || event.is_failed())
        })
    }
}

impl Call<AcceptedBatch> {
    /// Sends the valid emails of a batch even if others are invalid: `x-batch-validation: permissive`.
    ///
    /// The response lists the rejected emails in [`AcceptedBatch::errors`]; one that omits an email is an [`Error::Decode`](crate::Error::Decode). The
    /// client validates only the batch as a whole. (The specification doesn't mention invalid emails in a batch.)
    pub fn permissive(self) -> Self {
        self.batch_validation(HeaderValue::from_static("permissive"))
    }
}
