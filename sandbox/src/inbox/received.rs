//! Receiving emails: `POST /_/received`.

use bytes::Bytes;
use http::{HeaderValue, header};
use mail_parser::Address;

use idempost_reference_server::mime;
use idempost_reference_server::model::email::Email;
use idempost_reference_server::model::email::draft::Draft;
use idempost_reference_server::model::email::recipients::Mailbox;
use idempost_reference_server::model::mail::Mail;
use idempost_reference_server::model::received::{Authentication, CheckResult};
use idempost_reference_server::resources::received::{self, NotReceived};
use idempost_reference_server::route::AccountCall;
use idempost_reference_server::state::State;
use idempost_reference_server::state::tenant::Tenant;
use idempost_reference_server::wire::answers::{HandlerResult, created_response};
use idempost_reference_server::wire::declared::{Input, Kind, words_of};
use idempost_reference_server::wire::paging::quote;
use idempost_reference_server::wire::problem::Problem;
use idempost_reference_server::wire::query::Parameters;

/// The parameters: the envelope recipients, and the results of authenticating the sender.
pub(super) const QUERY: &[Input] = &[
    Input::new(
        "to",
        Kind::List(&Kind::Text, usize::MAX),
        "An envelope recipient; by default those of the headers",
    ),
    Input::new("spf", CHECK_RESULT, "The result of SPF; by default `unknown`"),
    Input::new("dkim", CHECK_RESULT, "The result of DKIM; by default `unknown`"),
    Input::new("dmarc", CHECK_RESULT, "The result of DMARC; by default `unknown`"),
];
const CHECK_RESULT: Kind = Kind::Words(|| words_of(CheckResult::WORDS));

/// The media types of an email: the message, or JSON with the fields of `POST /emails`.
pub(super) const MEDIA_TYPES: &[&str] = &["message/rfc822", "application/json"];

/// Receives an email.
pub(super) fn receive(call: &AccountCall<'_>) -> HandlerResult {
    let (state, tenant, request) = (call.state, &call.tenant, call.request);
    let content_type =
        request.headers().get(header::CONTENT_TYPE).map(HeaderValue::as_bytes).unwrap_or_default();
    let (raw, named) = if content_type.to_ascii_lowercase().starts_with(b"application/json") {
        render_message(state, tenant, request.body())?
    } else if request.body().starts_with(b"{") {
        let rule = "The body is JSON, which needs the header `content-type: application/json`.";
        return Err(Problem::validation(rule));
    } else {
        (request.body().clone(), header_recipients(request.body()).map_err(not_received_problem)?)
    };
    let parameters = call.parameters();
    let envelope = parameters.get_all("to").map(|text| {
        let wrong = |reason| Problem::validation(format!("`to` {reason}: {}.", quote(text)));
        Mailbox::parse(text).map(|mailbox| mailbox.address).map_err(wrong)
    });
    let envelope = envelope.collect::<Result<Vec<_>, _>>()?;
    let recipients = if envelope.is_empty() { named } else { envelope };
    let id = received::receive(state, tenant, recipients, read_authentication(&parameters)?, raw)
        .map_err(not_received_problem)?;
    Ok(created_response("email", id))
}

fn not_received_problem(reason: NotReceived) -> Problem {
    match reason {
        NotReceived::UnknownKey => Problem::invalid_api_key(),
        reason => Problem::validation(format!("The email was not received: {reason}.")),
    }
}

/// Reads the results of authenticating the sender; the default is unknown.
fn read_authentication(parameters: &Parameters<'_>) -> Result<Authentication, Problem> {
    let check = |name| {
        let result = parameters.one_of(name, CheckResult::WORDS)?;
        Ok::<_, Problem>(result.unwrap_or(CheckResult::Unknown))
    };
    Ok(Authentication { spf: check("spf")?, dkim: check("dkim")?, dmarc: check("dmarc")? })
}

/// Renders the message described by a JSON body, and returns its recipients.
fn render_message(state: &State, tenant: &Tenant, body: &[u8]) -> Result<(Bytes, Vec<String>), Problem> {
    let now = tenant.clock.now();
    let draft = Draft::parse(state, body, tenant, now)?;
    if draft.attachments.iter().any(|one| one.content.url().is_some()) {
        return Err(Problem::validation(
            "An attachment of a received email must have `content` instead of `path`.",
        ));
    }
    let all = [Some(&draft.to), draft.cc.as_ref(), draft.bcc.as_ref()];
    let recipients = all.into_iter().flatten().flatten().map(|one: &Mailbox| one.address.clone()).collect();
    let email = Email::new(state.next_id(), Box::new(draft.clone()), now);
    let mail = Mail::new(email.id, &email, Box::new(draft), false, None, now);
    Ok((mail.mime(), recipients))
}

/// Returns the recipients in a message's headers.
fn header_recipients(raw: &[u8]) -> Result<Vec<String>, NotReceived> {
    let message = mime::read_headers(raw).map_err(|reason| NotReceived::TooComplex(reason.text()))?;
    let Some(message) = message else { return Ok(Vec::new()) };
    let all = [message.to(), message.cc(), message.bcc()];
    let all = all.into_iter().flatten().flat_map(Address::iter);
    Ok(all.filter_map(|one| one.address()).map(str::to_owned).collect())
}
