//! Invalid client settings.

/// A missing or invalid client setting. It never quotes a secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{setting} {rule}{}", .found.as_ref().map(|found| format!(" (found {found})")).unwrap_or_default())]
#[non_exhaustive]
pub struct SettingsError {
    /// The setting, such as `base_url`, `api_key` or `timeout`, or the environment variable from which it was read.
    pub setting: String,
    /// The rule, such as `must be an absolute http or https URL`.
    pub rule: String,
    /// The offending value, unless it is secret.
    pub found: Option<String>,
}

impl SettingsError {
    pub(crate) fn new(setting: impl Into<String>, rule: impl Into<String>) -> Self {
        Self { setting: setting.into(), rule: rule.into(), found: None }
    }

    pub(crate) fn with_value(mut self, found: impl Into<String>) -> Self {
        self.found = Some(found.into());
        self
    }
}

/// Returns a URL, valid or not, without the user, the password, and anything that may be a password.
pub(crate) fn mask_credentials(value: &str) -> String {
    let (scheme, rest) = match value.split_once("://") {
        Some((scheme, rest)) => (&value[..scheme.len() + 3], rest),
        None => ("", value),
    };
    if let Some((_, host)) = rest.rsplit_once('@') {
        return format!("{scheme}***@{host}");
    }
    match rest.rsplit_once(':') {
        Some((host, port)) if !port.trim_end_matches('/').bytes().all(|byte| byte.is_ascii_digit()) => {
            format!("{scheme}{host}:***")
        }
        _ => value.to_owned(),
    }
}
