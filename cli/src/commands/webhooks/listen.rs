//! `webhooks listen`: a receiver on this machine, until somebody stops it.

mod forward;
mod receiver;
mod registration;
mod told;
mod writer;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use jiff::tz::TimeZone;
use posthaste::WebhookVerifier;
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
use crate::output::terminal::safe;
use crate::output::{report, write_stderr, write_stderr_json};
use crate::settings::paths;
use crate::signals::Signals;

/// How many deliveries may wait to be shown.
const WAITING: usize = 256;
/// How long deliveries that are being handled may take when the program is stopped.
const FAREWELL: Duration = Duration::from_secs(2);

/// Receive deliveries on this machine until Ctrl-C, verify each, and pass it on
///
/// With --secret-file it takes the deliveries of a webhook that is there already. Without, it makes a webhook of its own and deletes it again,
/// however it ends: at a sandbox on this machine by itself, at the service with --public-url, the address of a tunnel that leads here.
///
/// A delivery that is not signed rightly is refused (401) and shown. With --forward-to, those that are go on to an application with their
/// headers and their body as they came, and its answer goes back: 502 if it can't be reached, 504 if it takes longer than 14 seconds.
/// Only this machine can connect. Stopping it is how it ends: the exit code is then 0.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    posthaste webhooks listen --forward-to http://localhost:3000/hooks --write-secret hooks.secret\n  \
    posthaste webhooks listen --public-url https://abc.tunnel.test --event email.bounced,email.complained\n  \
    posthaste webhooks listen --port 4020 --secret-file hooks.secret --jq '.payload.data.email_id'")]
pub(crate) struct Args {
    /// Port on 127.0.0.1; 0 is any that is free
    #[arg(long, value_name = "N", default_value_t = 0)]
    port: u16,
    /// File with the signing secret of a webhook that is there already, - for standard input; repeat it while a secret is rotated
    #[arg(long, value_name = "PATH")]
    secret_file: Vec<String>,
    /// Path on which deliveries arrive; with --secret-file [default: /]
    #[arg(long, value_name = "PATH")]
    path: Option<String>,
    /// Address that leads here from outside, for a webhook of its own
    #[arg(long, value_name = "URL", conflicts_with_all = ["secret_file", "insecure_no_verify"])]
    public_url: Option<String>,
    /// Show the signing secret of the webhook that it makes
    #[arg(long, conflicts_with_all = ["secret_file", "insecure_no_verify"])]
    print_secret: bool,
    /// Write that secret to a file (0600), for an application that verifies what is forwarded
    #[arg(long, value_name = "PATH", conflicts_with_all = ["secret_file", "insecure_no_verify"])]
    write_secret: Option<PathBuf>,
    /// Types of events, with commas or repeated, or all; others are answered 204 and not shown
    #[arg(long, visible_alias = "events", value_name = "TYPE", value_delimiter = ',', value_parser = EVENT_TYPES, hide_possible_values = true)]
    event: Vec<String>,
    /// Address of an application that gets every verified delivery
    #[arg(long, value_name = "URL")]
    forward_to: Option<String>,
    /// How long ago a delivery may have been signed, or how far ahead, or `any` [default: 5m]
    #[arg(long, value_name = "DURATION")]
    tolerance: Option<String>,
    /// Take every delivery, whoever has sent it
    #[arg(long, conflicts_with_all = ["secret_file", "tolerance"])]
    insecure_no_verify: bool,
}

/// What the flags come to.
struct Plan {
    /// None for a webhook of its own.
    verifier: Option<WebhookVerifier>,
    insecure: bool,
    tolerance: Option<Duration>,
    path: String,
    public_url: Option<Url>,
    events: BTreeSet<String>,
    forward: Option<Forward>,
}

pub(super) async fn run(args: Args, context: &Context) -> Result<(), Fail> {
    let (port, print_secret, write_secret) = (args.port, args.print_secret, args.write_secret.clone());
    let plan = plan(args, context)?;
    // Signals are listened for before there is anything to take back.
    let mut signals = Signals::listen()?;
    let listener = TcpListener::bind(("127.0.0.1", port)).await;
    let bound = listener.and_then(|listener| Ok((listener.local_addr()?, listener)));
    let (address, listener) = bound.map_err(|error| Fail::Local {
        message: format!("port {port} of this machine cannot be used"),
        source: Some(Box::new(error)),
        hint: Some("choose another with --port N, or any with --port 0".to_owned()),
    })?;
    let here = format!("http://{address}");
    let Plan { verifier, insecure, tolerance, path, public_url, events, forward } = plan;
    if verifier.is_some() || insecure {
        let verifier = verifier.map(|verifier| match tolerance {
            Some(tolerance) => verifier.tolerance(tolerance),
            None => verifier,
        });
        announce(context, &format!("{here}{path}"), None, &events, false)?;
        let receiver = Receiver { path, verifier, events, forward };
        return serve(listener, receiver, &mut signals, context).await;
    }
    let registration = Registration::make(context, public_url.as_ref(), &here, &events, &mut signals).await?;
    let result = async {
        // A secret that can't be read has come from the service: nothing to repair here.
        let verifier = WebhookVerifier::new(&registration.secret)
            .map_err(|error| Fail::local("the service told no signing secret", error))?;
        let verifier = match tolerance {
            Some(tolerance) => verifier.tolerance(tolerance),
            None => verifier,
        };
        if let Some(path) = &write_secret {
            let written = files::write(path, format!("{}\n", registration.secret.expose()).as_bytes());
            written.map_err(|error| Fail::local(format!("{} can't be written", path.display()), error))?;
        }
        announce(
            context,
            &format!("{here}{}", registration.path),
            Some(&registration),
            &events,
            print_secret,
        )?;
        let path = registration.path.clone();
        let receiver = Receiver { path, verifier: Some(verifier), events, forward };
        serve(listener, receiver, &mut signals, context).await
    }
    .await;
    let removed = registration.remove(context, &mut signals).await;
    result.and(removed)
}

/// Says where deliveries are taken.
fn announce(
    context: &Context,
    url: &str,
    registration: Option<&Registration>,
    events: &BTreeSet<String>,
    print_secret: bool,
) -> Result<(), Fail> {
    let secret = registration.filter(|_| print_secret).map(|made| made.secret.expose());
    if let Some(secret) = secret.filter(|_| !context.out.is_json() || context.out.filters()) {
        if context.out.says_json() {
            write_stderr_json(&json!({ "signing_secret": secret }));
        } else {
            write_stderr(&format!("signing secret: {}\n", safe(secret)));
        }
    }
    let line = match registration {
        None => format!("listening on {url}"),
        Some(made) if made.sandboxed => format!("listening on {url} as webhook {}", made.id),
        Some(made) => format!("listening on {url} as webhook {}, from outside {}", made.id, made.endpoint),
    };
    if context.out.filters() {
        // What is picked out of deliveries is not in this.
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

/// Takes deliveries and shows them, until a signal comes or nobody reads any more.
async fn serve(
    listener: TcpListener,
    receiver: Receiver,
    signals: &mut Signals,
    context: &Context,
) -> Result<(), Fail> {
    let (telling, mut told) = mpsc::channel::<told::Told>(WAITING);
    let receiver = Arc::new(receiver);
    let (stopping, stopped) = tokio::sync::watch::channel(false);
    let mut writer = Writer::start();
    let zone = TimeZone::system();
    // A filter is for deliveries: what a stranger sends is refused and never reaches it, and one delivery that it fails on ends nothing.
    let show = |one: &told::Told| {
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
    loop {
        tokio::select! {
            _ = signals.next() => break,
            Some(one) = told.recv(), if !writer.is_busy => if let Some(text) = show(&one) { writer.write(text) },
            written = writer.written() => written?,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    let (receiver, telling) = (Arc::clone(&receiver), telling.clone());
                    tokio::spawn(receiver::connection(stream, receiver, telling, stopped.clone()));
                }
                // Out of file descriptors, or a connection that was gone before it was taken: both pass.
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            },
        }
    }
    drop((listener, telling, stopped));
    let _ = stopping.send(true);
    // What is being handled is shown, too: the channel ends with the last connection.
    let rest = async {
        loop {
            if writer.is_busy {
                writer.written().await?;
            }
            let Some(one) = told.recv().await else { return Ok(()) };
            if let Some(text) = show(&one) {
                writer.write(text);
            }
        }
    };
    tokio::time::timeout(FAREWELL, rest).await.unwrap_or(Ok(()))
}

fn plan(args: Args, context: &Context) -> Result<Plan, Fail> {
    let Args {
        secret_file,
        path,
        public_url,
        event,
        forward_to,
        tolerance,
        insecure_no_verify,
        write_secret,
        ..
    } = args;
    let mut flags = Flags::default();
    flags.help("posthaste webhooks listen --public-url https://abc.tunnel.test");
    let mut stdin = context.stdin();
    let verifier = secrets::read(&secret_file, &mut stdin, &mut flags);
    let tolerance = secrets::tolerance(tolerance.as_deref(), &mut flags);
    let own = secret_file.is_empty() && !insecure_no_verify;
    if let Some(path) = &path {
        if own {
            let rule = "a webhook of its own has a path of its own; leave --path out";
            flags.wrong("exclusive", rule, "--path", path);
        } else if !path.starts_with('/') || path.contains(['?', '#', ' ']) {
            flags.wrong("url", "a path begins with `/` and has no query", "--path", path);
        }
    }
    let shared = |path: &PathBuf| path.is_file() && paths::mode(path).is_some_and(|mode| mode & 0o077 != 0);
    if let Some(path) = write_secret.filter(shared) {
        let rule = "others can read this file; make it yours with chmod 600";
        flags.wrong("file", rule, "--write-secret", &path.to_string_lossy());
    }
    let public_url = public_url.and_then(|text| address("--public-url", &text, &mut flags));
    let forward_to = forward_to.and_then(|text| address("--forward-to", &text, &mut flags));
    for (i, kind) in event.iter().enumerate() {
        if kind.trim().is_empty() {
            flags.wrong_nth("empty", "a type of event has a name", "--event", i + 1, kind);
        }
    }
    let sandboxed = if own && public_url.is_none() { context.is_sandboxed() } else { Ok(true) };
    if matches!(sandboxed, Ok(false)) {
        flags.missing("--public-url, or --secret-file: only a sandbox on this machine reaches it by itself");
    }
    flags.finish()?;
    sandboxed?;
    let all = event.iter().any(|kind| kind.trim() == ALL);
    let events = match (own, event.is_empty()) {
        (true, true) => registration::usual(public_url.is_some()),
        (true, false) if all => registration::usual(false),
        (false, _) if all => BTreeSet::new(),
        _ => event.into_iter().map(|kind| kind.trim().to_owned()).collect(),
    };
    let forward = forward_to.map(Forward::to).transpose()?;
    Ok(Plan {
        verifier,
        insecure: insecure_no_verify,
        tolerance,
        path: path.unwrap_or_else(|| "/".to_owned()),
        public_url,
        events,
        forward,
    })
}

fn address(flag: &str, text: &str, flags: &mut Flags) -> Option<Url> {
    let url = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    if url.is_none() {
        flags.wrong("url", "this is an absolute http or https address", flag, text);
    }
    url
}
