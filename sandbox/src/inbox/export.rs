//! Captured emails as one file: `GET /_/export?format=mbox|json`, oldest first, with the search of `GET /_/messages`, or those that
//! repeated `id` parameters name.
//!
//! A response contains at most [`MAX_BYTES`] of messages, so that an export can't use up the memory of a shared sandbox; larger exports
//! request IDs in batches, as `idempost sandbox export` does.

use std::io::Write as _;
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderValue, Response, header};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use url::form_urlencoded;
use uuid::Uuid;

use crate::inbox::messages::{Detail, detail_of};
use crate::inbox::search::Search;
use idempost_reference_server::lock::lock;
use idempost_reference_server::model::email::recipients::Mailbox;
use idempost_reference_server::model::mail::Mail;
use idempost_reference_server::state::tenant::Tenant;
use idempost_reference_server::wire::answers::Answer;
use idempost_reference_server::wire::cancel::Cancellation;
use idempost_reference_server::wire::paging::quoted;
use idempost_reference_server::wire::problem::Problem;

/// The maximum number of bytes of messages per response.
const MAX_BYTES: usize = 64 << 20;
/// The maximum number of IDs per request.
const MAX_IDS: usize = 1_000;

#[derive(Clone, Copy)]
enum Format {
    Mbox,
    Json,
}

pub(super) fn answer(
    tenant: &Tenant,
    query: Option<&str>,
    now: Timestamp,
    canceled: &Cancellation,
) -> Answer {
    let query = query.unwrap_or_default();
    let format = format(query)?;
    let mails = mails(tenant, query, now, canceled)?;
    let mut body = Vec::new();
    let mut remaining = MAX_BYTES;
    for (place, mail) in mails.iter().enumerate() {
        canceled.check()?;
        let bodies = mail.bodies();
        let raw = mail.render(&bodies);
        remaining = remaining.checked_sub(raw.len()).ok_or_else(|| too_large(mails.len()))?;
        match format {
            Format::Mbox => mbox(&mut body, mail, &raw),
            Format::Json => json(&mut body, place, &detail_of(tenant, mail, bodies, &raw))?,
        }
    }
    let (content_type, name) = match format {
        Format::Mbox => ("application/mbox", "attachment; filename=\"sandbox.mbox\""),
        Format::Json => {
            body.extend_from_slice(if mails.is_empty() { b"[\n]\n" } else { b"\n]\n" });
            ("application/json; charset=utf-8", "attachment; filename=\"sandbox.json\"")
        }
    };
    let mut response = Response::new(Bytes::from(body));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    response.headers_mut().insert(header::CONTENT_DISPOSITION, HeaderValue::from_static(name));
    Ok(response)
}

fn format(query: &str) -> Result<Format, Problem> {
    let format = form_urlencoded::parse(query.as_bytes()).find(|(name, _)| name == "format");
    match format.as_ref().map(|(_, value)| &**value) {
        Some("mbox") => Ok(Format::Mbox),
        Some("json") => Ok(Format::Json),
        found => Err(Problem::validation(format!(
            "`format` must be `mbox` or `json`; found {}.",
            found.map_or("nothing".to_owned(), quoted)
        ))),
    }
}

fn mails(
    tenant: &Tenant,
    query: &str,
    now: Timestamp,
    canceled: &Cancellation,
) -> Result<Vec<Arc<Mail>>, Problem> {
    let search = Search::read(query, now)?;
    let mut ids = Vec::new();
    for (_, value) in form_urlencoded::parse(query.as_bytes()).filter(|(name, _)| name == "id") {
        ids.push(Uuid::try_parse(&value).map_err(|_| {
            Problem::validation(format!("`id` must be the id of a message; found {}.", quoted(&value)))
        })?);
    }
    if ids.len() > MAX_IDS {
        return Err(Problem::validation(format!(
            "At most {MAX_IDS} messages can be requested by id; found {}.",
            ids.len()
        )));
    }
    let captured = lock(&tenant.captured);
    let mut mails: Vec<_> = if ids.is_empty() {
        captured.oldest_first().cloned().collect()
    } else {
        // Skips evicted emails, so that a client with a long list needn't start again.
        ids.into_iter().filter_map(|id| captured.get(id).cloned()).collect()
    };
    drop(captured);
    let mut matcher = search.matcher(tenant);
    mails.retain(|mail| !canceled.is_canceled() && matcher.matches(&**mail));
    canceled.check()?;
    Ok(mails)
}

fn too_large(mails: usize) -> Problem {
    Problem::validation(format!(
        "These {mails} mails exceed the limit of {MAX_BYTES} bytes per response; narrow the filter, or use `idempost sandbox export`.",
    ))
}

/// Appends an email to an mbox (RFC 4155) with LF line ends. Lines that look like the separator are quoted reversibly (`mboxrd`).
fn mbox(written: &mut Vec<u8>, mail: &Mail, raw: &[u8]) {
    let at = mail.captured_at.to_zoned(TimeZone::UTC).strftime("%a %b %e %H:%M:%S %Y");
    // Writing to memory can't fail.
    let _ = writeln!(written, "From {} {at}", sender(mail.from()));
    for line in raw.strip_suffix(b"\n").unwrap_or(raw).split(|byte| *byte == b'\n') {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let quotes = line.iter().take_while(|byte| **byte == b'>').count();
        if line[quotes..].starts_with(b"From ") {
            written.push(b'>');
        }
        written.extend_from_slice(line);
        written.push(b'\n');
    }
    written.push(b'\n');
}

/// The sender's address for the separator: without a name or spaces.
fn sender(from: &str) -> String {
    let address = Mailbox::parse(from).map(|mailbox| mailbox.address).unwrap_or_default();
    let one_piece =
        !address.is_empty() && !address.contains(|char: char| char.is_whitespace() || char.is_control());
    if one_piece { address } else { "MAILER-DAEMON".to_owned() }
}

/// Appends an email to a JSON array that is still open.
fn json(written: &mut Vec<u8>, place: usize, mail: &Detail<'_>) -> Result<(), Problem> {
    written.extend_from_slice(if place == 0 { b"[\n" } else { b",\n" });
    serde_json::to_writer(written, mail).map_err(|error| Problem::application(error.to_string()))
}
