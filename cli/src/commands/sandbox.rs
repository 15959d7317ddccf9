//! `sandbox`: the whole service on this machine; emails are captured instead of delivered.

use std::path::PathBuf;
use std::time::Duration;

use http::{Method, StatusCode};
use idempost::{Call, Client, ClientBuilder};
use idempost_sandbox::{Compat, Settings};
use secrecy::ExposeSecret as _;
use serde_json::Value;

use crate::actions::confirm::confirm_as;
use crate::context::{Context, Identity};
use crate::diagnostics::{Fail, Origin};
use crate::input::size::parse_size;
use crate::output::report::with_cause;
use crate::rows::prelude::*;
use crate::settings::Source;
use crate::settings::{Credential, keys};

mod assignment;
mod check;
mod clock;
mod env;
mod export;
mod fail;
mod forward;
mod inbox;
mod receive;
mod relay;
mod reset;
mod run;
mod serve;
mod server;
mod trigger;
mod wait;

/// The default port.
const PORT: u16 = 4010;
/// Minimum of `--max-memory`: emails with attachments must fit into their share of it.
const MIN_MEMORY: usize = 16 << 20;
/// The default API key; every key with the prefix `sb_` is a separate account.
const KEY: &str = "sb_local";
/// The variable with the URL of a sandbox on another machine.
const REMOTE: &str = "IDEMPOST_SANDBOX_URL";
/// The variable with the password of a sandbox.
const PASSWORD: &str = "IDEMPOST_SANDBOX_AUTH";
/// The variable from which all of Resend's clients read the API key.
const VENDOR_API_KEY: &str = "RESEND_API_KEY";

/// The variables from which Resend's clients read the base URL: the first for Node.js, Go, PHP, Ruby and Rust, the second for Python. Ruby's
/// client appends a path without a slash to the first.
fn vendor_base_urls(base_url: &str) -> [(&'static str, String); 2] {
    [("RESEND_BASE_URL", format!("{base_url}/")), ("RESEND_API_URL", base_url.to_owned())]
}

noun!(Sandbox, "Run the whole service on this machine; emails are captured, never delivered", VERBS);

const VERBS: &[Verb] = &[
    Verb::custom("serve", &own(serve::run)).is(&[
        Property::HandlesSignals,
        Property::Concurrent,
        Property::Local,
    ]),
    Verb::custom("run", &own(run::run)).is(&[Property::HandlesSignals]),
    Verb::custom("wait", &own(wait::run)),
    Verb::custom("env", &Direct(env::run)),
    Verb::noun::<inbox::Inbox>("inbox"),
    Verb::custom("check", &own(check::run)),
    Verb::custom("receive", &own(receive::run)),
    Verb::custom("trigger", &own(trigger::run)),
    Verb::custom("fail", &own(fail::run)),
    Verb::custom("clock", &own(clock::run)),
    Verb::custom("export", &own(export::run)),
    Verb::custom("reset", &own(reset::run)),
];

/// The behavior of the service, for `serve` and `run`.
#[derive(Debug, Clone, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "these are command-line flags")]
pub(crate) struct ServerArgs {
    /// Rate limit in requests per second for each key; requests above it get 429 [default: no limit]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    rate_limit: Option<u32>,
    /// Emails per day (UTC) and key; sends beyond it get 429 daily_quota_exceeded [default: no quota]
    ///
    /// Each address in to, cc and bcc of an accepted email counts, as does each received email. Emails of broadcasts don't count. The clock
    /// of the sandbox decides when a day ends.
    #[arg(long, value_name = "N")]
    daily_quota: Option<u64>,
    /// Emails per month (UTC) and key; sends beyond it get 429 monthly_quota_exceeded [default: no quota]
    #[arg(long, value_name = "N", hide_short_help = true)]
    monthly_quota: Option<u64>,
    /// Behavior where the specification and Resend differ: spec or live
    ///
    /// With live, emails of a batch can have `scheduled_at`, and empty values that some clients send for unset fields are ignored.
    #[arg(long, value_name = "WHICH", default_value = "spec", value_parser = ["spec", "live"], hide_possible_values = true, hide_short_help = true)]
    compat: String,
    /// Reject senders with an unverified domain
    #[arg(long)]
    strict_domains: bool,
    /// Enable beta operations: inboxes
    #[arg(long)]
    beta: bool,
    /// Reject attachments given as a `path` instead of fetching them, and requests for the remote images and links of an email
    #[arg(long, hide_short_help = true)]
    no_fetch: bool,
    /// Number of emails to retain; beyond it, the oldest of the account with the most emails are evicted
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    keep: usize,
    /// Number of accounts to retain, one per API key; beyond it, the least recently used account is deleted with all its data, and a warning names it
    ///
    /// Read requests don't create accounts. Accounts without data are deleted first, without a warning.
    #[arg(long, value_name = "N", default_value_t = 1_000, value_parser = parse_account_limit, hide_short_help = true)]
    keep_accounts: usize,
    /// Maximum age of captured and received emails, such as 24h, by the account's clock; older ones are deleted [default: no maximum]
    ///
    /// Moving the clock forward also deletes them. The API still returns sent emails.
    #[arg(long, value_name = "DURATION", value_parser = parse_keep_for, hide_short_help = true)]
    keep_for: Option<Duration>,
    /// Maximum memory for retained data: 512MiB, 2GB, or a number of bytes from 16MiB
    ///
    /// Emails get 4/16 of the memory; contacts, templates and other records 4/16; webhook events 2/16; emails waiting for hosted attachments, loaded
    /// remote images, requests, the log, idempotency keys and logins 1/16 each. The oldest emails, events and log entries of the largest account are
    /// evicted first;
    /// records beyond their share are rejected. A request body may use 1/8 of it. Requests, responses and SMTP messages in flight may
    /// take another 3/16; the program itself and its connections need additional memory.
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = max_memory)]
    max_memory: usize,
    /// Base URL for links in responses, if clients reach the sandbox at another URL
    #[arg(long, value_name = "URL", hide_short_help = true, value_parser = public_url)]
    public_url: Option<String>,
    /// Serve SMTP on this port; 0 picks any free port
    ///
    /// The AUTH password is an API key. Mail from the user resend, or any other user, is sent as if through the API; mail from the user inbound is
    /// received by the key's account, and mail without AUTH by sb_local.
    #[arg(long, value_name = "N")]
    smtp_port: Option<u16>,
    /// Serve SMTP over TLS on this port, with a self-signed certificate per run; 0 picks any free port
    #[arg(long, value_name = "N", hide_short_help = true)]
    smtp_tls_port: Option<u16>,
    /// Offer STARTTLS on --smtp-port; this is the default only on addresses other than loopback and with --smtp-cert
    ///
    /// Many clients use STARTTLS whenever it is offered, and then reject a self-signed certificate.
    #[arg(long, requires = "smtp_port", hide_short_help = true)]
    smtp_starttls: bool,
    /// Certificate for SMTP, with its chain, instead of a self-signed one; PEM
    #[arg(long, value_name = "FILE", requires = "smtp_key", hide_short_help = true)]
    smtp_cert: Option<PathBuf>,
    /// Private key of --smtp-cert; PEM
    #[arg(long, value_name = "FILE", requires = "smtp_cert", hide_short_help = true)]
    smtp_key: Option<PathBuf>,
    #[command(flatten)]
    relay: relay::RelayArgs,
    /// Persist state in this folder and resume from it at the next start; without it, state is lost on exit
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
}

/// Parses `--max-memory`.
fn max_memory(text: &str) -> Result<usize, String> {
    let bytes = parse_size(text).and_then(|bytes| usize::try_from(bytes).ok());
    bytes.filter(|bytes| *bytes >= MIN_MEMORY).ok_or_else(|| {
        "must be a size of at least 16MiB, optionally with a unit such as MB or MiB".to_owned()
    })
}

/// Validates `--public-url`.
fn public_url(text: &str) -> Result<String, String> {
    keys::http_url(text).map(|_| text.to_owned())
}

/// Parses `--keep-accounts`.
fn parse_account_limit(text: &str) -> Result<usize, String> {
    text.parse()
        .ok()
        .filter(|number| *number > 0)
        .ok_or_else(|| "must be a whole number of at least 1".to_owned())
}

/// Parses `--keep-for`, which also accepts days.
fn parse_keep_for(text: &str) -> Result<Duration, String> {
    let days = || {
        let span = text.parse::<jiff::Span>().ok()?;
        let age = span.to_duration(jiff::SpanRelativeTo::days_are_24_hours()).ok()?;
        age.try_into().ok().filter(|age: &Duration| !age.is_zero())
    };
    keys::parse_duration(text)
        .ok()
        .or_else(days)
        .ok_or_else(|| "must be a duration above zero, such as 24h or 7 days".to_owned())
}

impl ServerArgs {
    fn settings(&self) -> Settings {
        Settings {
            rate_limit: self.rate_limit,
            daily_quota: self.daily_quota,
            monthly_quota: self.monthly_quota,
            compat: if self.compat == "live" { Compat::Live } else { Compat::Specification },
            strict_domains: self.strict_domains,
            beta: self.beta,
            fetch_attachments: !self.no_fetch,
            fetch_remote: !self.no_fetch,
            keep_mails: self.keep,
            keep_for: self.keep_for,
            keep_tenants: self.keep_accounts,
            max_memory: self.max_memory,
            // Limited by the emails' share of the memory, however large that is.
            keep_mail_bytes: usize::MAX,
            public_url: self.public_url.clone(),
            ..Settings::default()
        }
    }
}

/// A client for the running sandbox: at [`REMOTE`], at the configured base URL, or at the default port.
///
/// The base URL must be a loopback address, since the real service must not receive these requests. A sandbox on another machine has its own
/// variable, and gets only sandbox keys.
fn client(context: &Context) -> Result<Client, Fail> {
    connect(context, context.builder()?, api_key_or_default(context)?)
}

/// Like [`client`], for requests that affect all accounts: at [`REMOTE`], they need the password itself.
fn control_client(context: &Context) -> Result<Client, Fail> {
    let key = match remote_password(context) {
        Some(password) => format!("sb_{password}"),
        None => api_key_or_default(context)?,
    };
    connect(context, context.builder()?, key)
}

/// The password of the sandbox at [`REMOTE`].
fn remote_password(context: &Context) -> Option<&str> {
    context.env.get(REMOTE).and_then(|_| context.env.get(PASSWORD))
}

/// The configured API key if it is a sandbox key, otherwise the default one: a live key must not leak. At [`REMOTE`] it must contain the
/// password, if any, and the default key is the first account's.
fn api_key_or_default(context: &Context) -> Result<String, Fail> {
    let configured = match context.credential()?.map(|credential| &credential.value) {
        Some(Credential::ApiKey(key)) => Some(key.expose_secret()).filter(|key| key.starts_with("sb_")),
        _ => None,
    };
    let password = remote_password(context);
    let first = password.map_or_else(|| KEY.to_owned(), |password| format!("sb_{password}"));
    let fits = |key: &&str| {
        let rest = key.strip_prefix(&*first);
        password.is_none() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
    };
    Ok(configured.filter(fits).map_or_else(|| first.clone(), str::to_owned))
}

/// Like [`client`], for a command that waits: `--timeout` limits the whole wait, not each request.
fn client_without_timeout(context: &Context) -> Result<Client, Fail> {
    connect(context, context.builder()?.timeout(Duration::MAX), api_key_or_default(context)?)
}

/// `remote_key` is the API key for a sandbox at [`REMOTE`].
fn connect(context: &Context, builder: ClientBuilder, remote_key: String) -> Result<Client, Fail> {
    if let Some(url) = context.env.get(REMOTE) {
        let url = keys::http_url(url)
            .map_err(|rule| Fail::usage("type", format!("the URL {rule}"), Some(Origin::env(REMOTE))))?;
        return Ok(builder.base_url(url.as_str()).allow_plain_http().api_key(remote_key).build()?);
    }
    let settings = context.settings()?;
    let builder = match &settings.base_url {
        None => builder.base_url(format!("http://127.0.0.1:{PORT}")),
        Some(set) if keys::is_loopback(&set.value) => builder.base_url(set.value.as_str()),
        Some(set) => {
            let rule = format!(
                "{} isn't a loopback address; for a sandbox on another machine, set {REMOTE}",
                set.value
            );
            let origin = match &set.source {
                Source::Env(name) => Some(Origin::env(name)),
                _ => None,
            };
            let hint = format!("idempost --base-url http://127.0.0.1:{PORT} sandbox …");
            return Err(Fail::usage("sandbox", rule, origin).hint(hint));
        }
    };
    let builder = match context.credential()?.map(|credential| &credential.value) {
        Some(Credential::ApiKey(key)) => builder.api_key(key.expose_secret()),
        Some(Credential::AccessToken(token)) => builder.access_token(token.expose_secret()),
        None => {
            let stored = context.stored_key()?;
            builder.api_key(stored.as_ref().map_or(KEY, |key| key.expose_secret()))
        }
    };
    Ok(builder.build()?)
}

/// Asks before data on disk is deleted.
async fn confirm_disk_deletion(client: &Client, question: &str, context: &Context) -> Result<(), Fail> {
    let ready = client.request(Method::GET, "/_/ready").await.map_err(unreachable_failure)?;
    if ready["keeps"] == true {
        confirm_as(&Identity::for_sandbox(client.base_url()), question, context).await?;
    }
    Ok(())
}

/// Requests a captured email, or else a received one.
async fn captured_or_received(call: impl Fn(&str) -> Call<Value>) -> Result<Value, Fail> {
    match call("messages").await {
        Err(error) if error.status() == Some(StatusCode::NOT_FOUND) => call("received").await,
        answered => answered,
    }
    .map_err(unreachable_failure)
}

/// The error for a sandbox that can't be reached.
fn unreachable_failure(error: idempost::Error) -> Fail {
    if let idempost::Error::Unreachable(lost) = &error {
        let failure = &lost.transport;
        let why = with_cause(&failure.to_string(), failure);
        return Fail::unavailable(format!("couldn't reach the sandbox: {why}"))
            .hint("start one: idempost sandbox serve, or idempost sandbox run -- COMMAND");
    }
    Fail::Sdk(error)
}

#[cfg(test)]
mod tests {
    use clap::{Args as _, FromArgMatches as _};

    use super::*;

    #[test]
    fn emails_may_use_their_share_of_any_amount_of_memory() {
        let command = ServerArgs::augment_args(clap::Command::new("serve"));
        let matches = command.get_matches_from(["serve", "--max-memory", "64GiB"]);
        let settings = ServerArgs::from_arg_matches(&matches).unwrap().settings();
        assert!(settings.keep_mail_bytes >= settings.max_memory / 4);
    }
}
