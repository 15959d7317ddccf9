//! `events send`: the event of the flags.

use idempost::events::EventOccurrence;
use serde_json::{Map, Value};

use crate::input::flags::Flags;
use crate::input::json;
use crate::input::pair::Pair;
use crate::rows::given::Given;

/// The event of all flags; problems are reported.
pub(super) fn occurrence(given: &Given<'_>, flags: &mut Flags) -> EventOccurrence {
    let event = given.ids[0];
    flags.field("/event", "EVENT", Some(event));
    let occurrence = match (given.text("contact_id"), given.text("email")) {
        (Some(_), Some(email)) => {
            let rule = "--contact-id and --email can't be used together: an event concerns one contact";
            flags.wrong("exclusive", rule, "--email", email);
            EventOccurrence::for_email(event, email)
        }
        (Some(id), None) => EventOccurrence::for_contact(event, id),
        (None, Some(email)) => EventOccurrence::for_email(event, email),
        (None, None) => {
            flags.missing("--email or --contact-id");
            // A placeholder for a missing contact, which has been reported.
            EventOccurrence::for_contact(event, "-")
        }
    };
    let payload = payload(given, flags);
    if payload.is_empty() { occurrence } else { occurrence.payload(payload) }
}

fn payload(given: &Given<'_>, flags: &mut Flags) -> Map<String, Value> {
    let mut payload = Map::new();
    let [texts, values] = ["payload", "payload_json"].map(|id| given.texts(id));
    let texts = texts.iter().enumerate().map(|(i, text)| ("--payload", i + 1, text));
    let values = values.iter().enumerate().map(|(i, text)| ("--payload-json", i + 1, text));
    for (flag, n, text) in texts.chain(values) {
        let typed = flag == "--payload-json";
        if !typed && text.trim_start().starts_with('{') {
            for (key, value) in flags.object(flag, n, text) {
                if payload.insert(key, value).is_some() {
                    flags.wrong_nth("exclusive", "a key in this object is repeated", flag, n, text);
                }
            }
            continue;
        }
        let Some(pair) = Pair::read(text, '=').filter(|pair| !pair.name.is_empty()) else {
            let rule = if typed { "the payload must be KEY=JSON" } else { "the payload must be KEY=TEXT" };
            flags.wrong_nth("type", rule, flag, n, text);
            continue;
        };
        let value = if typed {
            match json::read(pair.value) {
                Ok(document) if document.repeated.is_empty() => document.value,
                Ok(_) => {
                    flags.wrong_nth("repeated", "a key is repeated", flag, n, text);
                    continue;
                }
                Err(error) => {
                    let rule = format!("the payload must be KEY=JSON: {}", error.message);
                    flags.wrong_nth("json", rule, flag, n, text);
                    continue;
                }
            }
        } else {
            Value::String(pair.value.to_owned())
        };
        if payload.insert(pair.name.to_owned(), value).is_some() {
            flags.wrong_nth("exclusive", "this key is repeated", flag, n, text);
        }
    }
    payload
}
