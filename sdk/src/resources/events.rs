//! Custom events: what an application tells the service of its contacts, so that automations can act on it.

use std::collections::BTreeMap;

use http::Method;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};

use super::{Deleted, Reference};
use crate::{
    call::{Call, Operation},
    client::{Client, Item, List},
    problem::{Problem, Problems},
    types::{ContactId, EventId, Timestamp},
};

/// Names that begin with it belong to the service itself.
const RESERVED_PREFIX: &str = "resend:";

open_enum! {
    /// What a field of an event's payload holds.
    PayloadType {
        /// A text.
        String = "string",
        /// A number.
        Number = "number",
        /// True or false.
        Boolean = "boolean",
        /// A date, or a date and time, in ISO 8601.
        Date = "date",
    }
}

/// A kind of event to be defined: `POST /events`. (The specification is silent on custom events.)
///
/// ```
/// use posthaste::{NewEvent, PayloadType};
///
/// let event = NewEvent::new("user.created").field("plan", PayloadType::String);
/// event.check()?;
/// # Ok::<(), posthaste::Problems>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct NewEvent {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    schema: Option<BTreeMap<String, PayloadType>>,
}

impl NewEvent {
    /// A kind of event whose payload may be anything. The name is not empty and does not begin with `resend:`, which the service
    /// keeps for itself.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), schema: None }
    }

    /// What a field of the payload holds. Once one is named, the payload is checked whenever the event is sent.
    #[must_use]
    pub fn field(mut self, key: impl Into<String>, holds: PayloadType) -> Self {
        self.schema.get_or_insert_default().insert(key.into(), holds);
        self
    }

    /// Everything that is wrong with it.
    ///
    /// # Errors
    /// There is at least one problem.
    pub fn check(&self) -> Result<(), Problems> {
        Problems::check(self.problems())
    }

    fn problems(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        name_problem("/name", "name", &self.name, &mut problems);
        schema_problems(self.schema.as_ref(), &mut problems);
        problems
    }
}

/// Another schema for a kind of event: `PATCH /events/{identifier}`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct EventPatch {
    schema: Option<BTreeMap<String, PayloadType>>,
}

impl EventPatch {
    /// Takes the schema away: the payload may be anything from then on.
    pub fn clear_schema() -> Self {
        Self::default()
    }

    /// Puts these fields in the place of the old ones.
    pub fn schema<K: Into<String>>(fields: impl IntoIterator<Item = (K, PayloadType)>) -> Self {
        Self { schema: Some(fields.into_iter().map(|(key, holds)| (key.into(), holds)).collect()) }
    }

    /// Everything that is wrong with it.
    ///
    /// # Errors
    /// There is at least one problem.
    pub fn check(&self) -> Result<(), Problems> {
        Problems::check(self.problems())
    }

    fn problems(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        schema_problems(self.schema.as_ref(), &mut problems);
        problems
    }
}

/// An event that has happened to a contact: `POST /events/send`. It has exactly one contact, by id or by address.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
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
    /// It has happened to the contact of this id.
    pub fn of_contact(event: impl Into<String>, contact: impl Into<ContactId>) -> Self {
        Self { event: event.into(), subject: Subject::Contact(contact.into()), payload: None }
    }

    /// It has happened to the contact of this address, who becomes a contact when the automation runs if there is none yet.
    pub fn of_email(event: impl Into<String>, email: impl Into<String>) -> Self {
        Self { event: event.into(), subject: Subject::Email(email.into()), payload: None }
    }

    /// Tells more of it: `event.KEY` in rules and values of the automation.
    #[must_use]
    pub fn with(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.payload.get_or_insert_default().insert(key.into(), value.into());
        self
    }

    /// Tells all of it at once, instead of what was told before.
    #[must_use]
    pub fn payload(mut self, payload: Map<String, Value>) -> Self {
        self.payload = Some(payload);
        self
    }

    /// Everything that is wrong with it. Whether the payload fits the schema is the service's to say.
    ///
    /// # Errors
    /// There is at least one problem.
    pub fn check(&self) -> Result<(), Problems> {
        Problems::check(self.problems())
    }

    fn problems(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        name_problem("/event", "event", &self.event, &mut problems);
        match &self.subject {
            Subject::Contact(id) if id.as_str().is_empty() => {
                problems.push(Problem::new("/contact_id", "empty", "`contact_id` must not be empty"));
            }
            Subject::Contact(_) => {}
            Subject::Email(email) => {
                if let Some((code, rule)) = crate::problem::address_fault(email) {
                    problems.push(Problem::new("/email", code, rule).found(email));
                } else if email.contains('<') {
                    let rule = "an address alone, without a name";
                    problems.push(Problem::new("/email", "address", rule).found(email));
                }
            }
        }
        problems
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

/// A kind of event.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Event {
    /// The event's id.
    pub id: EventId,
    /// Its name, by which triggers and waits know it.
    #[serde(default)]
    pub name: Option<String>,
    /// What the fields of the payload hold; none if the payload may be anything.
    #[serde(default)]
    pub schema: Option<BTreeMap<String, PayloadType>>,
    /// When it was defined.
    #[serde(default)]
    pub created_at: Option<Timestamp>,
    /// When its schema was last changed; none if it never was.
    #[serde(default)]
    pub updated_at: Option<Timestamp>,
}

impl Item for Event {
    fn cursor(&self) -> Option<&str> {
        Some(self.id.as_str())
    }
}

/// The answer to an event that was sent: its runs begin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SentEvent {
    /// The event's name.
    #[serde(default)]
    pub event: Option<String>,
}

/// The operations on custom events: [`Client::events`].
///
/// ```
/// # async fn example(client: &posthaste::Client) -> posthaste::Result<()> {
/// use posthaste::{EventOccurrence, EventPatch, NewEvent, PayloadType};
///
/// client.events().create(&NewEvent::new("user.created").field("plan", PayloadType::String)).await?;
/// client.events().update("user.created", &EventPatch::schema([("plan", PayloadType::String)])).await?;
/// println!("{:?}", client.events().get("user.created").await?.schema);
///
/// let signed_up = EventOccurrence::of_email("user.created", "ada@example.com").with("plan", "pro");
/// client.events().send(&signed_up).await?;
///
/// println!("{} kinds of events", client.events().list().await?.data.len());
/// client.events().delete("user.created").await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Events<'a> {
    client: &'a Client,
}

impl Client {
    /// Custom events, which trigger automations.
    pub fn events(&self) -> Events<'_> {
        Events { client: self }
    }
}

impl Events<'_> {
    /// Defines a kind of event: `POST /events`.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) with all problems that [`NewEvent::check`] finds, before anything is sent.
    pub fn create(&self, event: &NewEvent) -> Call<Reference<EventId>> {
        let operation = Operation::new("events.create", Method::POST, "/events")
            .with_problems(event.problems())
            .with_json(event);
        Call::new(&self.client.core, operation)
    }

    /// The kinds of event, newest first: `GET /events`, all of them unless a limit is given.
    pub fn list(&self) -> List<Event> {
        List::new(self.client, Operation::get("events.list", "/events"))
    }

    /// One kind of event, by its id or its name: `GET /events/{identifier}`.
    pub fn get(&self, identifier: impl AsRef<str>) -> Call<Event> {
        Call::new(&self.client.core, on("events.get", Method::GET, identifier.as_ref()))
    }

    /// Gives a kind of event another schema: `PATCH /events/{identifier}`.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) with all problems that [`EventPatch::check`] finds, before anything is sent.
    pub fn update(&self, identifier: impl AsRef<str>, patch: &EventPatch) -> Call<Reference<EventId>> {
        let operation = on("events.update", Method::PATCH, identifier.as_ref())
            .with_problems(patch.problems())
            .with_json(patch);
        Call::new(&self.client.core, operation)
    }

    /// Deletes a kind of event: `DELETE /events/{identifier}`.
    pub fn delete(&self, identifier: impl AsRef<str>) -> Call<Deleted<EventId>> {
        Call::new(&self.client.core, on("events.delete", Method::DELETE, identifier.as_ref()))
    }

    /// Tells the service that an event has happened: `POST /events/send`. Every enabled automation that it triggers starts a run.
    ///
    /// The specification knows no idempotency key here, so a request whose outcome is unknown is never repeated: the runs would start
    /// twice.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) with all problems that [`EventOccurrence::check`] finds, before anything is sent.
    pub fn send(&self, event: &EventOccurrence) -> Call<SentEvent> {
        let operation = Operation::new("events.send", Method::POST, "/events/send")
            .with_problems(event.problems())
            .with_json(event);
        Call::new(&self.client.core, operation)
    }
}

fn on(name: &'static str, method: Method, identifier: &str) -> Operation {
    Operation::on(name, method, "/events/", identifier, "")
}

fn name_problem(path: &str, field: &str, name: &str, problems: &mut Vec<Problem>) {
    if name.is_empty() {
        problems.push(Problem::new(path, "empty", format!("`{field}` must not be empty")));
    } else if name.starts_with(RESERVED_PREFIX) {
        let rule = format!("names that begin with `{RESERVED_PREFIX}` belong to the service");
        problems.push(Problem::new(path, "reserved", rule).found(name));
    }
}

fn schema_problems(schema: Option<&BTreeMap<String, PayloadType>>, problems: &mut Vec<Problem>) {
    for (key, holds) in schema.into_iter().flatten() {
        let pointer = key.replace('~', "~0").replace('/', "~1");
        if key.is_empty() {
            problems.push(Problem::new("/schema/", "empty", "a field of the payload has a name"));
        }
        if let PayloadType::Unknown(word) = holds {
            let rule = "a field of the payload is a string, number, boolean or date";
            problems.push(Problem::new(format!("/schema/{pointer}"), "type", rule).found(word.as_str()));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_event_is_written_as_the_service_reads_it() {
        let wire = |value: &dyn Fn() -> serde_json::Result<Value>| value().unwrap();
        let plain = NewEvent::new("user.created");
        assert_eq!(wire(&|| serde_json::to_value(&plain)), json!({"name": "user.created"}));
        let typed = plain.field("plan", PayloadType::String).field("seats", PayloadType::Number);
        assert_eq!(
            wire(&|| serde_json::to_value(&typed)),
            json!({"name": "user.created", "schema": {"plan": "string", "seats": "number"}})
        );
        assert_eq!(wire(&|| serde_json::to_value(EventPatch::clear_schema())), json!({"schema": null}));
        let of_email = EventOccurrence::of_email("user.created", "ada@example.com").with("seats", 5);
        assert_eq!(
            wire(&|| serde_json::to_value(&of_email)),
            json!({"event": "user.created", "email": "ada@example.com", "payload": {"seats": 5}})
        );
        let of_contact = EventOccurrence::of_contact("user.created", "c1");
        assert_eq!(
            wire(&|| serde_json::to_value(&of_contact)),
            json!({"event": "user.created", "contact_id": "c1"})
        );
    }

    #[test]
    fn all_problems_are_told_at_once() {
        let told = |checked: Result<(), Problems>| -> Vec<_> {
            checked
                .err()
                .iter()
                .flat_map(|problems| problems.iter())
                .map(|p| (p.path.clone(), p.code))
                .collect()
        };
        let event = NewEvent::new("resend:secret").field("a/b", PayloadType::from("list".to_owned()));
        assert_eq!(told(event.check()), [("/name".into(), "reserved"), ("/schema/a~1b".into(), "type")]);
        assert_eq!(told(NewEvent::new("resend").check()), []);
        assert_eq!(
            told(EventOccurrence::of_email("", "Ada <ada@example.com>").check()),
            [("/event".into(), "empty"), ("/email".into(), "address")]
        );
        assert_eq!(told(EventOccurrence::of_contact("x", "").check()), [("/contact_id".into(), "empty")]);
        assert_eq!(told(EventPatch::schema([("x", PayloadType::Date)]).check()), []);
    }
}
