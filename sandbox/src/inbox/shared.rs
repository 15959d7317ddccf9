//! The page of a shared email: `GET /_/shared/{token}`, with its HTML in a frame and its files as downloads.
//!
//! Neither the email nor the visitors are trusted: the page has no scripts and reveals neither Bcc recipients nor other data of the account.

use std::fmt::Write as _;

use http::header;

use crate::inbox::mail::MailView;
use idempost_reference_server::resources::emails::share;
use idempost_reference_server::state::State;
use idempost_reference_server::state::mails::Folder;
use idempost_reference_server::wire::answers::HandlerResult;
use idempost_reference_server::wire::cancel::Cancellation;
use idempost_reference_server::wire::escape::escape_html;
use idempost_reference_server::wire::problem::{Problem, response_with};
use idempost_reference_server::wire::timestamp::to_iso;

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}\
    h1{font-size:1.4rem;overflow-wrap:anywhere}dl{display:grid;grid-template-columns:max-content 1fr;gap:0 1rem}dd{margin:0;overflow-wrap:anywhere}\
    iframe{width:100%;height:70vh;border:1px solid #8888;background:#fff}pre{white-space:pre-wrap;overflow-wrap:anywhere}\
    @media(prefers-color-scheme:dark){body{background:#161616;color:#ddd}a{color:#8bf}}";

const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; frame-src 'self'; base-uri 'none'; form-action 'none'; \
    frame-ancestors 'none'";

pub(super) fn page(state: &State, token: &str) -> HandlerResult {
    let mail = open(state, token)?;
    let (subject, from, to, cc, at) = match &mail {
        MailView::Sent(mail) => {
            (mail.subject(), mail.from(), mail.to().join(", "), mail.cc().join(", "), mail.captured_at)
        }
        MailView::Unsent(email) => {
            let cc = email.cc.as_deref().unwrap_or_default();
            (&*email.subject, &*email.from, email.to.join(", "), cc.join(", "), email.created_at)
        }
        MailView::Received(mail) => {
            (&*mail.subject, &*mail.from, mail.to.join(", "), mail.cc.join(", "), mail.created_at)
        }
    };
    let mut page = format!(
        "<!doctype html><html lang=en><head><meta charset=utf-8><meta name=viewport content=\"width=device-width\">\
         <meta name=robots content=noindex><title>{subject}</title><style>{STYLE}</style></head><body><h1>{subject}</h1><dl>",
        subject = escape_html(subject)
    );
    let rows = [("From", from), ("To", &to), ("Cc", &cc), ("Date", &to_iso(at))];
    for (name, value) in rows.into_iter().filter(|(_, value)| !value.is_empty()) {
        let _ = write!(page, "<dt>{name}</dt><dd>{}</dd>", escape_html(value));
    }
    // Relative, since the service's public URL may include a path.
    for (index, (name, size)) in mail.file_list().iter().enumerate() {
        let name = escape_html(name);
        let _ =
            write!(page, "<dt>File</dt><dd><a href=\"{token}/files/{index}\">{name}</a> ({size} bytes)</dd>");
    }
    page.push_str("</dl>");
    // Writing to a string can't fail.
    let _ = if mail.html().is_some() {
        let title = "referrerpolicy=no-referrer title=\"The email\"";
        write!(page, "<iframe sandbox {title} src=\"{token}/html\"></iframe>")
    } else {
        write!(page, "<pre>{}</pre>", escape_html(&mail.text().unwrap_or_default()))
    };
    page.push_str("</body></html>");
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        // The page's URL authorizes the request.
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
    ];
    Ok(response_with(page, headers))
}

/// Returns the HTML body as an isolated document.
pub(super) fn html(state: &State, token: &str, canceled: &Cancellation) -> HandlerResult {
    open(state, token)?.html_document(canceled)
}

/// Returns a file by its index in the message.
pub(super) fn file(state: &State, token: &str, index: &str) -> HandlerResult {
    open(state, token)?.file(index, false)
}

fn open(state: &State, token: &str) -> Result<MailView, Problem> {
    let id = share::open(state, token)?;
    let gone = || Problem::not_found("The email no longer exists.");
    let tenant = state.tenants.owner(id).ok_or_else(gone)?;
    let find = |folder| MailView::find(&tenant, folder, &id.to_string());
    find(Folder::Sent).or_else(|_| find(Folder::Received)).map_err(|_| gone())
}
