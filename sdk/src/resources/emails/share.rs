//! Links that let anyone read an email.

use std::time::Duration;

use serde::Serialize;

use crate::{
    call::Call,
    problem::{Problems, Validate, Validator, limits},
    types::EmailId,
};

record! {
    /// A public link to an email: [`Emails::share`](super::Emails::share). (The specification doesn't define this record.)
    pub struct SharedEmail {
        /// The email's ID, sent or received.
        pub id: EmailId,
        /// The page that shows the email. Anyone with the URL can read it until the link expires.
        pub url - url: String,
    }
}

#[derive(Serialize)]
struct Lifetime {
    #[serde(skip)]
    seconds: u64,
    expires_in: String,
}

impl Validate for Lifetime {
    fn check(&self) -> Result<(), Problems> {
        Validator::run(|v| {
            if !(1..=limits::SHARE_SECONDS).contains(&self.seconds) {
                let rule = "`expires_in` must be above zero and at most 48 hours";
                let found = format!("{} seconds", self.seconds);
                v.field("expires_in", |v| v.report_found("range", rule, found));
            }
        })
    }
}

impl Call<SharedEmail> {
    /// Sets how long the link is valid, up to 48 hours, which is the default. Fractions of a second are rounded up.
    ///
    /// A lifetime of zero or above 48 hours is reported as [`Error::Invalid`](crate::Error::Invalid), before anything is sent.
    pub fn expires_in(self, lifetime: Duration) -> Self {
        let seconds = lifetime.as_secs().saturating_add(u64::from(lifetime.subsec_nanos() > 0));
        self.with_input(&Lifetime { seconds, expires_in: format_duration(seconds) })
    }
}

/// Formats the duration for the service, such as `1h 30m`.
fn format_duration(seconds: u64) -> String {
    let parts = [(seconds / 3_600, 'h'), (seconds / 60 % 60, 'm'), (seconds % 60, 's')];
    let parts = parts.into_iter().filter(|(number, _)| *number > 0);
    parts.map(|(number, unit)| format!("{number}{unit}")).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Client;

    #[test]
    fn a_lifetime_is_written_in_words() {
        for (seconds, text) in [
            (1, "1s"),
            (60, "1m"),
            (3_600, "1h"),
            (5_400, "1h 30m"),
            (3_661, "1h 1m 1s"),
            (limits::SHARE_SECONDS, "48h"),
        ] {
            assert_eq!(format_duration(seconds), text);
        }
    }

    #[test]
    fn a_lifetime_out_of_range_is_reported() {
        let client = Client::builder().base_url("http://127.0.0.1:9").api_key("re_test").build().unwrap();
        let sent = |lifetime: Duration| client.emails().share("e1").expires_in(lifetime).preview();
        assert!(sent(Duration::from_nanos(1)).is_ok());
        assert!(sent(Duration::from_secs(limits::SHARE_SECONDS)).is_ok());
        for wrong in [Duration::ZERO, Duration::from_secs(limits::SHARE_SECONDS + 1), Duration::MAX] {
            let Err(crate::Error::Invalid(problems)) = sent(wrong) else { panic!("{wrong:?}") };
            assert_eq!((problems[0].path.as_str(), problems[0].code), ("/expires_in", "range"));
        }
        // The last call takes precedence.
        assert!(
            client
                .emails()
                .share("e1")
                .expires_in(Duration::ZERO)
                .expires_in(Duration::from_mins(1))
                .preview()
                .is_ok()
        );
    }
}
