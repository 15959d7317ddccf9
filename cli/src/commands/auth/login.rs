//! `auth login`: through a browser, by a pasted redirect URL, or with an API key from standard input.
//!
//! The credential store is tested before the browser opens, so that a grant can always be stored. Until the code is exchanged, Ctrl-C exits
//! immediately and leaves no trace; afterwards it waits until the login is stored.
//!
//! Without a terminal and a browser, one command prints the page's URL, and another finishes the login with the redirect's URL. In the device
//! flow, the user enters a code on any device.
//!
//! A second login doesn't revoke the first grant: some services keep one grant per user and client, so that would also end the new login.

mod client;
mod countdown;
mod device;
mod paste;
mod server;
mod unfinished;

use std::time::Duration;

use clap::ValueEnum as _;
use idempost::auth::{
    AuthError, AuthorizationCode, AuthorizationRequest, AuthorizationServer, EndReason, RedirectListener,
    Revocation, Scope, Session, TokenRecord,
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use self::countdown::Countdown;
use self::server::Target;
use super::{login_failure, profile};
use crate::actions::browser;
use crate::actions::confirm::{confirm_locally, is_interactive};
use crate::context::Context;
use crate::credentials::{Credentials, ProfileStore, StoreKind};
use crate::diagnostics::{Diagnostic, Fail};
use crate::input::flags::{Choices, Flags};
use crate::output::hidden::Hidden;
use crate::output::report;
use crate::output::time::format_relative;
use crate::output::write_stderr;
use crate::settings::{Source, credential, keys};
use crate::signals;

/// The default: least privilege.
const SCOPE: &str = "emails:send";
/// The redirect URI if no port can be opened: the browser fails there, and shows the URL to paste.
const PASTE_REDIRECT_URI: &str = "http://127.0.0.1/callback";

/// Log in through a browser, or with --device through a page on any device
///
/// Prints the URL of the consent page, opens it in a browser if there is one, and waits until you allow or deny access. On a machine without a browser,
/// open the page anywhere and paste the URL that it redirects to, or forward a port: ssh -L PORT:127.0.0.1:PORT, and --port PORT.
///
/// Without a terminal and a browser, the command prints the page's URL and exits; finish with `auth login --callback-url URL` on the same machine within
/// ten minutes. Pass the URL that the page redirects to, even if the browser can't load it. If the authorization server offers the device flow,
/// --device needs no second command: it prints a page and a code to enter there, and waits.
///
/// The authorization server is the one that the service names, or else the service itself; --issuer sets another one. Its endpoints must be at its
/// own origin, because its metadata could direct the login of one server to another; pass --trust-endpoints for providers with several hosts. Both
/// flags are saved for the next login.
///
/// Tokens are stored in a file encrypted with a key in the system keyring, and refreshed when needed. --api-key-file takes precedence over a login, and
/// so does IDEMPOST_API_KEY unless --profile names the login.
#[derive(Debug, Default, clap::Args)]
#[command(
    after_help = "Without --scope, the login may only send emails (or what `scope` in the profile allows). \
    For all commands: --scope full_access.\n\n\
    Examples:\n  \
    idempost auth login\n  \
    idempost --profile work auth login --scope full_access\n  \
    idempost auth login --no-browser --store file\n  \
    idempost auth login --device\n  \
    idempost auth login --issuer https://login.example.com\n  \
    idempost auth login --callback-url 'http://127.0.0.1/callback?code=…&state=…'\n  \
    idempost auth login --with-token < key.txt"
)]
#[expect(clippy::struct_excessive_bools, reason = "these are command-line flags")]
pub(crate) struct Args {
    /// Scope to request: emails:send or full_access; repeatable
    #[arg(long = "scope", value_name = "SCOPE", value_parser = Choices(&["emails:send", "full_access"]), hide_possible_values = true)]
    scopes: Vec<String>,
    /// OAuth client ID [default: client_id of the profile, else discovered or registered]
    #[arg(long, value_name = "ID")]
    client_id: Option<String>,
    /// Authorization server [default: issuer of the profile, else discovered]
    #[arg(long, value_name = "URL")]
    issuer: Option<String>,
    /// Accept endpoints of the authorization server at other origins
    #[arg(long)]
    trust_endpoints: bool,
    /// Print a page and a code to enter there on any device
    #[arg(long)]
    device: bool,
    /// Print the page's URL without opening a browser
    #[arg(long)]
    no_browser: bool,
    /// Finish a login with the URL that its page redirected to; - reads standard input
    #[arg(long, value_name = "URL")]
    callback_url: Option<String>,
    /// Port for the browser's redirect [default: any free port]
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
    /// How to store the login: keyring (encrypted), or file (plain text)
    #[arg(long, value_name = "STORE", value_parser = Choices(&["keyring", "file"]), hide_possible_values = true)]
    store: Option<String>,
    /// Time limit for the login in the browser; --timeout limits API calls
    #[arg(long, value_name = "DURATION", default_value = "5m", allow_hyphen_values = true)]
    login_timeout: String,
    /// Store an API key read from standard input instead
    #[arg(long)]
    with_token: bool,
}

impl Args {
    /// The given flags of a login through a page.
    fn page_flags(&self) -> impl Iterator<Item = &'static str> {
        let flags = [
            ("--scope", !self.scopes.is_empty()),
            ("--client-id", self.client_id.is_some()),
            ("--issuer", self.issuer.is_some()),
            ("--trust-endpoints", self.trust_endpoints),
            ("--device", self.device),
            ("--port", self.port.is_some()),
            ("--no-browser", self.no_browser),
        ];
        flags.into_iter().filter_map(|(name, is_set)| is_set.then_some(name))
    }
}

/// A login's target and scopes.
#[derive(Clone, Serialize, Deserialize)]
struct Login {
    target: Target,
    /// The settings saved with the login, except for the base URL.
    saves: Vec<(String, String)>,
    scopes: Vec<String>,
}

/// A validated login.
struct Plan {
    login: Login,
    client_id: Option<String>,
    store: Option<StoreKind>,
    port: u16,
    timeout: Duration,
}

/// Runs the command.
pub(super) async fn run(args: Args, context: &Context) -> Result<(), Fail> {
    if let Some(url) = &args.callback_url {
        return unfinished::finish(url, &args, context).await;
    }
    let mut plan = plan(&args, context)?;
    let credentials = Credentials::new(&context.env, context.settings()?.selected_profile())?;
    let store = choose_store(&credentials, plan.store, context).await?;
    if args.store.is_some() || plan.store.is_none() && store != StoreKind::default() {
        plan.login.saves.push(("store".to_owned(), store.name().to_owned()));
    }
    revoke_earlier(&credentials, context).await?;
    let metadata = if args.with_token {
        store_key(&plan.login.target, &credentials, store, context).await?
    } else {
        // Without a terminal, the user can't paste the redirect's URL.
        let alone = !args.device && args.port.is_none() && !context.out.terminal.stdin;
        if alone && browser::skip_reason(args.no_browser, context).is_some() {
            return unfinished::begin(&plan, store, &credentials, context).await;
        }
        let place = credentials.store(Some(store));
        let record = if args.device {
            device::log_in(&plan, place, context).await?
        } else {
            authorize(&plan, args.no_browser, context).await?.store_in(place).await?
        };
        warn_about_scope(&plan.login.scopes, &record, context);
        metadata(&record)
    };
    save_settings(&plan.login, context)?;
    print_result(&plan.login, store, metadata, context)
}

/// Revokes an unrevoked earlier login, since the new one overwrites its tokens.
async fn revoke_earlier(credentials: &Credentials, context: &Context) -> Result<(), Fail> {
    let ended = credentials.overview().ok().flatten().and_then(|overview| overview.metadata.ended);
    if ended.is_none_or(|ended| ended.reason != EndReason::LoggedOut) {
        return Ok(());
    }
    if let Revocation::NotRevoked(error) =
        context.session(credentials)?.logout().await.map_err(login_failure)?
    {
        let why = report::error_chain(&error);
        context.out.warn(&format!(
            "the earlier login couldn't be revoked: {why}; its tokens may stay valid at the service"
        ));
    }
    Ok(())
}

/// Logs in again with more scopes. The earlier login stays until then.
pub(super) async fn widen_scopes(
    scopes: Vec<String>,
    client_id: String,
    no_browser: bool,
    context: &Context,
) -> Result<(), Fail> {
    let args = Args {
        scopes,
        client_id: Some(client_id),
        no_browser,
        login_timeout: "5m".to_owned(),
        ..Args::default()
    };
    run(args, context).await
}

fn plan(args: &Args, context: &Context) -> Result<Plan, Fail> {
    let settings = context.settings()?;
    let mut flags = Flags::default();
    flags.help("idempost auth login");
    let mut scopes = args.scopes.clone();
    if scopes.is_empty() {
        scopes.push(settings.scope.as_ref().map_or_else(|| SCOPE.to_owned(), |scope| scope.value.clone()));
    }
    let scopes: Vec<String> =
        scopes.iter().flat_map(|scope| keys::split_scopes(scope)).map(str::to_owned).collect();
    for (n, scope) in scopes.iter().enumerate().filter(|(_, scope)| !keys::is_scope(scope)) {
        flags.reject_nth("charset", format!("a scope {}", keys::SCOPE_RULE), "--scope", n + 1, scope);
    }
    let store = match args.store.as_deref() {
        Some(word) => {
            let kind = StoreKind::from_str(word, false).ok();
            flags.accept(kind, "type", "the store must be keyring or file", "--store", word)
        }
        None => settings.store.as_ref().map(|store| store.value),
    };
    let timeout = keys::parse_duration(&args.login_timeout).unwrap_or_else(|rule| {
        flags.reject("setting", format!("--login-timeout {rule}"), "--login-timeout", &args.login_timeout);
        Duration::default()
    });
    for name in args.page_flags() {
        let others = [("--with-token", args.with_token), ("--device", args.device && name == "--port")];
        for (other, _) in others.into_iter().filter(|(_, is_set)| *is_set) {
            flags.push(Diagnostic::new("exclusive", format!("{name} can't be used with {other}"), None));
        }
    }
    if args.client_id.as_deref().is_some_and(|id| id.trim().is_empty()) {
        flags.reject("empty", "a client ID must not be empty", "--client-id", "");
    }
    if settings.base_url.is_none() {
        flags.add_missing("--base-url, IDEMPOST_BASE_URL or `base_url` in the profile");
    }
    let issuer = args.issuer.as_deref().and_then(|text| {
        let reject = |rule| flags.reject("setting", format!("--issuer {rule}"), "--issuer", text);
        keys::base_url(text).map_err(reject).ok()
    });
    flags.finish()?;
    let target = Target::new(issuer, args.trust_endpoints, context)?;
    let issuer = args.issuer.iter().map(|issuer| ("issuer".to_owned(), issuer.clone()));
    let trust = args.trust_endpoints.then(|| ("trust_endpoints".to_owned(), true.to_string()));
    Ok(Plan {
        login: Login { target, saves: issuer.chain(trust).collect(), scopes },
        client_id: args.client_id.clone().or_else(|| settings.client_id.as_ref().map(|id| id.value.clone())),
        store,
        port: args.port.unwrap_or_default(),
        timeout,
    })
}

/// Tests the store that will hold the login. A plain file is never used without consent.
async fn choose_store(
    credentials: &Credentials,
    wanted: Option<StoreKind>,
    context: &Context,
) -> Result<StoreKind, Fail> {
    let last = credentials.overview().ok().flatten().map(|last| last.store);
    let store = wanted.or(last).unwrap_or_default();
    let Err(error) = credentials.probe(store).await else { return Ok(store) };
    let why = report::error_chain(&error);
    let message = format!("the login can't be stored: {why}");
    if store == StoreKind::File || credentials.probe(StoreKind::File).await.is_err() {
        return Err(Fail::error(message));
    }
    let hint = "to store it in a file that only you can read, repeat the command with --store file";
    if wanted.is_some() {
        return Err(Fail::error(message).hint(hint));
    }
    if is_interactive(context)? {
        context.out.warn(&why);
        confirm_locally("Store the login in a file that only you can read?", context).await?;
        return Ok(StoreKind::File);
    }
    Err(Fail::usage("required", message, None).hint(hint))
}

async fn store_key(
    target: &Target,
    credentials: &Credentials,
    store: StoreKind,
    context: &Context,
) -> Result<Value, Fail> {
    let terminal = context.out.terminal.stdin;
    let key = {
        let _hidden = terminal.then(Hidden::begin);
        if terminal {
            // A prompt, unlike a note, is shown even with --quiet.
            write_stderr("API key (input is hidden): ");
        }
        credential::read_key(terminal)
    };
    if terminal {
        write_stderr("\n");
    } else {
        signals::block_if_stopping();
    }
    let key = key?;
    let origin = target.base_url.origin().ascii_serialization();
    credentials.store_api_key(Some(store), &origin, key).await?;
    Ok(json!({ "kind": "api_key", "origin": origin }))
}

/// A granted authorization with an unused code.
struct Grant {
    server: AuthorizationServer,
    authorization: AuthorizationRequest,
    code: AuthorizationCode,
}

impl Grant {
    /// Redeems the code and stores the login. The tokens exist only in this process until they are stored, so signals wait.
    async fn store_in(self, store: ProfileStore) -> Result<TokenRecord, Fail> {
        let held = signals::hold();
        let saving = tokio::spawn(async move {
            let _held = held;
            let record = self.server.exchange(&self.authorization, &self.code).await?;
            Session::start(store, &record).await?;
            Ok(record)
        });
        let saved = saving.await.map_err(|error| Fail::local("the login couldn't be stored", error))?;
        saved.map_err(login_failure)
    }
}

/// Obtains an authorization code through the browser.
async fn authorize(plan: &Plan, no_browser: bool, context: &Context) -> Result<Grant, Fail> {
    let server = plan.login.target.discover(context).await?;
    let may_paste = is_interactive(context)?;
    let receiver = match RedirectListener::bind_to(plan.port).await {
        Ok(receiver) => {
            let warn = context.out.warning_printer();
            Some(receiver.on_rejected(move |why| {
                warn(&format!("rejected a request to the redirect URI: {why}; still waiting"));
            }))
        }
        Err(error) if may_paste => {
            context.out.warn(&crate::output::report::sdk_message(&error));
            None
        }
        Err(error) => return Err(login_failure(error)),
    };
    let redirect_uri =
        receiver.as_ref().map_or(PASTE_REDIRECT_URI, RedirectListener::redirect_uri).to_owned();
    let authorization = request(&server, redirect_uri, plan, context).await?;
    show(&authorization, &plan.login.scopes, context);
    match browser::skip_reason(no_browser, context) {
        None => browser::open(authorization.url().as_str(), context),
        Some(reason) => context.out.note(&format!("no browser opened: {reason}")),
    }
    let paste = may_paste.then(paste::PasteReader::listen);
    if may_paste {
        context.out.note("Waiting for the browser… or paste the URL it redirects to and press Enter.");
    } else {
        context.out.note("Waiting for the browser…");
    }
    let countdown = Countdown::new(plan.timeout, context)?;
    let code = tokio::select! {
        code = wait_for_code(receiver, paste, &authorization, plan.timeout, &countdown, context) => code?,
        never = countdown.run() => match never {},
    };
    Ok(Grant { server, authorization, code })
}

/// The authorization request, under the client ID that was given, stored or registered.
async fn request(
    server: &AuthorizationServer,
    redirect_uri: String,
    plan: &Plan,
    context: &Context,
) -> Result<AuthorizationRequest, Fail> {
    let client_id = client::resolve(server, plan.client_id.as_deref(), context).await?;
    let authorizing = server.authorize(client_id, redirect_uri);
    let scopes = plan.login.scopes.iter().cloned();
    Ok(scopes.fold(authorizing, |authorizing, scope| authorizing.scope(Scope::from(scope))).build()?)
}

/// Prints the page's URL: always, since a failing opener may not report it.
fn show(authorization: &AuthorizationRequest, scopes: &[String], context: &Context) {
    let (url, scope) = (authorization.url().as_str(), scopes.join(" "));
    write_stderr(&if context.out.messages_are_json {
        format!("{}\n", json!({ "open": { "url": url, "scope": scope } }))
    } else {
        format!("Open this page to allow `idempost` to use your account ({scope}):\n  {url}\n")
    });
}

/// Waits for the redirect or the pasted URL, whichever comes first.
async fn wait_for_code(
    receiver: Option<RedirectListener>,
    paste: Option<paste::PasteReader>,
    authorization: &AuthorizationRequest,
    timeout: Duration,
    countdown: &Countdown,
    context: &Context,
) -> Result<AuthorizationCode, Fail> {
    let came_back = async {
        if let Some(receiver) = receiver {
            return receiver.wait(authorization, timeout).await.map_err(login_failure);
        }
        tokio::time::sleep(timeout).await;
        Err(super::auth_failure(&AuthError::RedirectTimeout { waited: timeout }))
    };
    let pasted = async {
        match paste {
            Some(paste) => paste
                .code(authorization, countdown, context)
                .await
                .map_err(|error| super::auth_failure(&error)),
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        code = came_back => code,
        code = pasted => code,
    }
}

fn metadata(record: &TokenRecord) -> Value {
    json!({
        "kind": "login",
        "origin": record.origin,
        "issuer": record.issuer,
        "scope": record.scope,
        "client_id": record.client_id,
        "expires_at": Timestamp::try_from(record.expires_at()).ok().map(|at| format!("{at:.0}")),
        "refreshable": record.refresh_token.is_some(),
    })
}

/// Warns if the granted scope differs from the requested one.
fn warn_about_scope(scopes: &[String], record: &TokenRecord, context: &Context) {
    let asked: Vec<_> = scopes.iter().map(String::as_str).collect();
    let granted: Vec<_> = record.scope.split(' ').collect();
    let warn = |how: &str, some: &[&str], others: &[&str]| {
        let more: Vec<_> = some.iter().copied().filter(|scope| !others.contains(scope)).collect();
        if !more.is_empty() {
            context.out.warn(&format!("the granted scope is {how}: {}", more.join(" ")));
        }
    };
    if !record.scope.is_empty() {
        warn("wider than requested; additional", &granted, &asked);
    }
    warn("narrower than requested; missing", &asked, &granted);
}

/// Writes the settings that later commands need to find the login: the base URL and the store.
fn save_settings(login: &Login, context: &Context) -> Result<(), Fail> {
    let settings = context.settings()?;
    let name = context.settings()?.profile_name();
    let written = |profile| {
        let entry = settings.file.as_ref()?.get(profile, "base_url")?;
        keys::base_url(&entry.text).ok()
    };
    let kept = written(Some(name)).or_else(|| written(None));
    let mut values = Vec::new();
    let base_url = &login.target.base_url;
    if kept.as_ref() != Some(base_url) || !profile::is_written(context)? {
        values.push(("base_url", base_url.as_str().trim_end_matches('/')));
    }
    values.extend(login.saves.iter().map(|(name, value)| (name.as_str(), value.as_str())));
    if values.is_empty() {
        return Ok(());
    }
    let is_set = |key| settings.file.as_ref().is_some_and(|file| file.get(Some(name), key).is_some());
    let is_overridden = values.iter().any(|(key, _)| is_set(key));
    // Preserves the defaults of other profiles, and changes the table whose values apply.
    let target = match context.settings()?.selected_profile() {
        None if written(None).is_some_and(|kept| kept != *base_url) || is_overridden => Some(name),
        named => named,
    };
    // Removes settings of another base URL.
    let stale = if values.iter().any(|(name, _)| *name == "base_url") { &server::BOUND[..] } else { &[] };
    let path = profile::write(target, stale, &values, context).inspect_err(|_| {
        context
            .out
            .warn("the login is stored, but its settings couldn't be written to the configuration file");
    })?;
    let names: Vec<_> = values.iter().map(|(name, _)| *name).collect();
    context.out.note(&format!("saved {} to {}", names.join(" and "), path.display()));
    Ok(())
}

fn print_result(login: &Login, store: StoreKind, mut metadata: Value, context: &Context) -> Result<(), Fail> {
    let name = context.settings()?.profile_name();
    metadata["profile"] = name.into();
    metadata["store"] = store.name().into();
    let place = match store {
        StoreKind::Keyring => "encrypted with a key in the system keyring",
        StoreKind::File => "stored in a file that only you can read",
    };
    let origin = metadata["origin"].as_str().unwrap_or_default();
    let line = if metadata["kind"] == "login" {
        let expires = metadata["expires_at"].as_str().map(|at| format_relative(at, Timestamp::now()));
        let then = if metadata["refreshable"] == true {
            ", refreshed automatically"
        } else {
            "; the login ends then, because the server issued no refresh token"
        };
        let expires = expires.map(|at| format!(" · access token expires {at}{then}")).unwrap_or_default();
        let scope = metadata["scope"].as_str().unwrap_or_default();
        format!("logged in as profile `{name}` to {origin} · scope {scope}{expires} · {place}")
    } else {
        format!("API key of profile `{name}` for {origin} · {place}")
    };
    context.out.result(&[line], &metadata)?;
    let settings = context.settings()?;
    if let Some(credential) = &settings.credential {
        let by = settings.profile.as_ref().map(|profile| &profile.source);
        match (&credential.source, by) {
            // `--profile` takes precedence.
            (Source::Env(_), Some(Source::Flag(_))) => {}
            (Source::Env(variable), Some(by @ Source::Env(_))) => context.out.warn(&format!(
                "{variable} and {by} are both set and now select different accounts; unset one of them"
            )),
            (given, _) => context.out.warn(&format!("{given} is set and takes precedence over this login")),
        }
    }
    if metadata["kind"] == "login" && login.scopes == [SCOPE] {
        context.out.note(
            "this login may only send emails; for all commands: idempost auth login --scope full_access",
        );
    }
    Ok(())
}
