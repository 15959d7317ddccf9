//! Records from JSON.

use std::any::type_name;

use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::types::strict;

/// Creates a record from the JSON that the service would send. Fields that the code under test doesn't need can be omitted, except identifiers.
///
/// Unlike the decoder for responses, it is strict, so that a test doesn't pass because of a misspelled field. As in a response, values of open
/// enumerations may be unknown.
///
/// ```
/// use idempost::{emails::{LastEvent, SentEmail}, testing::record};
/// use serde_json::json;
///
/// let email: SentEmail = record(json!({
///     "id": "e1", "from": "hi@acme.test", "to": ["ada@example.com"], "subject": "Hello",
///     "created_at": "2026-11-21T04:46:00Z", "last_event": "bounced",
/// }));
/// assert_eq!(email.last_event, Some(LastEvent::Bounced));
/// ```
///
/// # Panics
/// A field is unknown, a value can't be read or has a different type than documented, or an identifier is missing. The message lists all problems.
#[track_caller]
pub fn record<T: DeserializeOwned + Serialize>(json: impl Into<Value>) -> T {
    let json: Value = json.into();
    let name = type_name::<T>().rsplit("::").next().unwrap_or_default();
    let ((record, written), mut problems) = strict::collect(|| {
        let record: Result<T, _> = serde_json::from_value(json.clone());
        let written = record.as_ref().ok().and_then(|record| serde_json::to_value(record).ok());
        (record, written)
    });
    collect_unknown(&json, &written.unwrap_or_default(), "", &mut problems);
    match record {
        Err(error) => panic!("not a {name}: {error}"),
        Ok(_) if !problems.is_empty() => panic!("not a {name}: {}", problems.join("; ")),
        Ok(record) => record,
    }
}

/// Collects the given fields that aren't part of the record. Every object may contain its type as `object`.
fn collect_unknown(given: &Value, written: &Value, path: &str, problems: &mut Vec<String>) {
    match (given, written) {
        (Value::Object(given), Value::Object(written)) => {
            for (name, value) in given {
                match written.get(name) {
                    Some(known) => collect_unknown(value, known, &format!("{path}/{name}"), problems),
                    None if name == "object" || value.is_null() || *value == Value::Array(Vec::new()) => {}
                    None => problems.push(format!("unknown field `{path}/{name}`")),
                }
            }
        }
        (Value::Array(given), Value::Array(written)) => {
            for (index, (given, written)) in given.iter().zip(written).enumerate() {
                collect_unknown(given, written, &format!("{path}/{index}"), problems);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
        Accepted,
        api_keys::CreatedApiKey,
        emails::{AcceptedBatch, SentEmailSummary},
        received::ReceivedEmail,
    };

    fn problems<T: DeserializeOwned + Serialize>(json: Value) -> String {
        let made = std::panic::catch_unwind(|| drop(record::<T>(json)));
        made.err().map(|panic| *panic.downcast::<String>().unwrap()).unwrap_or_default()
    }

    #[test]
    fn a_record_of_a_test_rejects_unknown_and_unreadable_fields() {
        let email = |extra: Value| {
            let mut email = json!({"object": "email", "id": "e1", "to": ["a@x.test"], "from": "b@x.test", "subject": "s", "created_at": "2026-11-21T04:46:00Z"});
            email.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
            email
        };
        assert_eq!(record::<SentEmailSummary>(email(json!({}))).subject, "s");
        let wrong = json!({"subjct": "x", "to": [1]});
        let shown = problems::<SentEmailSummary>(email(wrong));
        for part in ["not a SentEmailSummary", "unknown field `/subjct`", "`to` can't be [1]"] {
            assert!(shown.contains(part), "{shown}");
        }
        let nested = json!({"attachments": [{"id": "f1", "filename": "a.txt", "size": "many", "extra": 1}]});
        let shown = problems::<ReceivedEmail>(email(nested));
        assert!(
            shown.contains("`size` can't be \"many\"") && shown.contains("`/attachments/0/extra`"),
            "{shown}"
        );
        assert!(problems::<Accepted>(json!({"id": "e1", "ID": 1})).contains("unknown field `/ID`"));
        assert!(problems::<Accepted>(json!({})).contains("missing field `id`"));
        assert!(record::<AcceptedBatch>(json!({"data": [{"id": "e1"}], "errors": []})).errors.is_empty());
    }

    #[test]
    fn a_secret_field_of_a_record_is_known_and_never_serialized() {
        // AUTH-08
        let key: CreatedApiKey = record(json!({"id": "k1", "token": "re_sentinel"}));
        assert_eq!(key.token.expose(), "re_sentinel");
        assert!(!serde_json::to_string(&key).unwrap().contains("token"));
    }
}
