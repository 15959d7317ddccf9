//! The context of a command: settings, a client built on demand, and the output streams.

#[cfg(feature = "sandbox")]
pub(crate) mod embedded;
mod identity;

use std::cell::{Cell, OnceCell};
use std::sync::Arc;

use idempost::auth::Session;
use idempost::{
    Client, ClientBuilder,
    call::{RateLimit, RetryPolicy},
    transport::{ReqwestTransport, Transport},
};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::json;
use url::Url;

pub(crate) use self::identity::{Identity, account_key};
use crate::credentials::{self, CredentialKind, Credentials, Overview, helper};
use crate::diagnostics::{Diagnostics, Fail, InFlight, Origin};
use crate::global::Global;
use crate::input::source::StdinReaders;
use crate::output::http_trace::TracedTransport;
use crate::output::pager::Pager;
use crate::output::{Out, OutputOptions, Terminal, report, secret, write_stderr, write_stderr_json};
use crate::settings::env::Env;
use crate::settings::{self, Credential, Setting, Settings, keys, network};
use crate::signals;

/// The context of one command.
#[derive(Debug)]
pub(crate) struct Context {
    /// The global flags.
    pub(crate) global: Global,
    /// The environment.
    pub(crate) env: Env,
    /// The output streams.
    pub(crate) out: Out,
    /// Started operations whose results aren't reported yet.
    pub(crate) in_flight: InFlight,
    /// Builds the whole command tree.
    pub(crate) command_tree: fn() -> clap::Command,
    settings: Result<Settings, Fail>,
    embedded: Option<Service>,
    transport: OnceCell<Arc<ReqwestTransport>>,
    /// Whether the choice between credentials has been reported.
    is_choice_reported: Cell<bool>,
}

/// A service that overrides the configured one.
#[derive(Debug, Clone)]
pub(crate) struct Service {
    pub(crate) base_url: String,
    /// An API key that it accepts.
    pub(crate) api_key: String,
}

impl Context {
    /// Reads the settings. Invalid ones fail only commands that use them, so that `config` and `help` always work.
    pub(crate) fn new(
        global: Global,
        env: Env,
        in_flight: InFlight,
        command_tree: fn() -> clap::Command,
    ) -> Result<Self, Fail> {
        let settings = settings::load(&global.flags(), &env);
        if global.api_key_file.as_deref() == Some("-") {
            signals::block_if_stopping();
        }
        let usual = settings.as_ref().ok();
        let color =
            usual.map(|settings| settings.color.value).or_else(|| global.color_choice()).unwrap_or_default();
        let form = usual
            .map(|settings| settings.output.value)
            .or_else(|| global.form_choice(&env))
            .unwrap_or_default();
        let pager = if global.no_pager { None } else { Pager::choose(&env) };
        let out = Out::new(Terminal::detect(&env, color), OutputOptions { pager, ..global.options(form) })?;
        Ok(Self {
            global,
            env,
            out,
            in_flight,
            command_tree,
            settings,
            embedded: None,
            transport: OnceCell::new(),
            is_choice_reported: Cell::new(false),
        })
    }

    /// All settings with their sources; warns once about unknown settings in the file.
    pub(crate) fn settings(&self) -> Result<&Settings, Fail> {
        // A copy, since some callers only check whether the settings are valid.
        self.settings.as_ref().map_err(|fail| match fail {
            Fail::Usage(report) => Fail::Usage(report.clone()),
            other => {
                let hint = other.message_and_hint().and_then(|(_, hint)| hint.map(str::to_owned));
                Fail::new(other.kind(), report::message(other)).hint_if(hint)
            }
        })
    }

    /// Warns about unknown settings in the configuration file, with their positions.
    pub(crate) fn warn_about_settings(&self) {
        let Ok(settings) = &self.settings else { return };
        for found in settings.warnings.iter().filter(|_| !self.out.quiet) {
            if self.out.messages_are_json {
                write_stderr_json(&json!({ "warning": report::problem_json(found) }));
            } else {
                write_stderr(&report::warning(found, &self.out.terminal));
            }
        }
    }

    /// Uses this service, regardless of the settings.
    #[cfg(feature = "sandbox")]
    pub(crate) fn use_service(&mut self, service: Service) {
        self.embedded = Some(service);
    }

    /// A client for the configured service, with its credential.
    pub(crate) fn client(&self) -> Result<Client, Fail> {
        Ok(self.builder_with_credential()?.build()?)
    }

    /// Like [`client`](Self::client), without a rate limit: a bulk job learns the service's.
    pub(crate) fn client_for_jobs(&self) -> Result<Client, Fail> {
        Ok(self.builder_with_credential()?.rate_limit(RateLimit::Off).build()?)
    }

    fn builder_with_credential(&self) -> Result<ClientBuilder, Fail> {
        if let Some(service) = &self.embedded {
            return Ok(self.builder()?.base_url(&service.base_url).api_key(&service.api_key));
        }
        let base_url = self.base_url()?;
        let builder = self.builder()?.base_url(base_url.as_str());
        match self.credential()?.map(|credential| &credential.value) {
            Some(Credential::ApiKey(key)) => Ok(builder.api_key(key.expose_secret())),
            Some(Credential::AccessToken(token)) => Ok(builder.access_token(token.expose_secret())),
            None => self.with_stored_credential(builder),
        }
    }

    /// The credential given by a flag or in the environment, if it applies to the active profile. Reports an ignored credential, or one that
    /// overrides a stored one, on standard error; fails if the environment contradicts itself.
    pub(crate) fn credential(&self) -> Result<Option<&Setting<Credential>>, Fail> {
        let settings = self.settings()?;
        if let Some(passed_over) = &settings.passed_over {
            let (variable, profile) = (&passed_over.variable, &passed_over.profile);
            if passed_over.is_ambiguous() {
                let headline = format!(
                    "{} (profile `{}`) and {variable} select different accounts; nothing was sent",
                    profile.source, profile.value
                );
                return Err(Fail::invalid(headline, Vec::new())
                    .hint("unset one of them, or choose with --profile NAME or --api-key-file PATH"));
            }
            self.report_choice(|| {
                Some(format!("{variable} is ignored: {} selects profile `{}`", profile.source, profile.value))
            });
        } else if let Some(given) = &settings.credential {
            let profile = settings.profile_name();
            self.report_choice(|| {
                let stored = self.credentials().ok()?.overview().ok()??;
                let kind = match stored.metadata.kind {
                    CredentialKind::Login => "login",
                    CredentialKind::ApiKey => "API key",
                };
                Some(format!(
                    "{} takes precedence over the stored {kind} of profile `{profile}`",
                    given.source
                ))
            });
        }
        if let Some(Setting { value: Credential::ApiKey(secret) | Credential::AccessToken(secret), .. }) =
            &settings.credential
        {
            secret::register(secret.expose_secret());
        }
        Ok(settings.credential.as_ref())
    }

    /// Reports once which credential is used.
    fn report_choice(&self, text: impl FnOnce() -> Option<String>) {
        if !self.is_choice_reported.replace(true)
            && !self.out.quiet
            && let Some(text) = text()
        {
            self.out.note(&text);
        }
    }

    /// Reports the completed operation on standard error if standard output is closed, even with `--quiet`.
    pub(crate) fn report_unread(&self) {
        if let Some(operation) = self.in_flight.unreported_operation() {
            report::report_in_flight(&operation, self.out.messages_are_json);
        }
    }

    /// The flags that read standard input so far, such as `--api-key-file`.
    pub(crate) fn stdin(&self) -> StdinReaders {
        StdinReaders::reserved_for(self.global.api_key_file.as_deref())
    }

    /// The base URL; fails if it isn't set.
    pub(crate) fn base_url(&self) -> Result<&Url, Fail> {
        self.settings()?.base_url.as_ref().map(|base_url| &base_url.value).ok_or_else(|| {
            Fail::Usage(Diagnostics {
                summary: Some("the base URL isn't set; nothing was sent".to_owned()),
                missing: vec!["--base-url, IDEMPOST_BASE_URL or `base_url` in the profile".into()],
                help: Some("idempost config set base_url https://…, or try it with --sandbox".to_owned()),
                ..Diagnostics::default()
            })
        })
    }

    /// The identity that this command uses.
    pub(crate) fn identity(&self) -> Result<Identity, Fail> {
        let settings = self.settings()?;
        if self.embedded.is_some() {
            return Ok(Identity { profile: None, base_url: None, credential: None });
        }
        let base_url = settings.base_url.as_ref();
        Ok(Identity {
            profile: Some(settings.profile_name().to_owned()),
            base_url: base_url.map(|base_url| base_url.value.as_str().trim_end_matches('/').to_owned()),
            credential: settings.credential.as_ref().map(|credential| credential.source.to_string()),
        })
    }

    /// The stored credentials of the active profile.
    pub(crate) fn credentials(&self) -> Result<Credentials, Fail> {
        Ok(Credentials::new(&self.env, self.settings()?.selected_profile())?)
    }

    /// The session of the stored login, which prints reports of its token refreshes.
    pub(crate) fn session(&self, credentials: &Credentials) -> Result<Session, Fail> {
        let network = self.settings()?.network();
        let (level, profile) = (self.global.verbose, credentials.profile().to_owned());
        let (warn, note, trace) = (self.out.warning_printer(), self.out.note_printer(), self.out.tracer());
        let report = Arc::new(move |report: &helper::Report| match report {
            helper::Report::Trace(lines) => trace(lines),
            helper::Report::Waiting(text) => note(text),
            helper::Report::Warning(text) => warn(text),
        });
        let session = Session::builder()
            .transport(self.login_transport()?)
            .refresh_with(move |request| {
                let (report, profile, network) = (Arc::clone(&report), profile.clone(), network.clone());
                async move { helper::renew(profile, request, &network, level, &*report).await }
            })
            .open(credentials.store(None));
        Ok(session)
    }

    /// Adds the stored credential of the active profile, if it belongs to this service.
    fn with_stored_credential(&self, builder: ClientBuilder) -> Result<ClientBuilder, Fail> {
        let credentials = self.credentials()?;
        let Some(overview) = credentials.overview()? else {
            if let Some(passed_over) = &self.settings()?.passed_over {
                let (variable, profile) = (&passed_over.variable, &passed_over.profile.value);
                return Err(Fail::auth(format!(
                        "profile `{profile}` has no credential, and {variable} isn't sent to its base URL; nothing was sent"
                    )).hint(format!("log in: {}; or pass --api-key-file PATH", credentials::LOGIN)));
            }
            return Err(Fail::auth("no credential; nothing was sent").hint(format!(
                "log in: {}; or set IDEMPOST_API_KEY, or pass --api-key-file PATH",
                credentials::LOGIN
            )));
        };
        self.check_origin(&overview)?;
        match overview.metadata.kind {
            CredentialKind::Login => Ok(builder.session(self.session(&credentials)?)),
            CredentialKind::ApiKey => Ok(builder.api_key(stored_key(&credentials)?.expose_secret())),
        }
    }

    /// The stored API key of the active profile, if it belongs to the configured base URL.
    #[cfg(feature = "sandbox")]
    pub(crate) fn stored_key(&self) -> Result<Option<SecretString>, Fail> {
        let credentials = self.credentials()?;
        let is_usable = |overview: Overview| {
            overview.metadata.kind == CredentialKind::ApiKey && self.check_origin(&overview).is_ok()
        };
        let usable = self.settings()?.base_url.is_some() && credentials.overview()?.is_some_and(is_usable);
        usable.then(|| stored_key(&credentials)).transpose()
    }

    /// Checks that a stored credential belongs to the service of the base URL, if one is set.
    pub(crate) fn check_origin(&self, overview: &Overview) -> Result<(), Fail> {
        let base_url = self.settings()?.base_url.as_ref();
        let asked = base_url.map(|base_url| base_url.value.origin().ascii_serialization());
        let Some(asked) = asked.filter(|asked| overview.metadata.origin != *asked) else { return Ok(()) };
        let held =
            format!("profile `{}` holds credentials for {}", overview.profile, overview.metadata.origin);
        let hint = format!(
            "log in there with another profile: idempost --profile NAME --base-url {asked} auth login"
        );
        Err(Fail::auth(format!("{held}, not for {asked}; nothing was sent")).hint(hint))
    }

    /// A client for previews: without a credential, and with a placeholder base URL if none is set.
    pub(crate) fn client_for_preview(&self) -> Result<Client, Fail> {
        let settings = self.settings()?;
        let base_url =
            settings.base_url.as_ref().map_or("https://service.invalid", |base_url| base_url.value.as_str());
        Ok(Self::builder_without_transport(settings).base_url(base_url).api_key("none").build()?)
    }

    /// Whether the service is a sandbox on this machine, or the one of `--sandbox`.
    pub(crate) fn is_sandboxed(&self) -> Result<bool, Fail> {
        Ok(self.embedded.is_some() || keys::is_loopback(self.base_url()?))
    }

    /// The command that shows an accepted email; `None` with `--sandbox`.
    pub(crate) fn show_command(&self, id: &str) -> Option<String> {
        if self.embedded.is_some() {
            return None;
        }
        let base_url = &self.settings().ok()?.base_url.as_ref()?.value;
        let local = matches!(base_url.host_str(), Some("127.0.0.1" | "localhost" | "[::1]"));
        Some(if local {
            "idempost sandbox inbox latest".to_owned()
        } else {
            format!("idempost emails get {id}")
        })
    }

    /// The transport for all requests of the command to the service.
    pub(crate) fn transport(&self) -> Result<Arc<ReqwestTransport>, Fail> {
        if let Some(transport) = self.transport.get() {
            return Ok(Arc::clone(transport));
        }
        let settings = self.settings()?;
        let is_https = settings.base_url.as_ref().is_some_and(|base_url| base_url.value.scheme() == "https");
        if is_https && let Some(rule) = network::unreadable_cert_file(&self.env) {
            return Err(Fail::usage("file", rule, Some(Origin::env("SSL_CERT_FILE"))));
        }
        let transport = settings.network().transport().map_err(|(name, rule)| {
            let setting = if name == "cacert" { &settings.cacert } else { &settings.client_cert };
            let source = setting.as_ref().map_or_else(String::new, |setting| setting.source.to_string());
            Fail::usage("file", format!("{source}: {rule}"), None)
        })?;
        Ok(Arc::clone(self.transport.get_or_init(|| Arc::new(transport))))
    }

    /// The transport for logins, traced according to `-v`.
    pub(crate) fn login_transport(&self) -> Result<Arc<dyn Transport>, Fail> {
        Ok(TracedTransport::wrap(self.transport()?, self.global.verbose, Arc::new(self.out.tracer())))
    }

    /// A client over this transport, for any service.
    pub(crate) fn builder(&self) -> Result<ClientBuilder, Fail> {
        Ok(Self::builder_without_transport(self.settings()?).transport(self.transport()?))
    }

    /// The client settings that don't depend on the service.
    fn builder_without_transport(settings: &Settings) -> ClientBuilder {
        let product = concat!("idempost-cli/", env!("CARGO_PKG_VERSION"));
        let retry = RetryPolicy::default().max_attempts(settings.retries.value.saturating_add(1));
        let recipients = settings.recipients.clone();
        let builder = Client::builder().user_agent(product).retry(retry).recipient_guard(recipients);
        settings.timeout.iter().fold(builder, |builder, timeout| builder.timeout(timeout.value))
    }
}

/// The API key in these credentials, which hold one.
fn stored_key(credentials: &Credentials) -> Result<SecretString, Fail> {
    let stored = credentials.api_key_blocking()?.ok_or_else(|| {
        Fail::auth("the stored API key no longer exists; nothing was sent").hint(credentials::LOGIN)
    })?;
    secret::register(stored.key.expose_secret());
    Ok(stored.key)
}
