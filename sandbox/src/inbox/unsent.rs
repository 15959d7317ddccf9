//! Unsent emails: scheduled, queued, failed or canceled. `GET /_/messages?state=…` lists them.
//!
//! An email is listed here from acceptance until it is sent. After that, its URL (`/_/messages/{email_id}/…`) leads to the captured email.

use std::sync::Arc;

use serde::Serialize;
use uuid::Uuid;

use crate::inbox::search::Search;
use crate::inbox::window;
use idempost_reference_server::content::preview::Preview;
use idempost_reference_server::lock::lock;
use idempost_reference_server::model::email::{Email, Event};
use idempost_reference_server::route::AccountCall;
use idempost_reference_server::state::tenant::Tenant;
use idempost_reference_server::store::ledger::Ledger;
use idempost_reference_server::wire::answers::HandlerResult;
use idempost_reference_server::wire::declared::{Input, Kind, words_of};
use idempost_reference_server::wire::described;
use idempost_reference_server::wire::paging::list;
use idempost_reference_server::wire::problem::Problem;
use idempost_reference_server::wire::timestamp::to_database_format;
use idempost_reference_server::wire::view::view;

described! {
    /// Why an email is unsent.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub(super) enum State {
        /// It is waiting for its scheduled time.
        Scheduled,
        /// It is waiting for its hosted attachments.
        Queued,
        Failed,
        Suppressed,
        Canceled,
    }
}

impl State {
    /// Returns the state of an email; `None` if it was sent.
    pub(super) fn from_email(email: &Email) -> Option<Self> {
        match email.last_event() {
            _ if email.captured_id().is_some() => None,
            _ if email.failure().is_some() => Some(Self::Failed),
            Event::Scheduled => Some(Self::Scheduled),
            Event::Queued => Some(Self::Queued),
            Event::Failed => Some(Self::Failed),
            Event::Suppressed => Some(Self::Suppressed),
            Event::Canceled => Some(Self::Canceled),
            _ => None,
        }
    }
}

/// The unsent emails selected by `state`.
#[derive(Clone, Copy)]
pub(super) enum Selection {
    All,
    In(State),
}

/// The parameter of the list.
pub(super) const QUERY: &[Input] =
    &[Input::new("state", Kind::Words(|| words_of(&STATES)), "The emails to list; by default `sent`")];

/// The values of `state`; `sent` selects captured emails.
const STATES: [(&str, Option<Selection>); 7] = [
    ("sent", None),
    ("unsent", Some(Selection::All)),
    ("scheduled", Some(Selection::In(State::Scheduled))),
    ("queued", Some(Selection::In(State::Queued))),
    ("failed", Some(Selection::In(State::Failed))),
    ("suppressed", Some(Selection::In(State::Suppressed))),
    ("canceled", Some(Selection::In(State::Canceled))),
];

impl Selection {
    /// Reads `state` from the query. If absent, captured emails are selected.
    pub(super) fn read(call: &AccountCall<'_>) -> Result<Option<Self>, Problem> {
        Ok(call.parameters().one_of("state", &STATES)?.flatten())
    }

    fn matches(self, email: &Email) -> bool {
        State::from_email(email).is_some_and(|state| match self {
            Self::All => true,
            Self::In(wanted) => wanted == state,
        })
    }
}

/// `GET /_/messages?state=unsent`, mode A, most recently accepted first. The search runs without the lock of the emails.
pub(super) fn index(call: &AccountCall<'_>, wanted: Selection) -> HandlerResult {
    let (search, canceled) = (Search::read(call)?, call.cancellation());
    let mut matcher = search.matcher(&call.tenant);
    let walk = window(call)?.walk(&*lock(&call.tenant.emails))?;
    let page =
        walk.page_where(|email| canceled.is_canceled() || wanted.matches(email) && matcher.matches(&**email));
    canceled.check()?;
    Ok(list(&page.show(UnsentItem)))
}

/// Returns the IDs of all unsent emails.
pub(super) fn ids(tenant: &Tenant) -> impl Iterator<Item = Uuid> + use<> {
    let emails: Vec<_> = lock(&tenant.emails).newest_first().cloned().collect();
    emails.into_iter().filter(|email| State::from_email(email).is_some()).map(|email| email.id)
}

pub(super) fn find(emails: &Ledger<Arc<Email>>, id: Uuid) -> Option<Arc<Email>> {
    emails.get(id).filter(|email| State::from_email(email).is_some()).cloned()
}

view! {
    described
    /// An unsent email in a list, with the fields of a captured one that apply.
    pub(super) UnsentItem of email: Email {
        id: email.id.to_string(),
        email_id: email.id.to_string(),
        from: email.from,
        to: email.to,
        cc: email.cc.as_deref().unwrap_or_default(),
        bcc: email.bcc.as_deref().unwrap_or_default(),
        subject: email.subject,
        created_at: to_database_format(email.created_at),
        /// `None` if it has been sent.
        state: State::from_email(email),
        /// The reason for the failure, as in webhook events.
        reason: email.failure(),
        scheduled_at: email.scheduled_at().map(to_database_format),
        last_event: email.last_event().as_str(),
        tags: email.tags,
        ..(Preview::new(&email.subject, email.bodies.html().as_deref(), email.bodies.explicit_text().as_deref())),
    }
}
