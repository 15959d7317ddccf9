//! The operations on inboxes.

use serde::Serialize;

use super::{
    draft::{InboxDraftPatch, NewInboxDraft, SendDraft},
    message::{InboxForward, InboxReply},
    new::{NewInbox, NewInboxLabel},
    patch::{InboxAgentPatch, InboxLabelPatch, InboxPatch, InboxThreadPatch},
    record::{
        Inbox, InboxAgent, InboxDraft, InboxDraftSummary, InboxEmail, InboxFolder, InboxLabels, InboxSummary,
        InboxThread, InboxThreadMatch, InboxThreadSummary, SentInboxEmail,
    },
};
use crate::{
    call::Call,
    client::List,
    problem::Validator,
    resources::shared::{Deleted, Reference},
    types::{InboxDraftId, InboxEmailId, InboxId, InboxLabelId, InboxThreadId},
};

operations! {
    /// The operations on inboxes, **in beta**: [`Client::inboxes`](crate::Client::inboxes).
    ///
    /// ```
    /// # async fn example(client: &idempost::Client) -> idempost::Result<()> {
    /// use idempost::inboxes::InboxReply;
    ///
    /// let inbox = "support@acme.test";
    /// for thread in client.inboxes().search(inbox).query("invoice -paid").await?.data {
    ///     let emails = client.inboxes().emails(inbox, &thread.id).await?;
    ///     let Some(newest) = emails.data.last() else { continue };
    ///     client.inboxes().reply(inbox, &thread.id, &newest.id, &InboxReply::new().text("On its way.")).await?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub struct Inboxes;

    /// Returns the operations on inboxes, **in beta**.
    accessor inboxes;

    /// Creates an inbox: `POST /inboxes`.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) with all problems that [`NewInbox::check`] finds, before anything is sent.
    fn create() with (inbox: &NewInbox) -> Call<Reference<InboxId>> = POST["/inboxes"];

    /// Lists inboxes, newest first: `GET /inboxes`, 20 per page by default.
    fn list() -> List<InboxSummary> = GET["/inboxes"];

    /// Gets an inbox: `GET /inboxes/{inbox}`.
    fn get(inbox: InboxId) -> Call<Inbox> = GET["/inboxes/" inbox];

    /// Updates an inbox: `PATCH /inboxes/{inbox}`.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) with all problems that [`InboxPatch::check`] finds, before anything is sent.
    fn update(inbox: InboxId) with (patch: &InboxPatch) -> Call<Reference<InboxId>> = PATCH["/inboxes/" inbox];

    /// Deletes an inbox with its threads, drafts and labels: `DELETE /inboxes/{inbox}`.
    fn delete(inbox: InboxId) -> Call<Deleted<InboxId>> = DELETE["/inboxes/" inbox];

    /// Gets the agent's settings: `GET /inboxes/{inbox}/agent`.
    fn agent(inbox: InboxId) -> Call<InboxAgent> = GET["/inboxes/" inbox "/agent"];

    /// Updates the agent's settings: `PATCH /inboxes/{inbox}/agent`.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) with all problems that [`InboxAgentPatch::check`] finds, before anything is sent.
    fn update_agent(inbox: InboxId) with (patch: &InboxAgentPatch) -> Call<Reference<InboxId>>
        = PATCH["/inboxes/" inbox "/agent"];

    /// Lists all labels, oldest first: `GET /inboxes/{inbox}/labels`.
    fn labels(inbox: InboxId) -> Call<InboxLabels> = GET["/inboxes/" inbox "/labels"];

    /// Creates a label: `POST /inboxes/{inbox}/labels`.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) with all problems that [`NewInboxLabel::check`] finds, before anything is sent.
    fn create_label(inbox: InboxId) with (label: &NewInboxLabel) -> Call<Reference<InboxLabelId>>
        = POST["/inboxes/" inbox "/labels"];

    /// Updates a label: `PATCH /inboxes/{inbox}/labels/{label_id}`.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) with all problems that [`InboxLabelPatch::check`] finds, before anything is sent.
    fn update_label(inbox: InboxId, label: InboxLabelId) with (patch: &InboxLabelPatch) -> Call<Reference<InboxLabelId>>
        = PATCH["/inboxes/" inbox "/labels/" label];

    /// Deletes a label and removes it from all threads: `DELETE /inboxes/{inbox}/labels/{label_id}`.
    fn delete_label(inbox: InboxId, label: InboxLabelId) -> Call<Deleted<InboxLabelId>>
        = DELETE["/inboxes/" inbox "/labels/" label];

    /// Lists threads, most recently active first: `GET /inboxes/{inbox}/threads`, 20 per page by default. Without filters, it lists the folder
    /// `inbox`.
    fn threads(inbox: InboxId) -> List<InboxThreadSummary> = GET["/inboxes/" inbox "/threads"];

    /// Searches threads: `GET /inboxes/{inbox}/threads/search`, 20 per page by default. The filters are methods of [`List`].
    ///
    /// All conditions must apply to a single email in the thread. The sandbox examines the 1,000 most recently active threads in the selected folders
    /// and labels, and at most 2,000 emails.
    fn search(inbox: InboxId) -> List<InboxThreadMatch> = GET["/inboxes/" inbox "/threads/search"];

    /// Gets a thread: `GET /inboxes/{inbox}/threads/{thread_id}`.
    fn thread(inbox: InboxId, thread: InboxThreadId) -> Call<InboxThread> = GET["/inboxes/" inbox "/threads/" thread];

    /// Moves a thread, or marks it as read or unread: `PATCH /inboxes/{inbox}/threads/{thread_id}`.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) with all problems that [`InboxThreadPatch::check`] finds, before anything is sent.
    fn update_thread(inbox: InboxId, thread: InboxThreadId) with (patch: &InboxThreadPatch) -> Call<InboxThread>
        = PATCH["/inboxes/" inbox "/threads/" thread];

    /// Moves a thread to the trash, from which the service deletes it after 30 days: `DELETE /inboxes/{inbox}/threads/{thread_id}`.
    /// [`Deleted::deleted`] is false if the thread was already there.
    fn delete_thread(inbox: InboxId, thread: InboxThreadId) -> Call<Deleted<InboxThreadId>>
        = DELETE["/inboxes/" inbox "/threads/" thread];

    /// Removes a label from a thread: `DELETE /inboxes/{inbox}/threads/{thread_id}/labels/{label_id}`.
    fn remove_label(inbox: InboxId, thread: InboxThreadId, label: InboxLabelId) -> Call<InboxLabels>
        = DELETE["/inboxes/" inbox "/threads/" thread "/labels/" label];

    /// Lists the emails of a thread, **oldest first**: `GET /inboxes/{inbox}/threads/{thread_id}/emails`, 20 per page by default.
    /// [`List::after`] pages toward newer emails.
    fn emails(inbox: InboxId, thread: InboxThreadId) -> List<InboxEmail> = GET["/inboxes/" inbox "/threads/" thread "/emails"];

    /// Gets an email of a thread: `GET /inboxes/{inbox}/threads/{thread_id}/emails/{email_id}`.
    fn email(inbox: InboxId, thread: InboxThreadId, email: InboxEmailId) -> Call<InboxEmail>
        = GET["/inboxes/" inbox "/threads/" thread "/emails/" email];

    /// Lists the unsent drafts, newest first: `GET /inboxes/{inbox}/drafts`, 20 per page by default.
    fn drafts(inbox: InboxId) -> List<InboxDraftSummary> = GET["/inboxes/" inbox "/drafts"];

    /// Gets a draft: `GET /inboxes/{inbox}/drafts/{draft_id}`. A sent draft has an [`email_id`](InboxDraft::email_id).
    fn draft(inbox: InboxId, draft: InboxDraftId) -> Call<InboxDraft> = GET["/inboxes/" inbox "/drafts/" draft];

    /// Deletes a draft: `DELETE /inboxes/{inbox}/drafts/{draft_id}`.
    fn delete_draft(inbox: InboxId, draft: InboxDraftId) -> Call<Deleted<InboxDraftId>>
        = DELETE["/inboxes/" inbox "/drafts/" draft];

    /// Replies to an email of a thread: `POST /inboxes/{inbox}/threads/{thread_id}/emails/{email_id}/reply`.
    ///
    /// Like [`Emails::send`](crate::resources::emails::Emails::send), the request always has an `Idempotency-Key`, so the client retries if the
    /// outcome is unknown.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) with all problems that [`InboxReply::check`] finds, before anything is sent.
    fn reply(inbox: InboxId, thread: InboxThreadId, email: InboxEmailId) with body (reply: &InboxReply) -> Call<SentInboxEmail>
        = POST["/inboxes/" inbox "/threads/" thread "/emails/" email "/reply"].keyed();

    /// Forwards an email in a thread with its attachments: `POST /inboxes/{inbox}/threads/{thread_id}/emails/{email_id}/forward`. Like
    /// [`reply`](Self::reply), it has an `Idempotency-Key`.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) with all problems that [`InboxForward::check`] finds, before anything is sent.
    fn forward(inbox: InboxId, thread: InboxThreadId, email: InboxEmailId) with body (forward: &InboxForward) -> Call<SentInboxEmail>
        = POST["/inboxes/" inbox "/threads/" thread "/emails/" email "/forward"].keyed();

    /// Creates a draft: `POST /inboxes/{inbox}/drafts`. Like [`reply`](Self::reply), it has an `Idempotency-Key`.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) with all problems that [`NewInboxDraft::check`] finds, before anything is sent.
    fn create_draft(inbox: InboxId) with body (draft: &NewInboxDraft) -> Call<Reference<InboxDraftId>>
        = POST["/inboxes/" inbox "/drafts"].keyed();

    /// Updates an unsent draft: `PATCH /inboxes/{inbox}/drafts/{draft_id}`.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) with all problems that [`InboxDraftPatch::check`] finds, before anything is sent.
    fn update_draft(inbox: InboxId, draft: InboxDraftId) with body (patch: &InboxDraftPatch) -> Call<Reference<InboxDraftId>>
        = PATCH["/inboxes/" inbox "/drafts/" draft];

    /// Adds 1 to 10 labels to a thread, and returns all its labels: `POST /inboxes/{inbox}/threads/{thread_id}/labels`. It is idempotent.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) if there are no or too many labels, or if one is empty, before anything is sent.
    fn add_labels(inbox: InboxId, thread: InboxThreadId; labels: [InboxLabelId])
        with input (Labels { labels, min: 1 }) -> Call<InboxLabels>
        = POST["/inboxes/" inbox "/threads/" thread "/labels"].idempotent();

    /// Replaces all labels of a thread with up to 10 new ones: `PUT /inboxes/{inbox}/threads/{thread_id}/labels`.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) if there are too many, or if one is empty, before anything is sent.
    fn replace_labels(inbox: InboxId, thread: InboxThreadId; labels: [InboxLabelId])
        with input (Labels { labels, min: 0 }) -> Call<InboxLabels>
        = PUT["/inboxes/" inbox "/threads/" thread "/labels"];

    /// Sends a draft: `POST /inboxes/{inbox}/drafts/{draft_id}/send`. A draft can be sent only once; another attempt is a conflict (409). Like
    /// [`reply`](Self::reply), it has an `Idempotency-Key`.
    fn send_draft(inbox: InboxId, draft: InboxDraftId) with input (SendDraft::default()) -> Call<SentInboxEmail>
        = POST["/inboxes/" inbox "/drafts/" draft "/send"].keyed();
}

impl Inboxes<'_> {
    /// Sends a draft with custom headers: [`send_draft`](Self::send_draft).
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) if a header is invalid or set by the service itself, before anything is sent.
    pub fn send_draft_with_headers<N: Into<String>, V: Into<String>>(
        &self,
        inbox: impl Into<InboxId>,
        draft: impl Into<InboxDraftId>,
        headers: impl IntoIterator<Item = (N, V)>,
    ) -> Call<SentInboxEmail> {
        let headers = headers.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        self.send_draft(inbox, draft).with_input(&SendDraft { headers })
    }
}

/// The labels of a thread, at least `min`.
#[derive(Serialize)]
struct Labels {
    labels: Vec<InboxLabelId>,
    #[serde(skip)]
    min: usize,
}

impl Labels {
    fn validate(&self, v: &mut Validator) {
        let found = self.labels.len();
        if found < self.min || found > 10 {
            let rule = format!("`labels` must have {} to 10 labels", self.min);
            v.field("labels", |v| v.report_found("count", rule, found));
        }
        v.check_ids("labels", self.labels.iter().map(InboxLabelId::as_str));
    }
}

validate!(private Labels);

/// The filters shared by thread lists and thread searches.
macro_rules! thread_filters {
    ($(#[$meta:meta])* $item:ty) => {
        filters! {
            $(#[$meta])*
            $item {
                /// Restricts the result to these folders; the default is `inbox` or, with labels, `inbox`, `archive` and `sent`.
                folders: [InboxFolder];
                /// Restricts the result to threads with any of these labels.
                labels: [InboxLabelId];
                /// Restricts the result to read or unread threads.
                read: bool;
            }
        }
    };
}

thread_filters! {
    /// Filters for [`Inboxes::threads`].
    InboxThreadSummary
}

thread_filters! {
    /// Filters for [`Inboxes::search`] that apply to threads.
    InboxThreadMatch
}

filters! {
    /// Filters for [`Inboxes::search`] that apply to emails. If several addresses are given, any of them may match; each matches part of an address,
    /// ignoring case.
    InboxThreadMatch {
        /// Searches subject, body, addresses and attachment names, at most 256 characters and 32 words. Quotes enclose a phrase; words and phrases
        /// after `-` are excluded.
        query: String;
        /// Searches the sender, at most 20 values.
        from: [String];
        /// Searches the `To` addresses, at most 20 values.
        to: [String];
        /// Searches the `Cc` addresses, at most 20 values.
        cc: [String];
        /// Searches the `Bcc` addresses, at most 20 values.
        bcc: [String];
        /// Finds emails with or without attachments.
        has_attachment: bool;
        /// Finds emails since a date, such as `2026-09-01`, or an ISO 8601 time.
        start_date: String;
        /// Finds emails up to and including a date, or up to an ISO 8601 time.
        end_date: String;
    }
}
