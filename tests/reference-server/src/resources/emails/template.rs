//! Sending with a stored template (`SPEC.md`, POST /emails, Template rules).

use serde_json::Value;

use crate::paging::quoted;
use crate::validation::{Fields, Ignored, Problems, kind};

/// The longest variable key in characters.
const LONGEST_KEY: usize = 50;
/// The longest string value in characters.
const LONGEST_VALUE: usize = 2_000;
/// The greatest number: 2^53 - 1.
const GREATEST: u64 = (1 << 53) - 1;
/// The specification names two lists of reserved keys; both are refused, wherever a key is defined or sent.
const RESERVED: [&str; 7] =
    ["FIRST_NAME", "LAST_NAME", "EMAIL", "UNSUBSCRIBE_URL", "SERVICE_UNSUBSCRIBE_URL", "contact", "this"];

/// Checks `template`. True if the email has one, right or wrong.
pub(super) fn check(fields: &mut Fields<'_>, problems: &mut Problems, ignored: &mut Ignored) -> bool {
    let Some(json) = fields.take("template") else { return false };
    for field in ["html", "text"] {
        if fields.take(field).is_some() {
            problems.wrong(|| {
                format!("`{}` and `{}` can't be sent together.", fields.name("template"), fields.name(field))
            });
        }
    }
    let at = format!("{}.", fields.name("template"));
    let pointer = fields.pointer("template");
    let Some(mut template) = Fields::read(json, at, pointer, problems) else { return true };

    if let Some(json) = template.take("variables") {
        check_variables(&template, json, problems);
    }
    match template.take("id") {
        None => problems.missing(template.name("id")),
        Some(json) => match crate::validation::text(json) {
            // No template can be stored yet, so none is found.
            Some(id) if !id.is_empty() => problems.wrong(|| {
                format!(
                    "`{}` must be the id or alias of a published template; there is no template {}.",
                    template.name("id"),
                    quoted(&id)
                )
            }),
            Some(_) => problems.wrong(|| format!("`{}` must not be empty.", template.name("id"))),
            None => {
                problems
                    .wrong(|| format!("`{}` must be a string; found {}.", template.name("id"), kind(json)));
            }
        },
    }
    template.leave(ignored);
    true
}

fn check_variables(template: &Fields<'_>, json: &str, problems: &mut Problems) {
    let at = format!("{}.", template.name("variables"));
    let pointer = template.pointer("variables");
    let Some(mut variables) = Fields::read(json, at, pointer, problems) else { return };
    for key in variables.names() {
        check_key(template, &key, problems);
        let name = variables.name(&key);
        match variables.take_value(&key) {
            Some(Value::String(text)) if text.chars().count() > LONGEST_VALUE => problems.wrong(|| {
                format!(
                    "`{name}` must have at most {LONGEST_VALUE} characters; found {}.",
                    text.chars().count()
                )
            }),
            Some(Value::Number(number)) if exceeds(&number) => {
                problems.wrong(|| format!("`{name}` must not be greater than {GREATEST}; found {number}."));
            }
            Some(Value::String(_) | Value::Number(_)) => {}
            other => problems.wrong(|| {
                let found = other.map_or("null", |value| kind(&value.to_string()));
                format!("`{name}` must be a string or a number; found {found}.")
            }),
        }
    }
}

fn check_key(template: &Fields<'_>, key: &str, problems: &mut Problems) {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    if key.is_empty() || !key.bytes().all(allowed) {
        problems.wrong(|| {
            format!(
                "`{}` must have keys of ASCII letters, digits and underscores; found {}.",
                template.name("variables"),
                quoted(key)
            )
        });
    } else if key.len() > LONGEST_KEY {
        problems.wrong(|| {
            format!(
                "`{}` must have keys of at most {LONGEST_KEY} characters; found one of {}.",
                template.name("variables"),
                key.len()
            )
        });
    } else if RESERVED.contains(&key) {
        problems.wrong(|| format!("`{}` must not use the reserved key {key}.", template.name("variables")));
    }
}

fn exceeds(number: &serde_json::Number) -> bool {
    match (number.as_u64(), number.as_i64()) {
        (Some(whole), _) => whole > GREATEST,
        (None, Some(_)) => false,
        #[expect(clippy::cast_precision_loss, reason = "2^53 - 1 is the greatest whole number that fits")]
        (None, None) => number.as_f64().is_none_or(|float| float > GREATEST as f64),
    }
}
