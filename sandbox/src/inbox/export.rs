//! Exports captured emails as one file: `GET /_/export?format=mbox|json`, oldest first. Selects emails like `GET /_/messages`, or by repeated `id`
//! parameters.
//!
//! A large export is streamed a few mails at a time, so it takes little memory regardless of its size. If it can't be completed, the connection is
//! closed.

use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header;
use jiff::tz::TimeZone;
use tokio::sync::{mpsc, watch};
use uuid::Uuid;

use crate::inbox::messages::MessageDetail;
use crate::inbox::search::Search;
use idempost_reference_server::lock::lock;
use idempost_reference_server::model::email::recipients::Mailbox;
use idempost_reference_server::model::mail::Mail;
use idempost_reference_server::reply::{Aborted, Parts, Reply};
use idempost_reference_server::route::AccountCall;
use idempost_reference_server::state::State;
use idempost_reference_server::state::tenant::Tenant;
use idempost_reference_server::wire::declared::{Input, Kind, words_of};
use idempost_reference_server::wire::paging::quote;
use idempost_reference_server::wire::problem::{Problem, response_with};

/// Exports larger than this, in bytes, are streamed in parts of at least this size.
const PART: usize = 256 << 10;
/// How long to wait for other responses to free memory.
const TIMEOUT: Duration = Duration::from_mins(10);
/// The maximum number of IDs per request.
const MAX_IDS: usize = 1_000;

#[derive(Clone, Copy)]
enum Format {
    Mbox,
    Json,
}

/// The parameters, besides those of a search.
pub(super) const QUERY: &[Input] = &[
    Input::new("format", Kind::Words(|| words_of(&FORMATS)), "The format of the file").required(),
    Input::new(
        "id",
        Kind::List(&Kind::Id, MAX_IDS),
        "The ID of an email; by default, all matching ones are exported",
    ),
];
const FORMATS: [(&str, Format); 2] = [("mbox", Format::Mbox), ("json", Format::Json)];

/// An export in progress.
struct Export {
    tenant: Arc<Tenant>,
    format: Format,
    /// The mails still to be written, and whether the end has been written.
    mails: std::vec::IntoIter<Arc<Mail>>,
    ended: bool,
    written: usize,
}

pub(super) fn export(call: &AccountCall<'_>) -> Result<Reply, Problem> {
    let format = call.parameters().one_of("format", &FORMATS)?;
    let format =
        format.ok_or_else(|| Problem::validation("`format` must be `mbox` or `json`; found nothing."))?;
    let mails = mails(call)?.into_iter();
    let mut export = Export { tenant: Arc::clone(&call.tenant), format, mails, ended: false, written: 0 };
    let first = export.part()?;
    let (content_type, name) = match format {
        Format::Mbox => ("application/mbox", "attachment; filename=\"sandbox.mbox\""),
        Format::Json => ("application/json; charset=utf-8", "attachment; filename=\"sandbox.json\""),
    };
    let headers = [(header::CONTENT_TYPE, content_type), (header::CONTENT_DISPOSITION, name)];
    let mut response = response_with(Bytes::new(), headers);
    if export.ended {
        *response.body_mut() = first.into();
        return Ok(response.into());
    }
    Ok(Reply::stream(response, move |state, stopped| export.stream(first, state, stopped)))
}

impl Export {
    /// Writes the next mails, or the end. Returns an empty part after the end.
    fn part(&mut self) -> Result<Vec<u8>, Problem> {
        let mut body = Vec::new();
        while body.len() < PART && !self.ended {
            if let Some(mail) = self.mails.next() {
                self.write(&mut body, &mail)?;
                continue;
            }
            self.ended = true;
            if let Format::Json = self.format {
                body.extend_from_slice(if self.written == 0 { b"[\n]\n" } else { b"\n]\n" });
            }
        }
        Ok(body)
    }

    fn write(&mut self, body: &mut Vec<u8>, mail: &Mail) -> Result<(), Problem> {
        let bodies = mail.bodies();
        let raw = mail.render(&bodies);
        match self.format {
            Format::Mbox => append_mbox(body, mail, &raw),
            Format::Json => {
                append_json(body, self.written, &MessageDetail::new(&self.tenant, mail, bodies, &raw))?;
            }
        }
        self.written += 1;
        Ok(())
    }

    /// Sends all parts.
    fn stream(self, first: Vec<u8>, state: Arc<State>, mut stopped: watch::Receiver<bool>) -> Parts {
        let (sender, receiver) = mpsc::channel(1);
        tokio::spawn(async move {
            let is_complete = tokio::select! {
                sent = self.send(first, &state, &sender) => sent.is_some(),
                () = sender.closed() => return,
                _ = stopped.wait_for(|stopped| *stopped) => false,
            };
            if !is_complete {
                // The client may have disconnected.
                let _ = sender.send(Err(Aborted)).await;
            }
        });
        receiver
    }

    /// Sends the parts. Returns `None` if the export is incomplete.
    async fn send(
        mut self,
        mut part: Vec<u8>,
        state: &State,
        sender: &mpsc::Sender<Result<Bytes, Aborted>>,
    ) -> Option<()> {
        while !part.is_empty() {
            let reserved = state.in_flight.reserve(part.len(), TIMEOUT).await?;
            sender.send(Ok(reserved.guard_bytes(part))).await.ok()?;
            let _slot = state.in_flight.slow.acquire().await.ok()?;
            let next = tokio::task::spawn_blocking(move || {
                let part = self.part();
                part.map(|part| (self, part))
            });
            (self, part) = next.await.ok()?.ok()?;
        }
        Some(())
    }
}

fn mails(call: &AccountCall<'_>) -> Result<Vec<Arc<Mail>>, Problem> {
    let (search, canceled) = (Search::read(call)?, call.cancellation());
    let read = |id| {
        Uuid::try_parse(id).map_err(|_| {
            Problem::validation(format!("`id` must be the id of a message; found {}.", quote(id)))
        })
    };
    let ids = call.parameters().get_all("id").map(read).collect::<Result<Vec<_>, _>>()?;
    if ids.len() > MAX_IDS {
        return Err(Problem::validation(format!(
            "At most {MAX_IDS} messages can be requested by id; found {}.",
            ids.len()
        )));
    }
    let captured = lock(&call.tenant.captured);
    let mut mails: Vec<_> = if ids.is_empty() {
        captured.oldest_first().cloned().collect()
    } else {
        // Skip evicted emails, so that a client with a long list doesn't have to start over.
        ids.into_iter().filter_map(|id| captured.get(id).cloned()).collect()
    };
    drop(captured);
    search.retain_matching(&mut mails, &call.tenant, &canceled)?;
    Ok(mails)
}

/// Appends an email to an mbox (RFC 4155) with LF line ends. Lines that look like the separator are quoted reversibly (`mboxrd`).
fn append_mbox(written: &mut Vec<u8>, mail: &Mail, raw: &[u8]) {
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

/// Returns the sender's address for the separator line, without a name or spaces.
fn sender(from: &str) -> String {
    let address = Mailbox::parse(from).map(|mailbox| mailbox.address).unwrap_or_default();
    let one_piece =
        !address.is_empty() && !address.contains(|char: char| char.is_whitespace() || char.is_control());
    if one_piece { address } else { "MAILER-DAEMON".to_owned() }
}

/// Appends an email to an open JSON array.
fn append_json(written: &mut Vec<u8>, place: usize, mail: &MessageDetail<'_>) -> Result<(), Problem> {
    written.extend_from_slice(if place == 0 { b"[\n" } else { b",\n" });
    serde_json::to_writer(written, mail).map_err(|error| Problem::application(error.to_string()))
}
