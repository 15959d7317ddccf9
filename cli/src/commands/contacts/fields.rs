//! The flags that `contacts create` and `contacts update` share.

use idempost::types::Scalar;
use serde_json::Value;

use crate::input::flags::{BOOL, Flags};
use crate::input::json;
use crate::input::pair::Pair;

/// The fields of a contact as flags.
#[derive(Debug, clap::Args)]
#[group(skip)]
pub(super) struct Args {
    /// First name
    #[arg(long, value_name = "NAME")]
    pub(super) first_name: Option<String>,
    /// Last name
    #[arg(long, value_name = "NAME")]
    pub(super) last_name: Option<String>,
    /// Whether the contact is unsubscribed from all broadcasts: true or false
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = BOOL, hide_possible_values = true)]
    pub(super) unsubscribed: Option<String>,
    /// Set a string property; repeatable
    ///
    /// The property must exist: idempost properties create. The value is always a string: `--property N=007` stays `007`.
    #[arg(long, value_name = "KEY=TEXT")]
    property: Vec<String>,
    /// Set a property to a JSON string, number or boolean; repeatable
    #[arg(long, value_name = "KEY=JSON")]
    property_json: Vec<String>,
    /// Properties as one JSON object of strings, numbers and booleans
    #[arg(long, value_name = "JSON")]
    properties: Option<String>,
}

impl Args {
    /// The properties in the order given; malformed ones are reported.
    pub(super) fn properties(&self, flags: &mut Flags) -> Vec<(String, Scalar)> {
        let mut found: Vec<(String, Scalar)> = Vec::new();
        let texts = self.property.iter().enumerate().map(|(i, text)| ("--property", i, text));
        let typed = self.property_json.iter().enumerate().map(|(i, text)| ("--property-json", i, text));
        for (flag, i, text) in texts.chain(typed) {
            let value = match (Pair::read(text, '='), flag) {
                (Some(pair), "--property") => Ok((pair.name, pair.value.into())),
                (Some(pair), _) => match serde_json::from_str(pair.value) {
                    Ok(Value::String(text)) => Ok((pair.name, text.into())),
                    Ok(Value::Number(number)) => Ok((pair.name, number.into())),
                    Ok(Value::Bool(yes)) => Ok((pair.name, yes.into())),
                    _ => Err(format!("{flag} must be KEY=JSON with a JSON string, number or boolean")),
                },
                (None, _) => Err(format!("{flag} must be a key and a value separated by `=`")),
            };
            match value {
                Ok((key, _)) if found.iter().any(|(known, _)| known == key) => {
                    flags.wrong_nth(
                        "exclusive",
                        format!("the property `{key}` is repeated"),
                        flag,
                        i + 1,
                        text,
                    );
                }
                Ok((key, value)) => {
                    flags.field(&format!("/properties{}", json::pointer(key)), flag, Some(text));
                    found.push((key.to_owned(), value));
                }
                Err(rule) => flags.wrong_nth("type", rule, flag, i + 1, text),
            }
        }
        let whole = self.properties.as_deref().map(|text| (text, flags.object("--properties", 1, text)));
        for (text, (key, value)) in
            whole.into_iter().flat_map(|(text, whole)| whole.into_iter().map(move |one| (text, one)))
        {
            let value = match value {
                Value::String(text) => text.into(),
                Value::Number(number) => number.into(),
                Value::Bool(yes) => yes.into(),
                _ => {
                    let rule = format!("the property `{key}` must be a JSON string, number or boolean");
                    flags.wrong("type", rule, "--properties", text);
                    continue;
                }
            };
            if found.iter().any(|(known, _)| *known == key) {
                flags.wrong("exclusive", format!("the property `{key}` is repeated"), "--properties", text);
            }
            flags.field(&format!("/properties{}", json::pointer(&key)), "--properties", Some(text));
            found.push((key, value));
        }
        found
    }

    /// Reads `--unsubscribed`; reports anything but true and false.
    pub(super) fn unsubscribed(&self, flags: &mut Flags) -> Option<bool> {
        let text = self.unsubscribed.as_deref()?;
        let read = text.parse().ok();
        if read.is_none() {
            flags.wrong("type", "--unsubscribed must be true or false", "--unsubscribed", text);
        }
        read
    }

    /// Registers which flags set which fields.
    pub(super) fn name(&self, flags: &mut Flags) {
        flags.field("/first_name", "--first-name", self.first_name.as_deref());
        flags.field("/last_name", "--last-name", self.last_name.as_deref());
    }
}
