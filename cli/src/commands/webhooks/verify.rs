//! `webhooks verify`: whether something that arrived came from the service. It asks nobody.

use std::time::SystemTime;

use http::{HeaderMap, HeaderName, HeaderValue};
use jiff::Timestamp;
use posthaste::{Delivery, VerificationError, WebhookVerifier};
use serde_json::json;

use super::secrets;
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::flags::{Flags, Required};
use crate::input::source::{Source, StdinReaders, TEXT_LIMIT};
use crate::output::record;

/// Check that a delivery came from the service
///
/// Needs its headers, its body byte for byte, and the webhook's secret; no network, no credential. A delivery that is refused ends with exit
/// code 3.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    posthaste webhooks verify --secret-file hooks.secret --headers headers.txt --payload body.json\n  \
    posthaste webhooks verify --secret-file hooks.secret --payload - --tolerance any \\\n      \
    --header 'svix-id: msg_27UH4WbU6Z5A5EzD8u03UvzRbpk' --header 'svix-timestamp: 1649367553' \\\n      \
    --header 'svix-signature: v1,tZ1I4/hDygAJgO5TYxiSd6Sd0kDW6hPenDe+bTa3Kkw=' < body.json")]
pub(crate) struct Args {
    /// File with the signing secret, - for standard input; repeat it while a secret is rotated
    #[arg(long, value_name = "PATH", add = Required)]
    secret_file: Vec<String>,
    /// File with the headers, a line each; - for standard input
    #[arg(long, value_name = "PATH")]
    headers: Option<String>,
    /// One header; repeat it
    #[arg(long, value_name = "NAME: VALUE")]
    header: Vec<String>,
    /// File with the body as it came, - for standard input
    #[arg(long, value_name = "PATH", add = Required)]
    payload: Option<String>,
    /// How long ago it may have been signed, or how far ahead; `any` for one that was kept [default: 5m]
    #[arg(long, value_name = "DURATION")]
    tolerance: Option<String>,
    /// When it arrived, in ISO 8601, instead of now
    #[arg(long, value_name = "TIME")]
    at: Option<String>,
}

struct Plan {
    verifier: WebhookVerifier,
    headers: HeaderMap,
    payload: Vec<u8>,
    at: SystemTime,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<(), Fail> {
    let Plan { verifier, headers, payload, at } = plan(args, context)?;
    let delivery = verifier.verify_at(&headers, &payload, at).map_err(|refusal| refused(&refusal))?;
    let told = told(&delivery);
    let mut document = told.clone();
    document["payload"] = serde_json::from_slice(delivery.body).unwrap_or_default();
    if delivery.event().is_err() {
        context.out.note("the body is not an event: no JSON object with a `type`");
    }
    context.out.result(&record::lines(&told), &document)
}

fn told(delivery: &Delivery<'_>) -> serde_json::Value {
    let event = delivery.event().ok();
    let signed_at = Timestamp::try_from(delivery.signed_at).ok().map(|time| time.to_string());
    json!({
        "id": delivery.id,
        "type": event.as_ref().map(|event| &event.kind),
        "created_at": event.as_ref().and_then(|event| event.created_at.as_ref()),
        "signed_at": signed_at,
    })
}

fn refused(refusal: &VerificationError) -> Fail {
    let hint = match refusal {
        VerificationError::WrongSignature { .. } => {
            "give the body byte for byte: no line end more, nothing parsed and written again"
        }
        VerificationError::TooOld { .. } => {
            "of one that was kept, say when it arrived: --at TIME, or --tolerance any"
        }
        VerificationError::TooNew { .. } => {
            "one of the two clocks is wrong; in a sandbox whose clock was moved: --tolerance any"
        }
        VerificationError::Missing { .. } => "a delivery has svix-id, svix-timestamp and svix-signature",
        _ => "it is not as the service sends it",
    };
    Fail::Rejected { message: format!("refused: {refusal}"), hint: Some(hint.to_owned()) }
}

fn plan(args: &Args, context: &Context) -> Result<Plan, Fail> {
    let Args { secret_file, headers, header, payload, tolerance, at } = args;
    let mut flags = Flags::default();
    flags.help(
        "posthaste webhooks verify --secret-file hooks.secret --headers headers.txt --payload body.json",
    );
    let mut stdin = context.stdin();
    let verifier = secrets::read(secret_file, &mut stdin, &mut flags);
    if secret_file.is_empty() {
        flags.missing("--secret-file");
    }
    let headers = all_headers(headers.as_deref(), header, &mut stdin, &mut flags);
    if payload.is_none() {
        flags.missing("--payload");
    }
    let payload = payload
        .as_deref()
        .and_then(|name| bytes("--payload", name, &mut stdin, &mut flags))
        .unwrap_or_default();
    let tolerance = secrets::tolerance(tolerance.as_deref(), &mut flags);
    let at = at.as_deref().and_then(|text| {
        let time = text.parse::<Timestamp>().ok();
        if time.is_none() {
            let rule = "--at is a time in ISO 8601, such as 2026-03-01T12:00:00Z";
            flags.wrong("type", rule, "--at", text);
        }
        time.map(SystemTime::from)
    });
    flags.finish()?;
    // What is missing here has just been told.
    let mut verifier = verifier.ok_or_else(|| Fail::Usage(crate::diagnostics::Report::default()))?;
    if let Some(tolerance) = tolerance {
        verifier = verifier.tolerance(tolerance);
    }
    Ok(Plan { verifier, headers, payload, at: at.unwrap_or_else(SystemTime::now) })
}

fn bytes(flag: &str, name: &str, stdin: &mut StdinReaders, flags: &mut Flags) -> Option<Vec<u8>> {
    let source: Source = match stdin.claim(flag, name) {
        Ok(source) => source,
        Err(found) => {
            flags.push(*found);
            return None;
        }
    };
    match source.bytes(TEXT_LIMIT) {
        Ok(bytes) => Some(bytes),
        Err(why) => {
            flags.wrong("file", format!("{source} can't be read: {why}"), flag, name);
            None
        }
    }
}

/// The headers of a file, and those of the command line.
fn all_headers(
    file: Option<&str>,
    typed: &[String],
    stdin: &mut StdinReaders,
    flags: &mut Flags,
) -> HeaderMap {
    let mut headers = HeaderMap::new();
    if file.is_none() && typed.is_empty() {
        flags.missing("--headers or --header");
    }
    if let Some(name) = file
        && let Some(bytes) = bytes("--headers", name, stdin, flags)
    {
        let lines = bytes.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
        for (i, line) in lines.enumerate().filter(|(_, line)| !line.is_empty()) {
            match header(line) {
                Some((name, value)) => drop(headers.append(name, value)),
                // A request line, as a tool that shows requests writes it first.
                None if i == 0 => {}
                None => {
                    let rule = format!("line {} is no header: `NAME: VALUE`", i + 1);
                    flags.wrong("header", rule, "--headers", name);
                }
            }
        }
    }
    for (i, text) in typed.iter().enumerate() {
        match header(text.as_bytes()) {
            Some((name, value)) => drop(headers.append(name, value)),
            None => flags.wrong_nth("header", "a header is `NAME: VALUE`", "--header", i + 1, text),
        }
    }
    headers
}

fn header(line: &[u8]) -> Option<(HeaderName, HeaderValue)> {
    let colon = line.iter().position(|&byte| byte == b':')?;
    let (name, value) = line.split_at(colon);
    let value = value.get(1..).unwrap_or_default().trim_ascii();
    Some((HeaderName::from_bytes(name).ok()?, HeaderValue::from_bytes(value).ok()?))
}
