//! `sandbox`: the whole service on this machine, where emails go nowhere.

use std::path::PathBuf;
use std::time::Duration;

use clap::Subcommand;
use posthaste::{Client, ClientBuilder};
use posthaste_reference_server::Settings;
use secrecy::ExposeSecret as _;

use crate::context::Context;
use crate::diagnostics::{Fail, Origin, Problem, Report};
use crate::input::size::size;
use crate::output::report::lost_by;
use crate::settings::Source;
use crate::settings::{Credential, keys};

mod clock;
mod export;
mod fail;
mod forward;
mod house;
mod inbox;
mod receive;
mod reset;
mod run;
mod serve;
mod trigger;
mod wait;

/// The port that is used where nobody names one.
const PORT: u16 = 4010;
/// The least `--max-memory`: emails with attachments need a share of it that they fit into.
const MIN_MEMORY: usize = 16 << 20;
/// The key that is used where nobody names one; any key that begins with `sb_` is a tenant of its own.
const KEY: &str = "sb_local";

/// The whole service on this machine: emails are accepted, shown, and go nowhere
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    Serve(serve::Args),
    Run(run::Args),
    Wait(wait::Args),
    #[command(subcommand)]
    Inbox(inbox::Command),
    Receive(receive::Args),
    Trigger(trigger::Args),
    Fail(fail::Args),
    Clock(clock::Args),
    Export(export::Args),
    Reset(reset::Args),
}

/// How the service behaves, for `serve` and `run`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Behaviour {
    /// Requests a second for each key; more are answered 429. Off unless given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    rate_limit: Option<u32>,
    /// Refuse senders whose domain has not been verified
    #[arg(long)]
    strict_domains: bool,
    /// Refuse attachments that are given as a `path`, instead of fetching them from any http or https address, this machine's included
    #[arg(long)]
    no_fetch: bool,
    /// How many emails are remembered; the oldest go first
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    keep: usize,
    /// Maximum memory for everything that is remembered: 512MiB, 2GB, or a number of bytes from 16MiB
    ///
    /// Emails have 4/16 of it; contacts, templates and other records 4/16; webhook events 2/16; emails that wait for hosted attachments 2/16; the
    /// requests, the log, idempotency keys and logins 1/16 each. The oldest emails, events and log entries go first; records beyond their share are refused. A
    /// request body has at most 1/8 of it. The program itself, its connections and requests in flight come on top.
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = max_memory)]
    max_memory: usize,
    /// Address for the links that the sandbox hands out, where it is reached by another name
    #[arg(long, value_name = "URL")]
    public_url: Option<String>,
    /// Serve SMTP with STARTTLS on this port of 127.0.0.1; 0 is any that is free
    ///
    /// The password of AUTH is an API key. With the user resend, or any other, a mail is sent as by the API; with the user inbound it is
    /// received by the account of the key, and without AUTH by sb_local.
    #[arg(long, value_name = "N")]
    smtp_port: Option<u16>,
    /// Serve SMTP over TLS on this port of 127.0.0.1, with a self-signed certificate of the run; 0 is any that is free
    #[arg(long, value_name = "N")]
    smtp_tls_port: Option<u16>,
    /// Send every captured email on to a real SMTP server: smtp://USER:PASSWORD@HOST:PORT?tls=required, or smtps://…
    ///
    /// Others can read a command line; say an address with a password in the variable.
    #[arg(long, value_name = "URL", env = "POSTHASTE_SANDBOX_FORWARD", hide_env_values = true)]
    smtp: Option<String>,
    /// Keep everything in this folder, and go on from there at the next start; without it all is forgotten at the end
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
}

/// Reads `--max-memory`.
fn max_memory(text: &str) -> Result<usize, String> {
    let bytes = size(text).and_then(|bytes| usize::try_from(bytes).ok());
    bytes.filter(|bytes| *bytes >= MIN_MEMORY).ok_or_else(|| {
        "it must be a number of bytes from 16MiB, with a unit such as MB or MiB if need be".to_owned()
    })
}

impl Behaviour {
    fn settings(&self) -> Settings {
        Settings {
            rate_limit: self.rate_limit,
            strict_domains: self.strict_domains,
            fetch_attachments: !self.no_fetch,
            keep_mails: self.keep,
            max_memory: self.max_memory,
            public_url: self.public_url.clone(),
            ..Settings::default()
        }
    }
}

impl Command {
    /// Whether it decides itself what a signal means.
    pub(crate) fn handles_signals(&self) -> bool {
        matches!(self, Self::Serve(_) | Self::Run(_))
    }

    /// Whether it answers requests in parallel.
    pub(crate) fn serves(&self) -> bool {
        matches!(self, Self::Serve(_))
    }
}

/// Runs one of them.
pub(crate) async fn run(command: Command, context: &Context) -> Result<(), Fail> {
    match command {
        Command::Serve(args) => serve::run(&args, context).await,
        Command::Run(args) => run::run(&args, context).await,
        Command::Wait(args) => wait::run(&args, context).await,
        Command::Inbox(command) => inbox::run(command, context).await,
        Command::Receive(args) => receive::run(&args, context).await,
        Command::Trigger(args) => trigger::run(&args, context).await,
        Command::Fail(args) => fail::run(&args, context).await,
        Command::Clock(args) => clock::run(&args, context).await,
        Command::Export(args) => export::run(&args, context).await,
        Command::Reset(args) => reset::run(&args, context).await,
    }
}

/// A client for the sandbox that runs: at the address that is set, or where `serve` is by default.
///
/// Only this machine is asked. The address may be that of the service itself, whose key must not be shown around and
/// which knows nothing of these routes.
fn client(context: &Context) -> Result<Client, Fail> {
    connect(context, Context::builder(context.settings()?))
}

/// The same for a command that waits: `--timeout` is the limit of its wait, and no call may end at just that moment.
fn patient_client(context: &Context) -> Result<Client, Fail> {
    connect(context, Context::builder(context.settings()?).timeout(Duration::MAX))
}

fn connect(context: &Context, builder: ClientBuilder) -> Result<Client, Fail> {
    let settings = context.settings()?;
    let builder = match &settings.base_url {
        None => builder.base_url(format!("http://127.0.0.1:{PORT}")),
        Some(set) if keys::is_loopback(&set.value) => builder.base_url(set.value.as_str()),
        Some(set) => {
            let rule = format!("{} is not on this machine, and a sandbox is", set.value);
            let origin = match &set.source {
                Source::Env(name) => Some(Origin::Env { name: name.clone() }),
                _ => None,
            };
            return Err(Fail::Usage(Report {
                help: Some(format!("posthaste --base-url http://127.0.0.1:{PORT} sandbox …")),
                ..Report::one(Problem::new("", "sandbox", rule), origin)
            }));
        }
    };
    let builder = match settings.credential.as_ref().map(|credential| &credential.value) {
        Some(Credential::ApiKey(key)) => builder.api_key(key.expose_secret()),
        Some(Credential::AccessToken(token)) => builder.access_token(token.expose_secret()),
        None => builder.api_key(KEY),
    };
    Ok(builder.build()?)
}

/// What to do when nobody answers.
fn unreachable(error: posthaste::Error) -> Fail {
    if let posthaste::Error::Unreachable(lost) = &error {
        return Fail::Unavailable {
            message: format!("there is no sandbox: {}", lost_by(lost)),
            hint: Some("posthaste sandbox serve, or posthaste sandbox run -- COMMAND".to_owned()),
        };
    }
    Fail::Sdk(error)
}
