//! Settings that are `enabled` or `disabled` on the wire.

/// Both values, with their meanings.
pub const SWITCH: [(&str, bool); 2] = [("enabled", true), ("disabled", false)];

/// The wire value of a setting.
pub fn enabled_or_disabled(on: bool) -> &'static str {
    if on { "enabled" } else { "disabled" }
}
