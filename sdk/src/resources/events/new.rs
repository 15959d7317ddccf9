//! Custom events: definitions to create, and occurrences to send.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use super::record::{PayloadType, validate_schema};
use crate::{
    problem::{Problems, Validator},
    types::ContactId,
    types::fields::{Field, Input, Reader},
};

/// The prefix reserved for the service's own events.
const RESERVED_PREFIX: &str = "resend:";

input! {
    /// A custom event to create with [`Events::create`](super::Events::create). (The specification doesn't define custom events.)
    ///
    /// ```
    /// use idempost::events::{NewEvent, PayloadType};
    ///
    /// let event = NewEvent::new("user.created").field("plan", PayloadType::String);
    /// event.check()?;
    /// # Ok::<(), idempost::problem::Problems>(())
    /// ```
    #[derive(Eq)]
    pub struct NewEvent {
        /// Creates an event with an unrestricted payload. The name must not be empty or start with `resend:`, which is reserved.
        new(name: String);
        other {
            #[serde(skip_serializing_if = "Option::is_none")]
            schema: Option<BTreeMap<String, PayloadType>>,
        }
    }
}

impl NewEvent {
    /// Adds a payload field to the schema. The service validates each sent payload against the schema.
    pub fn field(mut self, key: impl Into<String>, kind: PayloadType) -> Self {
        self.schema.get_or_insert_default().insert(key.into(), kind);
        self
    }

    fn validate(&self, v: &mut Validator) {
        v.field("name", |v| validate_name(v, "name", &self.name));
        validate_schema(v, self.schema.as_ref());
    }
}

validate!(NewEvent);

/// An occurrence of a custom event, to send with [`Events::send`](super::Events::send). It concerns one contact, by ID or address.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
#[must_use]
pub struct EventOccurrence {
    event: String,
    subject: Subject,
    payload: Option<Map<String, Value>>,
}

#[derive(Clone, Debug, PartialEq)]
enum Subject {
    Contact(ContactId),
    Email(String),
}

impl EventOccurrence {
    /// Creates an occurrence for the contact with this ID.
    pub fn for_contact(event: impl Into<String>, contact: impl Into<ContactId>) -> Self {
        Self { event: event.into(), subject: Subject::Contact(contact.into()), payload: None }
    }

    /// Creates an occurrence for the contact with this address. If there is none, the automation run creates the contact.
    pub fn for_email(event: impl Into<String>, email: impl Into<String>) -> Self {
        Self { event: event.into(), subject: Subject::Email(email.into()), payload: None }
    }

    /// Adds a payload field, to which rules and values in automations refer as `event.KEY`.
    pub fn field(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.payload.get_or_insert_default().insert(key.into(), value.into());
        self
    }

    setters! {
        /// Sets the whole payload, replacing all fields added before.
        payload(Map<String, Value>);
    }

    fn validate(&self, v: &mut Validator) {
        v.field("event", |v| validate_name(v, "event", &self.event));
        match &self.subject {
            Subject::Contact(id) => v.not_empty("contact_id", Some(id.as_str())),
            Subject::Email(email) => v.field("email", |v| v.bare_address(email)),
        }
    }
}

validate! {
    /// Only the service can validate the payload against the event's schema.
    ///
    EventOccurrence
}

impl Input for EventOccurrence {
    const FIELDS: &'static [Field] = &[
        Field::required::<String>("event"),
        Field::optional::<ContactId>("contact_id"),
        Field::optional::<String>("email"),
        Field::optional::<Map<String, Value>>("payload"),
    ];

    fn read(json: &Value) -> (Self, Result<(), Problems>) {
        Reader::input(json, |fields| {
            let event = fields.required("event");
            match (fields.has_field("contact_id"), fields.has_field("email")) {
                (true, true) => {
                    let rule =
                        "`contact_id` and `email` can't be used together: an event concerns one contact";
                    fields.report("email", "exclusive", rule);
                }
                (false, false) => fields.report("", "required", "`contact_id` or `email` is required"),
                _ => {}
            }
            let contact = fields.optional("contact_id").map(Subject::Contact);
            let subject = contact.or(fields.optional("email").map(Subject::Email));
            // A placeholder; the problem has been reported above.
            let subject = subject.unwrap_or_else(|| Subject::Contact("-".into()));
            Self { event, subject, payload: fields.optional("payload") }
        })
    }
}

impl Serialize for EventOccurrence {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Wire<'a> {
            event: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            contact_id: Option<&'a str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            email: Option<&'a str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            payload: Option<&'a Map<String, Value>>,
        }
        let (contact_id, email) = match &self.subject {
            Subject::Contact(id) => (Some(id.as_str()), None),
            Subject::Email(email) => (None, Some(email.as_str())),
        };
        Wire { event: &self.event, contact_id, email, payload: self.payload.as_ref() }.serialize(serializer)
    }
}

fn validate_name(v: &mut Validator, field: &str, name: &str) {
    if name.is_empty() {
        v.report("empty", format!("`{field}` must not be empty"));
    } else if name.starts_with(RESERVED_PREFIX) {
        let rule =
            format!("`{field}` must not start with `{RESERVED_PREFIX}`, which is reserved for the service");
        v.report_found("reserved", rule, name);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{problem::codes, resources::events::EventPatch};

    #[test]
    fn an_event_serializes_to_the_wire_format() {
        let wire = |value: &dyn Fn() -> serde_json::Result<Value>| value().unwrap();
        let plain = NewEvent::new("user.created");
        assert_eq!(wire(&|| serde_json::to_value(&plain)), json!({"name": "user.created"}));
        let typed = plain.field("plan", PayloadType::String).field("seats", PayloadType::Number);
        assert_eq!(
            wire(&|| serde_json::to_value(&typed)),
            json!({"name": "user.created", "schema": {"plan": "string", "seats": "number"}})
        );
        assert_eq!(wire(&|| serde_json::to_value(EventPatch::clear_schema())), json!({"schema": null}));
        let of_email = EventOccurrence::for_email("user.created", "ada@example.com").field("seats", 5);
        assert_eq!(
            wire(&|| serde_json::to_value(&of_email)),
            json!({"event": "user.created", "email": "ada@example.com", "payload": {"seats": 5}})
        );
        let of_contact = EventOccurrence::for_contact("user.created", "c1");
        assert_eq!(
            wire(&|| serde_json::to_value(&of_contact)),
            json!({"event": "user.created", "contact_id": "c1"})
        );
    }

    #[test]
    fn all_problems_are_reported_at_once() {
        let event = NewEvent::new("resend:secret").field("a/b", PayloadType::from("list".to_owned()));
        assert_eq!(codes(event.check()), "reserved /name, type /schema/a~1b");
        assert_eq!(codes(NewEvent::new("resend").check()), "");
        assert_eq!(
            codes(EventOccurrence::for_email("", "Ada <ada@example.com>").check()),
            "empty /event, address /email"
        );
        assert_eq!(codes(EventOccurrence::for_email("x", " a@b.c").check()), "address /email");
        assert_eq!(codes(EventOccurrence::for_contact("x", "").check()), "empty /contact_id");
        assert_eq!(codes(EventPatch::schema([("x", PayloadType::Date)]).check()), "");
    }
}
