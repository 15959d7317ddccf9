//! The check of an email: `GET /_/messages|received/{id}/check`. `POST` also requests its links: only on a user's request, and restricted as
//! described in [`remote`](crate::inbox::remote).

use bytes::Bytes;
use http::{Response, StatusCode};

use crate::check::{self, Examined, Report};
use crate::inbox::mail::MailView;
use crate::inbox::remote::{self, links};
use idempost_reference_server::reply::Reply;
use idempost_reference_server::state::State;
use idempost_reference_server::wire::described;
use idempost_reference_server::wire::problem::{self, Problem};

/// Returns the findings about an email, sent or not. They are computed for each request, since most emails are never checked.
pub(super) fn show(mail: &MailView) -> Response<Bytes> {
    report_response(mail.id(), check_mail(mail).finish())
}

/// As above, after requesting the email's links. Mounts that can't wait respond without requesting them.
pub(super) fn request_links(state: &State, mail: &MailView) -> Result<Reply, Problem> {
    remote::check_enabled(state, "Links can't be requested")?;
    let examined = check_mail(mail);
    let unrequested = report_response(mail.id(), examined.clone().finish());
    let id = mail.id();
    Ok(Reply::wait(unrequested, |state| async move {
        let links = links::request_all(&state, &examined.links()).await;
        report_response(id, examined.finish_with(links))
    }))
}

fn check_mail(mail: &MailView) -> Examined {
    match mail {
        MailView::Sent(mail) => check::check_message(&mail.mime()),
        MailView::Unsent(email) => {
            let unsubscribe = |(name, _): &&(String, String)| name.eq_ignore_ascii_case("List-Unsubscribe");
            let unsubscribe = email.headers.iter().find(unsubscribe).map(|(_, value)| value.as_str());
            let (html, text) = (email.bodies.html(), email.bodies.text());
            check::check_bodies(&email.subject, html.as_deref(), text.as_deref(), unsubscribe)
        }
        MailView::Received(mail) => check::check_message(&mail.raw),
    }
}

fn report_response(id: String, report: Report) -> Response<Bytes> {
    problem::json(StatusCode::OK, &CheckedEmail { id, report })
}

described! {
    /// The check of an email.
    pub(super) struct CheckedEmail {
        id: String,
        #[serde(flatten)]
        report: Report,
    }
}
