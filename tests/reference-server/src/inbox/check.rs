//! The check of an email: `GET /_/messages|received/{id}/check`.

use bytes::Bytes;
use http::{Response, StatusCode};
use serde::Serialize;

use crate::content::check::{self, Report};
use crate::inbox::mail::MailView;
use crate::wire::problem;

/// The findings about an email, sent or not. They are computed on each request: a stored email doesn't change, but most are never checked.
pub(super) fn answer(mail: &MailView) -> Response<Bytes> {
    let report = match mail {
        MailView::Sent(mail) => check::message(&mail.mime()),
        MailView::Unsent(email) => {
            check::bodies(&email.subject, email.bodies.html().as_deref(), email.bodies.text().as_deref())
        }
        MailView::Received(mail) => check::message(&mail.raw),
    };
    problem::json(StatusCode::OK, &Checked { id: mail.id(), report })
}

#[derive(Serialize)]
struct Checked {
    id: String,
    #[serde(flatten)]
    report: Report,
}
