//! The two fallback flags: one for strings, one for numbers.

use serde_json::Number;

use crate::input::flags::Flags;

/// Fallback, matching the property's type
#[derive(Debug, clap::Args)]
#[group(skip)]
pub(super) struct Args {
    /// String used for contacts without a value
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    fallback: Option<String>,
    /// Number used for contacts without a value
    #[arg(long, value_name = "NUMBER", allow_hyphen_values = true)]
    fallback_number: Option<String>,
}

/// The given fallback.
#[derive(Debug)]
pub(super) enum Fallback {
    Text(String),
    Number(Number),
}

impl Args {
    pub(super) fn is_given(&self) -> bool {
        self.fallback.is_some() || self.fallback_number.is_some()
    }

    /// Reads the fallback and reports problems.
    pub(super) fn read(self, flags: &mut Flags) -> Option<Fallback> {
        let number = self.fallback_number.as_deref().and_then(|text| {
            let number = serde_json::from_str(text).ok();
            if number.is_none() {
                let rule = "--fallback-number must be a number such as 17, -1 or 2.5";
                flags.wrong("type", rule, "--fallback-number", text);
            }
            number
        });
        if let (Some(_), Some(number)) = (&self.fallback, &self.fallback_number) {
            let rule = "--fallback and --fallback-number can't be used together";
            flags.wrong("exclusive", rule, "--fallback-number", number);
        }
        self.fallback.map(Fallback::Text).or(number.map(Fallback::Number))
    }
}
