//! `webhooks listen`: receives deliveries on this machine until stopped.

mod delivery_record;
mod forward;
mod leftovers;
mod receiver;
mod registration;
mod writer;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use idempost::webhooks::WebhookVerifier;
use jiff::tz::TimeZone;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use url::Url;

use self::forward::Forward;
use self::receiver::Receiver;
use self::registration::Registration;
use self::writer::Writer;
use super::secrets;
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::files;
use crate::input::flags::{ALL, EVENT_TYPES, Flags};
use crate::output::terminal::escape_line;
use crate::output::{report, sleep_while_read, write_stderr, write_stderr_secret};
use crate::settings::paths;
use crate::signals::Signals;

/// Maximum number of deliveries waiting to be printed.
const QUEUE_LENGTH: usize = 256;
/// The grace period for deliveries in progress when the program stops.
const GRACE: Duration = Duration::from_secs(2);

/// Receive webhook deliveries on this machine until Ctrl-C; verify and forward them
///
/// With --secret-file, receives the deliveries of an existing webhook. Otherwise creates a temporary webhook, deleted on exit, or at the start of the next
/// listener if this one is killed: a sandbox on this machine can reach it directly; the service needs --public-url, the URL of a tunnel to this machine.
///
/// Deliveries without a valid signature are rejected (401) and shown. With --forward-to, valid ones are forwarded to an application with
/// headers and body unchanged, and its response is returned: 502 if it can't be reached, 504 if it takes longer than 14 seconds.
/// Other deliveries are acknowledged once their line is written: after a crash, some may arrive again, but none are lost. Only this machine can
/// connect. After Ctrl-C, the exit code is 0.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    idempost webhooks listen --forward-to http://localhost:3000/hooks --write-secret hooks.secret\n  \
    idempost webhooks listen --public-url https://abc.tunnel.test --event email.bounced,email.complained\n  \
    idempost webhooks listen --port 4020 --secret-file hooks.secret --jq '.payload.data.email_id'")]
pub(crate) struct Args {
    /// Port on 127.0.0.1; 0 picks any free port
    #[arg(long, value_name = "N", default_value_t = 0)]
    port: u16,
    /// File with an existing webhook's signing secret; - reads standard input; repeatable during a rotation
    #[arg(long, value_name = "PATH")]
    secret_file: Vec<String>,
    /// Path that deliveries arrive on; with --secret-file [default: /]
    #[arg(long, value_name = "PATH")]
    path: Option<String>,
    /// Public URL that forwards to this machine, for a new webhook
    #[arg(long, value_name = "URL", conflicts_with_all = ["secret_file", "insecure_no_verify"])]
    public_url: Option<String>,
    /// Show the signing secret of the new webhook
    #[arg(long, conflicts_with_all = ["secret_file", "insecure_no_verify"])]
    print_secret: bool,
    /// Write that secret to a file (0600), for an application that verifies forwarded deliveries
    #[arg(long, value_name = "PATH", conflicts_with_all = ["secret_file", "insecure_no_verify"])]
    write_secret: Option<PathBuf>,
    /// Event types, comma-separated or repeated, or all; others get 204 and aren't shown
    #[arg(long, visible_alias = "events", value_name = "TYPE", value_delimiter = ',', value_parser = EVENT_TYPES, hide_possible_values = true)]
    event: Vec<String>,
    /// URL of an application that receives every verified delivery
    #[arg(long, value_name = "URL")]
    forward_to: Option<String>,
    /// Maximum age or clock skew of a signature, or `any` [default: 5m]
    #[arg(long, value_name = "DURATION")]
    tolerance: Option<String>,
    /// Accept every delivery without verification
    #[arg(long, conflicts_with_all = ["secret_file", "tolerance"])]
    insecure_no_verify: bool,
}

pub(super) async fn run(args: Args, context: &Context) -> Result<(), Fail> {
    let mut flags = Flags::default();
    let tolerance = secrets::parse_tolerance(args.tolerance.as_deref(), &mut flags);
    let tolerant = |verifier| tolerance.into_iter().fold(verifier, WebhookVerifier::tolerance);
    let (receiver, public_url) = plan(&args, flags, context)?;
    // Signal handlers are installed before anything that needs a cleanup.
    let mut signals = Signals::listen()?;
    let listener = TcpListener::bind(("127.0.0.1", args.port)).await;
    let bound = listener.and_then(|listener| Ok((listener.local_addr()?, listener)));
    let (address, listener) = bound.map_err(|error| {
        Fail::local(format!("couldn't listen on port {}", args.port), error)
            .hint("choose another with --port N, or any free port with --port 0")
    })?;
    let here = format!("http://{address}");
    if !args.needs_webhook() {
        let receiver = Receiver { verifier: receiver.verifier.map(tolerant), ..receiver };
        announce(context, &format!("{here}{}", receiver.path), None, &receiver.events, false)?;
        return serve(listener, receiver, &mut signals, context).await;
    }
    let registration =
        Registration::create(context, public_url.as_ref(), &here, &receiver.events, &mut signals).await?;
    let result = async {
        // The service sent an unusable secret, so there is nothing to correct.
        let verifier = WebhookVerifier::new(&registration.secret)
            .map_err(|error| Fail::local("the service returned no usable signing secret", error))?;
        if let Some(path) = &args.write_secret {
            let written = files::write(path, format!("{}\n", registration.secret.expose()).as_bytes());
            written.map_err(|error| Fail::local(format!("couldn't write {}", path.display()), error))?;
        }
        let path = registration.path.clone();
        let url = format!("{here}{path}");
        announce(context, &url, Some(&registration), &receiver.events, args.print_secret)?;
        let receiver = Receiver { path, verifier: Some(tolerant(verifier)), ..receiver };
        serve(listener, receiver, &mut signals, context).await
    }
    .await;
    let removed = registration.remove(context, &mut signals).await;
    result.and(removed)
}

/// Prints where deliveries are received.
fn announce(
    context: &Context,
    url: &str,
    registration: Option<&Registration>,
    events: &BTreeSet<String>,
    print_secret: bool,
) -> Result<(), Fail> {
    let secret = registration.filter(|_| print_secret).map(|made| made.secret.expose());
    if let Some(secret) = secret.filter(|_| !context.out.is_json() || context.out.filters()) {
        if context.out.messages_are_json {
            write_stderr_secret(&json!({ "signing_secret": secret }));
        } else {
            write_stderr(&format!("signing secret: {}\n", escape_line(secret)));
        }
    }
    let line = match registration {
        None => format!("listening on {url}"),
        Some(made) if made.sandboxed => format!("listening on {url} as webhook {}", made.id),
        Some(made) => format!("listening on {url} as webhook {}, public URL {}", made.id, made.endpoint),
    };
    if context.out.filters() {
        // This isn't a delivery, so --jq and fields don't apply.
        context.out.note(&line);
        return Ok(());
    }
    let mut document = json!({
        "object": "webhook_listener",
        "url": url,
        "endpoint": registration.map(|made| &made.endpoint),
        "webhook_id": registration.map(|made| &made.id),
        "events": events,
    });
    if let Some(secret) = secret {
        document["signing_secret"] = secret.into();
    }
    context.out.item(&line, &document)
}

/// Receives and prints deliveries until a signal arrives or standard output is closed.
async fn serve(
    listener: TcpListener,
    receiver: Receiver,
    signals: &mut Signals,
    context: &Context,
) -> Result<(), Fail> {
    let (records, mut record) = mpsc::channel::<receiver::Unprinted>(QUEUE_LENGTH);
    let receiver = Arc::new(receiver);
    let (stopping, stopped) = tokio::sync::watch::channel(false);
    let mut writer = Writer::start();
    let zone = TimeZone::system();
    // --jq applies to verified deliveries only; a failing filter doesn't stop the listener.
    let show = |one: &delivery_record::DeliveryRecord| {
        if one.id.is_none() && context.out.filters() {
            context.out.warn(&one.line(&zone));
            return None;
        }
        context
            .out
            .item_text(&one.line(&zone), &one.document())
            .inspect_err(|fail| context.out.warn(&report::message(fail)))
            .ok()
    };
    // Dropping it, once the line is written, acknowledges the delivery.
    let mut printing = None;
    loop {
        tokio::select! {
            _ = signals.next() => break,
            unread = sleep_while_read(Duration::MAX) => unread?,
            Some((one, acknowledge)) = record.recv(), if !writer.is_busy => if let Some(text) = show(&one) {
                writer.write(text);
                printing = Some(acknowledge);
            },
            written = writer.wait_written() => {
                written?;
                printing = None;
            }
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    let (receiver, records) = (Arc::clone(&receiver), records.clone());
                    tokio::spawn(receiver::connection(stream, receiver, records, stopped.clone()));
                }
                // Out of file descriptors, or a connection closed before it was accepted: both are temporary.
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            },
        }
    }
    drop((listener, records, stopped));
    let _ = stopping.send(true);
    // Also prints deliveries in progress: the channel closes with the last connection.
    let rest = async {
        loop {
            if writer.is_busy {
                writer.wait_written().await?;
            }
            printing = None;
            let Some((one, acknowledge)) = record.recv().await else { return Ok(()) };
            if let Some(text) = show(&one) {
                writer.write(text);
                printing = Some(acknowledge);
            }
        }
    };
    tokio::time::timeout(GRACE, rest).await.unwrap_or(Ok(()))
}

impl Args {
    /// Whether the listener creates a webhook.
    fn needs_webhook(&self) -> bool {
        self.secret_file.is_empty() && !self.insecure_no_verify
    }
}

/// Validates the flags. Returns the receiver, without what a new webhook determines, and the URL for that webhook.
fn plan(args: &Args, mut flags: Flags, context: &Context) -> Result<(Receiver, Option<Url>), Fail> {
    let Args { secret_file, path, public_url, event, forward_to, write_secret, .. } = args;
    flags.help("idempost webhooks listen --public-url https://abc.tunnel.test");
    let verifier = secrets::read(secret_file, &mut context.stdin(), &mut flags);
    let own = args.needs_webhook();
    if let Some(path) = path {
        if own {
            let rule = "--path can't be used with a new webhook, which has its own path";
            flags.reject("exclusive", rule, "--path", path);
        } else if !path.starts_with('/') || path.contains(['?', '#', ' ']) {
            flags.reject("url", "a path must start with `/` and have no query", "--path", path);
        }
    }
    let shared =
        |path: &Path| path.is_file() && paths::permission_bits(path).is_some_and(|mode| mode & 0o077 != 0);
    if let Some(path) = write_secret.as_ref().filter(|path| shared(path)) {
        let rule = "other users can read this file; run chmod 600 on it";
        flags.reject("file", rule, "--write-secret", &path.to_string_lossy());
    }
    let public_url = public_url.as_ref().and_then(|text| address("--public-url", text, &mut flags));
    let forward_to = forward_to.as_ref().and_then(|text| address("--forward-to", text, &mut flags));
    for (i, kind) in event.iter().enumerate() {
        if kind.trim().is_empty() {
            flags.reject_nth("empty", "an event type must not be empty", "--event", i + 1, kind);
        }
    }
    let sandboxed = if own && public_url.is_none() { context.is_sandboxed() } else { Ok(true) };
    if matches!(sandboxed, Ok(false)) {
        flags.add_missing(
            "--public-url or --secret-file: without them, only a sandbox on this machine can reach the listener",
        );
    }
    flags.finish()?;
    sandboxed?;
    let all = event.iter().any(|kind| kind.trim() == ALL);
    let events = match (own, event.is_empty()) {
        (true, true) => registration::default_types(public_url.is_some()),
        (true, false) if all => registration::default_types(false),
        (false, _) if all => BTreeSet::new(),
        _ => event.iter().map(|kind| kind.trim().to_owned()).collect(),
    };
    let forward = forward_to.map(Forward::new).transpose()?;
    let path = path.clone().unwrap_or_else(|| "/".to_owned());
    Ok((Receiver { path, verifier, events, forward }, public_url))
}

fn address(flag: &str, text: &str, flags: &mut Flags) -> Option<Url> {
    let url = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    flags.accept(url, "url", "the URL must be an absolute http or https URL", flag, text)
}
