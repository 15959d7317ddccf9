//! The flags of tracking, and the capabilities of a domain.

use crate::input::flags::{BOOL, Flags};
use crate::rows::given::{Body, Given};

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

/// Maps a problem with both capabilities to the flags.
pub(super) fn capabilities(given: &Given<'_>, body: &mut Body) {
    let (sending, receiving) = (given.text("sending"), given.text("receiving"));
    let flag = if sending.is_some() { "--sending" } else { "--receiving" };
    body.flags.field("/capabilities", flag, sending.or(receiving));
}
