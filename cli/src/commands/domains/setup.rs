//! The flags that `domains create` and `domains update` share.

use idempost::domains::Tls;

use crate::input::flags::{BOOL, Choices, Flags};

/// Tracking of a domain
#[derive(Debug, Clone, clap::Args)]
#[group(skip)]
pub(super) struct TrackingArgs {
    /// Track opens: true or false; requires a verified --tracking-subdomain
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = BOOL, hide_possible_values = true)]
    open_tracking: Option<String>,
    /// Track clicks: true or false; requires a verified --tracking-subdomain
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = BOOL, hide_possible_values = true)]
    click_tracking: Option<String>,
    /// Subdomain label for tracked links, such as links
    #[arg(long, value_name = "LABEL")]
    pub(super) tracking_subdomain: Option<String>,
}

/// Settings of a domain
#[derive(Debug, Clone, clap::Args)]
#[group(skip)]
pub(super) struct Args {
    #[command(flatten)]
    tracking: TrackingArgs,
    /// TLS mode for delivery: opportunistic falls back to plaintext, enforced doesn't
    #[arg(long, value_name = "MODE", value_parser = Choices(&["opportunistic", "enforced"]), hide_possible_values = true)]
    tls: Option<String>,
    /// Sending from the domain: enabled or disabled
    #[arg(long, value_name = "STATE", value_parser = Choices(&["enabled", "disabled"]), hide_possible_values = true)]
    sending: Option<String>,
    /// Receiving at the domain: enabled or disabled; requires an MX record
    #[arg(long, value_name = "STATE", value_parser = Choices(&["enabled", "disabled"]), hide_possible_values = true)]
    receiving: Option<String>,
}

/// The parsed flags.
#[derive(Debug, Default)]
pub(super) struct Setup {
    pub(super) open_tracking: Option<bool>,
    pub(super) click_tracking: Option<bool>,
    pub(super) tracking_subdomain: Option<String>,
    pub(super) tls: Option<Tls>,
    pub(super) sending: Option<bool>,
    pub(super) receiving: Option<bool>,
    /// Whether any flag was given, valid or not.
    pub(super) given: bool,
}

/// Parses a flag with two values: whether it is the first.
fn word(flags: &mut Flags, flag: &'static str, value: Option<&str>, words: [&str; 2]) -> Option<bool> {
    let value = value?;
    let found = words.iter().position(|word| *word == value).map(|at| at == 0);
    if found.is_none() {
        flags.wrong("type", format!("{flag} must be {} or {}", words[0], words[1]), flag, value);
    }
    found
}

impl TrackingArgs {
    /// Parses whether opens and clicks are tracked, and reports invalid values.
    pub(super) fn read(&self, flags: &mut Flags) -> (Option<bool>, Option<bool>) {
        let bool = ["true", "false"];
        let open = word(flags, "--open-tracking", self.open_tracking.as_deref(), bool);
        let click = word(flags, "--click-tracking", self.click_tracking.as_deref(), bool);
        flags.field("/tracking_subdomain", "--tracking-subdomain", self.tracking_subdomain.as_deref());
        (open, click)
    }
}

impl Args {
    /// Parses the flags and reports invalid values.
    pub(super) fn read(self, flags: &mut Flags) -> Setup {
        let TrackingArgs { open_tracking, click_tracking, tracking_subdomain } = &self.tracking;
        let given =
            [open_tracking, click_tracking, tracking_subdomain, &self.tls, &self.sending, &self.receiving];
        let given = given.iter().any(|value| value.is_some());
        let switch = ["enabled", "disabled"];
        let (open_tracking, click_tracking) = self.tracking.read(flags);
        let sending = word(flags, "--sending", self.sending.as_deref(), switch);
        let receiving = word(flags, "--receiving", self.receiving.as_deref(), switch);
        flags.field("/tls", "--tls", self.tls.as_deref());
        let both = self.sending.as_deref().or(self.receiving.as_deref());
        let flag = if self.sending.is_some() { "--sending" } else { "--receiving" };
        flags.field("/capabilities", flag, both);
        Setup {
            open_tracking,
            click_tracking,
            given,
            tracking_subdomain: self.tracking.tracking_subdomain,
            tls: self.tls.map(Tls::from),
            sending,
            receiving,
        }
    }
}
