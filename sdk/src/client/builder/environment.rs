//! Settings from environment variables.

use super::ClientBuilder;
use crate::{client::handle::Client, problem::SettingsError};

impl Client {
    /// Creates a client from environment variables: see [`ClientBuilder::from_env`].
    ///
    /// # Errors
    /// A variable is missing or malformed.
    #[cfg(feature = "reqwest")]
    pub fn from_env() -> crate::error::Result<Self> {
        ClientBuilder::from_env().build()
    }
}

impl ClientBuilder {
    /// Reads base URL and credential from one of two sets of environment variables, the first that has any variable:
    ///
    /// 1. `IDEMPOST_BASE_URL`, and `IDEMPOST_API_KEY` or `IDEMPOST_ACCESS_TOKEN` (the API key takes precedence), for any service
    /// 2. `RESEND_API_KEY`, and `RESEND_BASE_URL` (default: [`Client::RESEND_BASE_URL`])
    ///
    /// The sets are never mixed, so that a key is sent only to its own service, and a base URL for tests is never ignored. Anything missing from the
    /// first set must be set in code; otherwise, [`build`](Self::build) fails and names the variable. An empty variable counts as unset.
    pub fn from_env() -> Self {
        // A value that isn't UTF-8 is invalid, not unset.
        Self::from_variables(|name| Some(std::env::var_os(name)?.to_string_lossy().into_owned()))
    }

    fn from_variables(get: impl Fn(&str) -> Option<String>) -> Self {
        let get = |name| get(name).filter(|value| !value.is_empty());
        let (base_url, key) = (get("IDEMPOST_BASE_URL"), get("IDEMPOST_API_KEY"));
        let token = get("IDEMPOST_ACCESS_TOKEN");
        if base_url.is_none() && key.is_none() && token.is_none() {
            return Self::from_resend_variables(get("RESEND_BASE_URL"), get("RESEND_API_KEY"));
        }
        let given = if key.is_some() { "IDEMPOST_API_KEY" } else { "IDEMPOST_ACCESS_TOKEN" };
        let base_url = base_url.ok_or_else(|| {
            let rule =
                format!("is missing, although {given} is set; for Resend, set {}", Client::RESEND_BASE_URL);
            SettingsError::new("IDEMPOST_BASE_URL", rule)
        });
        let builder =
            Self { base_url: Some(base_url), base_url_setting: "IDEMPOST_BASE_URL", ..Self::default() };
        match (key, token) {
            (Some(key), _) => builder.api_key(key).credential_from("IDEMPOST_API_KEY"),
            (None, Some(token)) => builder.access_token(token).credential_from("IDEMPOST_ACCESS_TOKEN"),
            (None, None) => {
                builder.with_key_error("IDEMPOST_API_KEY", "is missing, although IDEMPOST_BASE_URL is set")
            }
        }
    }

    fn from_resend_variables(base_url: Option<String>, key: Option<String>) -> Self {
        let rule = match (&base_url, &key) {
            (None, None) => "is missing; set it, or IDEMPOST_BASE_URL and IDEMPOST_API_KEY",
            _ => "is missing, although RESEND_BASE_URL is set",
        };
        let base_url = base_url.unwrap_or_else(|| Client::RESEND_BASE_URL.to_owned());
        let builder =
            Self { base_url: Some(Ok(base_url)), base_url_setting: "RESEND_BASE_URL", ..Self::default() };
        match key {
            Some(key) => builder.api_key(key).credential_from("RESEND_API_KEY"),
            None => builder.with_key_error("RESEND_API_KEY", rule),
        }
    }

    /// Names the variable in the error of an invalid credential.
    fn credential_from(mut self, variable: &str) -> Self {
        if let Some(Err(error)) = &mut self.credentials {
            variable.clone_into(&mut error.setting);
        }
        self
    }

    fn with_key_error(mut self, variable: &str, rule: &str) -> Self {
        self.credentials = Some(Err(SettingsError::new(variable, rule)));
        self
    }
}

#[cfg(test)]
#[cfg(feature = "reqwest")]
mod tests {
    use super::*;
    use crate::auth::Credentials;

    const NAMES: [&str; 5] = [
        "IDEMPOST_BASE_URL",
        "IDEMPOST_API_KEY",
        "IDEMPOST_ACCESS_TOKEN",
        "RESEND_BASE_URL",
        "RESEND_API_KEY",
    ];
    /// One value per variable; the values in the two sets differ.
    const VALUES: [&str; 5] =
        ["http://127.0.0.1:4010", "re_own", "token_own", "http://127.0.0.1:4020", "re_resend"];

    /// Returns a builder from the variables whose bit is set.
    fn with(set: usize) -> ClientBuilder {
        ClientBuilder::from_variables(|name| {
            let i = NAMES.iter().position(|known| *known == name).unwrap();
            (set & 1 << i > 0).then(|| VALUES[i].to_owned())
        })
    }

    /// Returns the base URL and the credential of a client.
    fn used(builder: ClientBuilder) -> Option<(String, String)> {
        let client = builder.build().ok()?;
        let Credentials::Fixed(header) = &client.core.credentials else { return None };
        let credential = header.to_str().unwrap().trim_start_matches("Bearer ").to_owned();
        Some((client.base_url().as_str().trim_end_matches('/').to_owned(), credential))
    }

    fn pair(base_url: &str, credential: &str) -> (String, String) {
        (base_url.to_owned(), credential.to_owned())
    }

    #[test]
    fn no_combination_of_variables_sends_a_key_to_another_service() {
        for set in 0..32 {
            let has = |variable: usize| set & (1 << variable) > 0;
            let expected = match [has(0), has(1), has(2), has(3), has(4)] {
                [true, true, ..] => Some(pair(VALUES[0], VALUES[1])),
                [true, false, true, ..] => Some(pair(VALUES[0], VALUES[2])),
                [false, false, false, true, true] => Some(pair(VALUES[3], VALUES[4])),
                [false, false, false, false, true] => Some(pair(Client::RESEND_BASE_URL, VALUES[4])),
                _ => None,
            };
            let names: Vec<_> = (0..5).filter(|variable| has(*variable)).map(|i| NAMES[i]).collect();
            assert_eq!(used(with(set)), expected, "{names:?}");
        }
    }

    #[test]
    fn a_missing_variable_is_named() {
        for (set, message) in [
            (0b0_0000, "RESEND_API_KEY is missing; set it, or IDEMPOST_BASE_URL and IDEMPOST_API_KEY"),
            (0b0_0001, "IDEMPOST_API_KEY is missing, although IDEMPOST_BASE_URL is set"),
            (0b1_0001, "IDEMPOST_API_KEY is missing, although IDEMPOST_BASE_URL is set"),
            (
                0b0_1010,
                "IDEMPOST_BASE_URL is missing, although IDEMPOST_API_KEY is set; for Resend, set https://api.resend.com",
            ),
            (
                0b0_0100,
                "IDEMPOST_BASE_URL is missing, although IDEMPOST_ACCESS_TOKEN is set; for Resend, set https://api.resend.com",
            ),
            (0b0_1000, "RESEND_API_KEY is missing, although RESEND_BASE_URL is set"),
        ] {
            assert_eq!(with(set).build().unwrap_err().to_string(), message);
        }
    }

    #[test]
    fn an_invalid_variable_is_named_unless_code_replaces_it() {
        for (base_url, key) in [
            ("IDEMPOST_BASE_URL", "IDEMPOST_API_KEY"),
            ("IDEMPOST_BASE_URL", "IDEMPOST_ACCESS_TOKEN"),
            ("RESEND_BASE_URL", "RESEND_API_KEY"),
        ] {
            let from = || {
                ClientBuilder::from_variables(|name| {
                    let value = if name == base_url { "127.0.0.1:4010" } else { "re_x\n" };
                    [base_url, key].contains(&name).then(|| value.to_owned())
                })
            };
            let error = |builder: ClientBuilder| builder.build().unwrap_err().to_string();
            assert!(error(from()).starts_with(&format!("{base_url} must ")), "{}", error(from()));
            let with_url = error(from().base_url("http://127.0.0.1:4010"));
            assert!(with_url.starts_with(&format!("{key} must ")), "{with_url}");
            assert!(error(from().base_url("ftp://x")).starts_with("base_url must "));
        }
    }

    #[test]
    fn code_replaces_what_the_environment_lacks() {
        let other = "http://127.0.0.1:4030";
        assert_eq!(used(with(0b0_0010).base_url(other)), Some(pair(other, "re_own")));
        assert_eq!(used(with(0b0_0001).api_key("re_code")), Some(pair(VALUES[0], "re_code")));
    }

    #[test]
    fn an_empty_variable_counts_as_unset() {
        let from = ClientBuilder::from_variables(|name| {
            Some(if name == "RESEND_API_KEY" { "re_x" } else { "" }.to_owned())
        });
        assert_eq!(used(from), Some(pair(Client::RESEND_BASE_URL, "re_x")));
        let resend = Client::resend("re_x").unwrap();
        assert_eq!(resend.base_url().as_str(), format!("{}/", Client::RESEND_BASE_URL));
    }
}
