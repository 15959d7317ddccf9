//! Access to the sandbox: addresses, host names, and the password.

use std::net::{IpAddr, Ipv4Addr};

use crate::commands::sandbox::{KEY, PASSWORD};
use crate::diagnostics::Fail;

/// The minimum length of `--auth` in characters.
const MIN_PASSWORD: usize = 8;

/// The addresses, host names and password of the sandbox.
#[derive(Debug, Clone, clap::Args)]
pub(in crate::commands::sandbox) struct ListenArgs {
    /// Address to listen on: 0.0.0.0 or :: for all; beyond loopback addresses, --auth or --insecure is required
    #[arg(long, value_name = "ADDRESS", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    pub(in crate::commands::sandbox) host: IpAddr,
    /// Host name under which clients reach the sandbox, such as the name of its container; can be repeated
    ///
    /// Requests under other names are rejected with 403 forbidden_host, so that web pages can't reach the sandbox by DNS rebinding. Names of this
    /// machine and, with --host 0.0.0.0 or ::, IP addresses are always accepted.
    #[arg(long = "allow-host", value_name = "NAME", hide_short_help = true, value_parser = host_name)]
    pub(in crate::commands::sandbox) allowed_hosts: Vec<String>,
    /// Password for the inbox page and part of every API key: sb_PASSWORD, or sb_PASSWORD_NAME for further accounts
    ///
    /// The inbox page and the consent page ask for it, with any username; SMTP requires AUTH with such a key. At least 8 characters. Command lines are
    /// visible to other users; put the password in the variable.
    #[arg(long, value_name = "PASSWORD", env = PASSWORD, hide_env_values = true)]
    auth: Option<String>,
    /// Listen beyond loopback addresses without a password: anyone who reaches the port can read all emails and use all accounts
    #[arg(long, conflicts_with = "auth", hide_short_help = true)]
    insecure: bool,
    /// With --public-url or beyond loopback addresses, still allow webhooks and hosted attachments at private addresses, such as localhost
    ///
    /// Without it, anyone with a key could reach this machine and its network through the sandbox. A sandbox that only this machine can reach
    /// always permits private addresses. Link-local addresses and the metadata services of cloud providers are never requested.
    #[arg(long, hide_short_help = true)]
    pub(in crate::commands::sandbox) allow_private_addresses: bool,
}

/// For `run`: only the command can reach its sandbox.
impl Default for ListenArgs {
    fn default() -> Self {
        Self {
            host: Ipv4Addr::LOCALHOST.into(),
            allowed_hosts: Vec::new(),
            auth: None,
            insecure: false,
            allow_private_addresses: false,
        }
    }
}

impl ListenArgs {
    /// The password, if any.
    ///
    /// # Errors
    /// Fails if the password is unsuitable, or if a sandbox beyond loopback addresses has none.
    pub(in crate::commands::sandbox) fn password(&self) -> Result<Option<&str>, Fail> {
        let password = self.auth.as_deref().filter(|password| !password.is_empty());
        let rule = match password {
            None if !self.host.is_loopback() && !self.insecure => {
                let rule = format!(
                    "--host {} makes the sandbox reachable from other machines; set a password with --auth, or allow access without one with --insecure",
                    self.host
                );
                return Err(Fail::usage("host", rule, None));
            }
            None => return Ok(None),
            Some(password) if !password.bytes().all(|byte| byte.is_ascii_graphic()) => {
                "--auth must consist of visible ASCII characters without spaces: it is part of API keys"
            }
            Some(password) if password.len() < MIN_PASSWORD => "--auth must have at least 8 characters",
            Some(password) if password.len() > 128 => "--auth must have at most 128 characters",
            Some(password) => return Ok(Some(password)),
        };
        Err(Fail::usage("auth", rule, None))
    }

    /// The API key of the account that the page shows first.
    pub(in crate::commands::sandbox) fn key(&self) -> Result<String, Fail> {
        Ok(self.password()?.map_or_else(|| KEY.to_owned(), |password| format!("sb_{password}")))
    }
}

/// Parses `--allow-host`.
fn host_name(text: &str) -> Result<String, String> {
    let is_name = |name: &str| {
        let mut labels = name.strip_suffix('.').unwrap_or(name).split('.');
        labels.all(|label| !label.is_empty() && !label.contains('*'))
    };
    let host =
        url::Host::parse(text).ok().filter(|host| !matches!(host, url::Host::Domain(name) if !is_name(name)));
    let host = host.ok_or("must be a host name without a port or wildcard, such as mail.internal")?;
    Ok(host.to_string())
}
