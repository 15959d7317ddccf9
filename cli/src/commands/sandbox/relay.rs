//! The real SMTP server for forwarded and released mails: `--smtp`, `--smtp-release` and `--smtp-allow`.

use std::time::Duration;

use idempost_sandbox::{AllowList, Outgoing, Relay, RelayError};
use lettre::address::{Address, Envelope};
use lettre::transport::smtp::{Error as SmtpError, PoolConfig};
use lettre::{AsyncSmtpTransport, AsyncTransport as _, Tokio1Executor};
use url::Url;

use crate::diagnostics::{Fail, Origin};

/// Timeout of each SMTP step.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The flags for forwarded and released mails.
#[derive(Debug, Clone, Default, clap::Args)]
pub(super) struct RelayArgs {
    /// Forward every captured email to a real SMTP server: smtp://USER:PASSWORD@HOST:PORT?tls=required, or smtps://…
    ///
    /// Single emails can be released to it as well; see --smtp-release. Command lines are visible to other users; put a URL with a password in
    /// the variable.
    #[arg(long, value_name = "URL", env = "IDEMPOST_SANDBOX_FORWARD", hide_env_values = true)]
    smtp: Option<String>,
    /// Release single emails to this SMTP server, from the inbox page or by `sandbox inbox release`; forward nothing
    #[arg(
        long,
        value_name = "URL",
        env = "IDEMPOST_SANDBOX_RELEASE",
        hide_env_values = true,
        hide_short_help = true
    )]
    smtp_release: Option<String>,
    /// Allowed recipients of forwarded and released emails: an address, or a pattern such as *@acme.test; repeatable [default: all]
    ///
    /// An asterisk stands for any characters before the @, and for any subdomains in *@*.acme.test. Domains match in any case and in Unicode or ASCII
    /// (xn--…). Local parts match exactly: ada@acme.test allows neither Ada@ nor ada+tag@. Other recipients stay in the sandbox, and the
    /// timeline of the email names them.
    #[arg(long, value_name = "PATTERN", hide_short_help = true)]
    smtp_allow: Vec<String>,
}

/// A validated server.
#[derive(Clone)]
pub(super) struct Target {
    transport: AsyncSmtpTransport<Tokio1Executor>,
    /// Its URL, without credentials.
    pub(super) name: String,
    /// Whether the password would be sent unencrypted.
    pub(super) readable: bool,
    /// Its port, if it runs on this machine.
    local_port: Option<u16>,
    /// Whether every captured mail is forwarded.
    pub(super) forwards: bool,
    allow: AllowList,
}

impl Target {
    /// Parses `smtp://user:password@host:port?tls=required` or `smtps://…`. The password appears in no message.
    fn read(flag: &str, text: &str, allow: AllowList) -> Result<Self, Fail> {
        let wrong = |rule: &str| {
            let shown = Url::parse(text).map_or_else(|_| "…".to_owned(), |url| without_credentials(&url));
            Fail::usage("url", rule, Some(Origin::flag(flag, shown))).hint(format!(
                "idempost sandbox serve {flag} 'smtp://user:password@mail.acme.test:587?tls=required'"
            ))
        };
        let is_smtp = |url: &Url| matches!(url.scheme(), "smtp" | "smtps");
        let url = Url::parse(text).ok().filter(is_smtp);
        let url =
            url.ok_or_else(|| wrong(&format!("{flag} must be smtp://HOST:PORT or smtps://HOST:PORT")))?;
        if url.host_str().is_none_or(str::is_empty) {
            return Err(wrong("the URL has no host"));
        }
        let tls = url.query_pairs().find(|(name, _)| name == "tls").map(|(_, value)| value.into_owned());
        if !matches!(tls.as_deref(), None | Some("required" | "opportunistic")) {
            return Err(wrong("tls must be required or opportunistic"));
        }
        let builder = AsyncSmtpTransport::<Tokio1Executor>::from_url(text)
            // The error may quote the URL, and with it the password.
            .map_err(|_| wrong("the URL is invalid"))?;
        let transport = builder.timeout(Some(TIMEOUT)).pool_config(PoolConfig::new().max_size(1)).build();
        let local = matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"));
        let readable = url.scheme() == "smtp" && tls.is_none() && url.password().is_some() && !local;
        Ok(Self {
            transport,
            name: without_credentials(&url),
            readable,
            local_port: url.port().filter(|_| local),
            forwards: flag == "--smtp",
            allow,
        })
    }

    /// The server as the service uses it.
    pub(super) fn relay(&self) -> Relay {
        let target = self.clone();
        Relay::new(self.name.as_str(), self.forwards, self.allow.clone(), move |mail| {
            let target = target.clone();
            async move { target.send(&mail).await.map_err(|error| relay_error(&error)) }
        })
    }

    /// Sends a mail once; returns the server's reply.
    pub(super) async fn send(&self, mail: &Outgoing) -> Result<String, SendError> {
        let address = |text: &str| {
            text.parse::<Address>().map_err(|error| SendError::Address(format!("{text}: {error}")))
        };
        let recipients = mail.recipients().iter().map(|one| address(one)).collect::<Result<_, _>>()?;
        let sender = mail.sender().map(address).transpose()?;
        let envelope =
            Envelope::new(sender, recipients).map_err(|error| SendError::Address(error.to_string()))?;
        // The transport appends the final line ending.
        let raw = mail.message().strip_suffix(b"\r\n").unwrap_or(mail.message());
        let response = self.transport.send_raw(&envelope, raw).await.map_err(SendError::Smtp)?;
        let text = response.message().collect::<Vec<_>>().join(" ");
        Ok(format!("{} {text}", response.code()).trim_end().to_owned())
    }
}

/// The reason why a mail wasn't sent.
#[derive(Debug)]
pub(super) enum SendError {
    /// An address that the SMTP client rejects.
    Address(String),
    Smtp(SmtpError),
}

impl SendError {
    /// Whether a retry can succeed.
    pub(super) fn is_transient(&self) -> bool {
        matches!(self, Self::Smtp(error) if !(error.is_permanent() || error.is_client() || error.is_tls()))
    }
}

pub(super) fn relay_error(error: &SendError) -> RelayError {
    match error {
        SendError::Address(text) => RelayError { code: None, text: text.clone() },
        SendError::Smtp(error) => match (error.status(), std::error::Error::source(error)) {
            (Some(code), Some(text)) => RelayError { code: Some(code.into()), text: text.to_string() },
            (code, _) => RelayError { code: code.map(Into::into), text: error_message(error) },
        },
    }
}

impl RelayArgs {
    /// The server set by a flag or variable. The sandbox itself listens for mail on `own_ports`.
    pub(super) fn target(&self, own_ports: [Option<u16>; 2]) -> Result<Option<Target>, Fail> {
        let given = |url: &Option<String>| url.clone().filter(|url| !url.is_empty());
        let (flag, url) = match (given(&self.smtp), given(&self.smtp_release)) {
            (Some(_), Some(_)) => {
                let rule = "--smtp and --smtp-release can't be used together: with --smtp, emails can be released too";
                return Err(Fail::usage("exclusive", rule, Some(Origin::flag("--smtp-release", ""))));
            }
            (Some(url), None) => ("--smtp", url),
            (None, Some(url)) => ("--smtp-release", url),
            (None, None) => {
                return match self.smtp_allow.first() {
                    Some(pattern) => {
                        let rule = "--smtp-allow requires --smtp or --smtp-release";
                        Err(Fail::usage("missing", rule, Some(Origin::flag("--smtp-allow", pattern))))
                    }
                    None => Ok(None),
                };
            }
        };
        let allow = AllowList::new(&self.smtp_allow).map_err(|(pattern, rule)| {
            Fail::usage(
                "pattern",
                format!("--smtp-allow {rule}"),
                Some(Origin::flag("--smtp-allow", pattern)),
            )
        })?;
        let target = Target::read(flag, &url, allow)?;
        if target.forwards && target.local_port.is_some() && own_ports.contains(&target.local_port) {
            let rule = "--smtp must not be the sandbox's own SMTP port: it would forward each email to itself forever";
            return Err(Fail::usage("loop", rule, Some(Origin::flag(flag, target.name))));
        }
        Ok(Some(target))
    }
}

/// The URL without credentials.
fn without_credentials(url: &Url) -> String {
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{}://{}{port}", url.scheme(), url.host_str().unwrap_or_default())
}

fn error_message(error: &SmtpError) -> String {
    let causes = std::iter::successors(std::error::Error::source(error), |cause| cause.source());
    // Most errors include their cause's message.
    let mut message = error.to_string();
    for cause in causes.map(ToString::to_string) {
        if !message.contains(&cause) {
            message = format!("{message}: {cause}");
        }
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_error_about_the_url_never_contains_its_password() {
        for (text, expected) in [
            ("http://me:hidden@mail.acme.test", "smtp://"),
            ("smtp://", "no host"),
            ("smtp://me:hidden@", "smtp://HOST:PORT"),
            ("me:hidden@mail.acme.test", "smtp://"),
            ("hidden", "smtp://HOST:PORT"),
            ("smtp://me:hidden@mail.acme.test?tls=maybe", "required or opportunistic"),
            ("smtp://me:hidden@mail.acme.test:hidden", "smtp://HOST:PORT"),
        ] {
            let Err(Fail::Usage(report)) = Target::read("--smtp", text, AllowList::default()) else {
                panic!("{text} was accepted")
            };
            let shown = format!("{report:?}");
            assert!(shown.contains(expected), "{text}: {shown}");
            assert!(!shown.contains("hidden"), "{text}: {shown}");
        }
    }

    #[tokio::test]
    async fn an_unencrypted_password_is_detected() {
        for (text, readable) in [
            ("smtp://me:hidden@mail.acme.test", true),
            ("smtp://me:hidden@mail.acme.test:587?tls=required", false),
            ("smtps://me:hidden@mail.acme.test", false),
            ("smtp://mail.acme.test", false),
            ("smtp://me:hidden@localhost:2525", false),
        ] {
            let target = Target::read("--smtp", text, AllowList::default())
                .unwrap_or_else(|_| panic!("{text} was refused"));
            assert_eq!(target.readable, readable, "{text}");
            assert!(!target.name.contains("hidden"));
        }
    }
}
