//! A client setting that is missing or wrong.

/// A setting of the client that is missing or wrong. A secret is named but never repeated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{setting} {rule}{}", .found.as_ref().map(|found| format!(" (found {found})")).unwrap_or_default())]
#[non_exhaustive]
pub struct SettingsError {
    /// Which: `base_url`, `api_key`, `timeout`, or the environment variable that it came from.
    pub setting: String,
    /// The rule: `must be an absolute http or https address`.
    pub rule: String,
    /// What was found instead, unless it is secret.
    pub found: Option<String>,
}

impl SettingsError {
    pub(crate) fn new(setting: impl Into<String>, rule: impl Into<String>) -> Self {
        Self { setting: setting.into(), rule: rule.into(), found: None }
    }

    pub(crate) fn found(mut self, found: impl Into<String>) -> Self {
        self.found = Some(found.into());
        self
    }
}
