//! Captured mails as one file: `GET /_/export?format=mbox|json`, oldest first, with the filters of `GET /_/messages`, or those that `id` names,
//! as often as it is given.
//!
//! An answer holds at most [`MOST`] bytes of mail, so that an export can't take the memory of a sandbox that others use; who wants more asks for
//! it by ids, piece by piece, as `posthaste sandbox export` does.

use std::io::Write as _;
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderValue, Response, header};
use jiff::tz::TimeZone;
use url::form_urlencoded;
use uuid::Uuid;

use super::filter::Filter;
use super::messages::whole;
use crate::delivery::captured::CapturedMail;
use crate::lock::lock;
use crate::paging::quoted;
use crate::problem::Problem;
use crate::resources::emails::recipients::Mailbox;
use crate::state::Tenant;

/// How many bytes of mail one answer may hold.
const MOST: usize = 64 << 20;
/// How many mails may be named.
const MOST_IDS: usize = 1_000;

#[derive(Clone, Copy)]
enum Format {
    Mbox,
    Json,
}

pub(super) fn answer(tenant: &Tenant, query: Option<&str>) -> Result<Response<Bytes>, Problem> {
    let query = query.unwrap_or_default();
    let format = format(query)?;
    let mails = mails(tenant, query)?;
    let (body, content_type, name) = match format {
        Format::Mbox => (mbox(&mails), "application/mbox", "attachment; filename=\"sandbox.mbox\""),
        Format::Json => (
            json(tenant, &mails)?,
            "application/json; charset=utf-8",
            "attachment; filename=\"sandbox.json\"",
        ),
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

fn mails(tenant: &Tenant, query: &str) -> Result<Vec<Arc<CapturedMail>>, Problem> {
    let filter = Filter::read(query)?;
    let mut ids = Vec::new();
    for (_, value) in form_urlencoded::parse(query.as_bytes()).filter(|(name, _)| name == "id") {
        ids.push(Uuid::try_parse(&value).map_err(|_| {
            Problem::validation(format!("`id` must be the id of a message; found {}.", quoted(&value)))
        })?);
    }
    if ids.len() > MOST_IDS {
        return Err(Problem::validation(format!(
            "At most {MOST_IDS} messages may be named; found {}.",
            ids.len()
        )));
    }
    let captured = lock(&tenant.captured);
    let all: Vec<_> = if ids.is_empty() {
        captured.newest_first().filter(|mail| filter.lets_through(&***mail)).cloned().collect()
    } else {
        // One that was forgotten meanwhile is left out: who walks a long list does not start again because of it.
        let mut named: Vec<_> = ids.into_iter().filter_map(|id| captured.get(id).cloned()).collect();
        named.reverse();
        named.retain(|mail| filter.lets_through(&**mail));
        named
    };
    drop(captured);
    let size: usize = all.iter().map(|mail| mail.mime.len()).sum();
    if size > MOST {
        return Err(Problem::validation(format!(
            "These {} mails have {size} bytes, and one answer holds at most {MOST}; narrow the choice, or use `posthaste sandbox export`.",
            all.len()
        )));
    }
    Ok(all.into_iter().rev().collect())
}

/// The mails as an mbox (RFC 4155), lines ended by LF. Lines that look like the separator are quoted reversibly, as readers of `mboxrd` expect.
fn mbox(mails: &[Arc<CapturedMail>]) -> Vec<u8> {
    let mut written = Vec::with_capacity(mails.iter().map(|mail| mail.mime.len() + 128).sum());
    for mail in mails {
        let at = mail.captured_at.to_zoned(TimeZone::UTC).strftime("%a %b %e %H:%M:%S %Y");
        // Writing to memory does not fail.
        let _ = writeln!(written, "From {} {at}", sender(&mail.from));
        let lines = mail.mime.strip_suffix(b"\n").unwrap_or(&mail.mime).split(|byte| *byte == b'\n');
        for line in lines {
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
    written
}

/// The address of a sender as the separator takes it: without a name, and in one piece.
fn sender(from: &str) -> String {
    let address = Mailbox::parse(from).map(|mailbox| mailbox.address).unwrap_or_default();
    let one_piece =
        !address.is_empty() && !address.contains(|char: char| char.is_whitespace() || char.is_control());
    if one_piece { address } else { "MAILER-DAEMON".to_owned() }
}

fn json(tenant: &Tenant, mails: &[Arc<CapturedMail>]) -> Result<Vec<u8>, Problem> {
    let mut written = vec![b'['];
    for (i, mail) in mails.iter().enumerate() {
        written.extend_from_slice(if i == 0 { b"\n" } else { b",\n" });
        let failed = |error: serde_json::Error| Problem::application(error.to_string());
        serde_json::to_writer(&mut written, &whole(tenant, mail)).map_err(failed)?;
    }
    written.extend_from_slice(b"\n]\n");
    Ok(written)
}
