//! The flags that `domains create` and `domains update` share.

use posthaste::Tls;

use crate::input::flags::{BOOL, Choices, Flags};

/// Settings of a domain
#[derive(Debug, Clone, clap::Args)]
#[group(skip)]
pub(super) struct Args {
    /// Track opens: true or false; requires a verified --tracking-subdomain
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = BOOL, hide_possible_values = true)]
    open_tracking: Option<String>,
    /// Track clicks: true or false; requires a verified --tracking-subdomain
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = BOOL, hide_possible_values = true)]
    click_tracking: Option<String>,
    /// Subdomain label for tracked links, such as links
    #[arg(long, value_name = "LABEL")]
    tracking_subdomain: Option<String>,
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

impl Args {
    /// Parses the flags and reports invalid values.
    pub(super) fn read(self, flags: &mut Flags) -> Setup {
        let mut given = false;
        let mut word = |flag: &'static str, value: Option<&str>, words: [&str; 2]| {
            let value = value?;
            given = true;
            let found = words.iter().position(|word| *word == value).map(|at| at == 0);
            if found.is_none() {
                flags.wrong("type", format!("{flag} must be {} or {}", words[0], words[1]), flag, value);
            }
            found
        };
        let (bool, switch) = (["true", "false"], ["enabled", "disabled"]);
        let open_tracking = word("--open-tracking", self.open_tracking.as_deref(), bool);
        let click_tracking = word("--click-tracking", self.click_tracking.as_deref(), bool);
        let sending = word("--sending", self.sending.as_deref(), switch);
        let receiving = word("--receiving", self.receiving.as_deref(), switch);
        flags.field("/tracking_subdomain", "--tracking-subdomain", self.tracking_subdomain.as_deref());
        flags.field("/tls", "--tls", self.tls.as_deref());
        let both = self.sending.as_deref().or(self.receiving.as_deref());
        let flag = if self.sending.is_some() { "--sending" } else { "--receiving" };
        flags.field("/capabilities", flag, both);
        Setup {
            open_tracking,
            click_tracking,
            given: given || self.tracking_subdomain.is_some() || self.tls.is_some(),
            tracking_subdomain: self.tracking_subdomain,
            tls: self.tls.map(Tls::from),
            sending,
            receiving,
        }
    }
}
