//! The check of an email: `GET /_/messages|received/{id}/check`. `POST` requests its links, too: never by itself, and as
//! [`outbound::links`](crate::service) restricts it.

use std::collections::HashMap;

use bytes::Bytes;
use http::{Response, StatusCode};
use serde::Serialize;
use url::Url;

use crate::content::check::{self, Examined, Outcome, Report};
use crate::inbox::mail::MailView;
use crate::state::State;
use crate::wire::answers::Answer;
use crate::wire::problem::{self, Problem};

/// A checked email whose links the mount requests before it sends the response.
#[derive(Clone)]
pub(crate) struct LinkJob {
    id: String,
    examined: Examined,
    /// The links to request.
    pub(crate) urls: Vec<Url>,
}

/// The findings about an email, sent or not. They are computed on each request: a stored email doesn't change, but most are never checked.
pub(super) fn answer(mail: &MailView) -> Response<Bytes> {
    checked(mail.id(), examined(mail).finish())
}

/// The same after its links were requested.
pub(super) fn request_links(state: &State, mail: &MailView) -> Answer {
    if !state.settings.fetch_remote {
        let message = "Links can't be requested, since fetching is disabled (`--no-fetch`).";
        return Err(Problem::new(StatusCode::FORBIDDEN, "fetching_disabled", message.to_owned()));
    }
    let examined = examined(mail);
    let mut response = checked(mail.id(), examined.clone().finish());
    response.extensions_mut().insert(LinkJob { id: mail.id(), urls: examined.links(), examined });
    Ok(response)
}

/// The response with the results of these requests.
pub(crate) fn response(job: LinkJob, outcomes: HashMap<Url, Outcome>) -> Response<Bytes> {
    checked(job.id, job.examined.finish_with(outcomes))
}

fn examined(mail: &MailView) -> Examined {
    match mail {
        MailView::Sent(mail) => check::examine(&mail.mime()),
        MailView::Unsent(email) => {
            let unsubscribe = |(name, _): &&(String, String)| name.eq_ignore_ascii_case("List-Unsubscribe");
            let unsubscribe = email.headers.iter().find(unsubscribe).map(|(_, value)| value.as_str());
            let (html, text) = (email.bodies.html(), email.bodies.text());
            check::examine_bodies(&email.subject, html.as_deref(), text.as_deref(), unsubscribe)
        }
        MailView::Received(mail) => check::examine(&mail.raw),
    }
}

fn checked(id: String, report: Report) -> Response<Bytes> {
    problem::json(StatusCode::OK, &Checked { id, report })
}

#[derive(Serialize)]
struct Checked {
    id: String,
    #[serde(flatten)]
    report: Report,
}
