//! `webhooks verify`: checks offline whether a delivery was signed by the service.

use std::time::SystemTime;

use http::{HeaderMap, HeaderName, HeaderValue};
use idempost::webhooks::{Delivery, VerificationError, WebhookVerifier};
use jiff::Timestamp;
use serde_json::json;

use super::secrets;
use crate::context::Context;
use crate::diagnostics::{Diagnostics, Fail};
use crate::input::flags::{Flags, Required};
use crate::input::source::StdinReaders;
use crate::output::record;

/// Verify the signature of a webhook delivery
///
/// Needs the headers, the body byte for byte, and the webhook's signing secret; uses no network and no credential. Exits with 3 if the
/// delivery is invalid.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    idempost webhooks verify --secret-file hooks.secret --headers headers.txt --payload body.json\n  \
    idempost webhooks verify --secret-file hooks.secret --payload - --tolerance any \\\n      \
    --header 'svix-id: msg_27UH4WbU6Z5A5EzD8u03UvzRbpk' --header 'svix-timestamp: 1649367553' \\\n      \
    --header 'svix-signature: v1,tZ1I4/hDygAJgO5TYxiSd6Sd0kDW6hPenDe+bTa3Kkw=' < body.json")]
pub(crate) struct Args {
    /// File with the signing secret; - reads standard input; repeatable during a rotation
    #[arg(long, value_name = "PATH", add = Required)]
    secret_file: Vec<String>,
    /// File with the headers, one per line; - reads standard input
    #[arg(long, value_name = "PATH")]
    headers: Option<String>,
    /// One header; repeatable
    #[arg(long, value_name = "NAME: VALUE")]
    header: Vec<String>,
    /// File with the unchanged body; - reads standard input
    #[arg(long, value_name = "PATH", add = Required)]
    payload: Option<String>,
    /// Maximum age, or clock skew, of the signature; `any` for a stored delivery [default: 5m]
    #[arg(long, value_name = "DURATION")]
    tolerance: Option<String>,
    /// Time of arrival in ISO 8601 [default: now]
    #[arg(long, value_name = "TIME")]
    at: Option<String>,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<(), Fail> {
    let Args { secret_file, headers, header, payload, tolerance, at } = args;
    let mut flags = Flags::default();
    flags.help(
        "idempost webhooks verify --secret-file hooks.secret --headers headers.txt --payload body.json",
    );
    let mut stdin = context.stdin();
    let verifier = secrets::read(secret_file, &mut stdin, &mut flags);
    if secret_file.is_empty() {
        flags.add_missing("--secret-file");
    }
    let headers = all_headers(headers.as_deref(), header, &mut stdin, &mut flags);
    if payload.is_none() {
        flags.add_missing("--payload");
    }
    let payload =
        payload.as_deref().and_then(|name| flags.take(stdin.bytes("--payload", name))).unwrap_or_default();
    let tolerance = secrets::parse_tolerance(tolerance.as_deref(), &mut flags);
    let at = at.as_deref().and_then(|text| {
        let rule = "--at must be a time in ISO 8601, such as 2026-03-01T12:00:00Z";
        flags.accept(text.parse::<Timestamp>().ok(), "type", rule, "--at", text).map(SystemTime::from)
    });
    flags.finish()?;
    // Missing parts have just been reported.
    let verifier = verifier.ok_or_else(|| Fail::Usage(Diagnostics::default()))?;
    let verifier = tolerance.into_iter().fold(verifier, WebhookVerifier::tolerance);
    let delivery = verifier.verify_at(&headers, &payload, at.unwrap_or_else(SystemTime::now));
    let delivery = delivery.map_err(|refusal| verification_failure(&refusal))?;
    let described = describe(&delivery);
    let mut document = described.clone();
    document["payload"] = serde_json::from_slice(delivery.body).unwrap_or_default();
    if delivery.event().is_err() {
        context.out.note("the body isn't an event: not a JSON object with a `type`");
    }
    context.out.result(&record::lines(&described), &document)
}

fn describe(delivery: &Delivery<'_>) -> serde_json::Value {
    let event = delivery.event().ok();
    let signed_at = Timestamp::try_from(delivery.signed_at).ok().map(|time| time.to_string());
    json!({
        "id": delivery.id,
        "type": event.as_ref().map(|event| &event.kind),
        "created_at": event.as_ref().and_then(|event| event.created_at.as_ref()),
        "signed_at": signed_at,
    })
}

fn verification_failure(refusal: &VerificationError) -> Fail {
    let hint = match refusal {
        VerificationError::WrongSignature { .. } => {
            "pass the body byte for byte, without an extra line ending and without parsing and serializing it again"
        }
        VerificationError::TooOld { .. } => {
            "for a stored delivery, pass its arrival time with --at TIME, or --tolerance any"
        }
        VerificationError::TooNew { .. } => {
            "check both clocks; for a sandbox whose clock was moved, pass --tolerance any"
        }
        VerificationError::Missing { .. } => {
            "a delivery must have the headers svix-id, svix-timestamp and svix-signature"
        }
        _ => "the request isn't a webhook delivery of the service",
    };
    Fail::rejected(format!("verification failed: {refusal}")).hint(hint)
}

/// The headers from the file and the flags.
fn all_headers(
    file: Option<&str>,
    typed: &[String],
    stdin: &mut StdinReaders,
    flags: &mut Flags,
) -> HeaderMap {
    let mut headers = HeaderMap::new();
    if file.is_none() && typed.is_empty() {
        flags.add_missing("--headers or --header");
    }
    if let Some(name) = file
        && let Some(bytes) = flags.take(stdin.bytes("--headers", name))
    {
        let lines = bytes.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
        for (i, line) in lines.enumerate().filter(|(_, line)| !line.is_empty()) {
            match parse_header(line) {
                Some((name, value)) => drop(headers.append(name, value)),
                // A request line, which some tools print before the headers.
                None if i == 0 => {}
                None => {
                    let rule = format!("line {} isn't a header of the form `NAME: VALUE`", i + 1);
                    flags.reject("header", rule, "--headers", name);
                }
            }
        }
    }
    for (i, text) in typed.iter().enumerate() {
        match parse_header(text.as_bytes()) {
            Some((name, value)) => drop(headers.append(name, value)),
            None => flags.reject_nth("header", "a header must be `NAME: VALUE`", "--header", i + 1, text),
        }
    }
    headers
}

fn parse_header(line: &[u8]) -> Option<(HeaderName, HeaderValue)> {
    let colon = line.iter().position(|&byte| byte == b':')?;
    let (name, value) = line.split_at(colon);
    let value = value.get(1..).unwrap_or_default().trim_ascii();
    Some((HeaderName::from_bytes(name).ok()?, HeaderValue::from_bytes(value).ok()?))
}
