//! `events`: custom events, which trigger automations.

use idempost::events::{EventOccurrence, EventPatch, NewEvent};
use idempost::types::fields;
use serde_json::{Map, Value};

use crate::diagnostics::Diagnostic;
use crate::input::flags::Flags;
use crate::input::json;
use crate::rows::prelude::*;

noun!(Events, "Define and send custom events", VERBS);

const VERBS: &[Verb] = &[
    Verb::new(
        "create",
        "Define an event",
        &Create(|client, _, event: &NewEvent| client.events().create(event)),
    )
    .detail("Events can be sent without a definition. If the definition has fields, payloads must match them. Prints the ID.")
    .fields(&[
        Field::positional_or_flag("name", "NAME", "Name of the event, referenced by automations"),
        FIELD.help("Payload field and its type: string, number, boolean or date; repeatable"),
        SCHEMA.help("All fields as one JSON object: {\"plan\": \"string\", \"seats\": \"number\"}"),
    ])
    .fill(|given, body| {
        let schema = read_schema(given, &mut body.flags);
        body.put_all("schema", schema, given.text("schema").is_some());
    })
    .hint("events create user.created")
    .unknown_outcome("the event may have been defined; check: idempost events list --limit 1")
    .examples(&["events create user.created", "events create user.created --field plan=string --field seats=number"]),
    Verb::list(
        "List event definitions, newest first",
        &TABLE,
        &Pages(Paging::Complete, |client, _| client.events().list()),
    )
    .detail("Without --limit, the service returns all of them.")
    .examples(&["events list --json --jq '.data[].name'"]),
    Verb::new("get", "Show an event definition", &Show(|client, ids| client.events().get(ids[0])))
        .ids(EVENT)
        .examples(&["events get user.created --jq .schema"]),
    Verb::new(
        "update",
        "Change the fields of an event definition",
        &Create(|client, ids, patch: &EventPatch| client.events().update(ids[0], patch)),
    )
    .ids(EVENT)
    .fields(&[
        FIELD.help("Payload field and its type: string, number, boolean or date; replaces all previous fields; repeatable"),
        SCHEMA
            .help("All fields as one JSON object, replacing all previous fields: {\"plan\": \"string\", \"seats\": \"number\"}")
            .conflicts("clear"),
        Field::new("schema", "FIELD", "Clear the schema, so that any payload is accepted")
            .flag("clear")
            .choices(&["schema"])
            .manual(),
    ])
    .fill(update)
    .hint("events update NAME --field plan=string")
    .unknown_outcome("the event may have been changed; check: idempost events list")
    .examples(&[
        "events update user.created --field plan=string --field seats=number",
        "events update user.created --clear schema",
    ]),
    Verb::delete(
        "Delete an event definition",
        "the event may have been deleted; check: idempost events list",
        &Delete(|client, ids| client.events().delete(ids[0])),
    )
    .detail("Automations triggered by the event aren't deleted.")
    .ids(EVENT)
    .examples(&["events delete user.created"]),
    Verb::new(
        "send",
        "Send an event for a contact",
        &Create(|client, _, occurrence: &EventOccurrence| client.events().send(occurrence)),
    )
    .detail("Starts a run of every enabled automation triggered by the event. Prints the event's name. The service has no idempotency key for this operation: an event sent twice starts two runs.")
    .fields(&[
        Field::positional("event", "EVENT", "Name of the event"),
        Field::new("contact_id", "ID", "ID of the contact").alias("contact"),
        Field::new("email", "EMAIL", "Email address of the contact, who is created if unknown"),
        Field::new("payload", "KEY=TEXT|JSON", "Payload field as a string, KEY=TEXT, or the whole payload as a JSON object; repeatable")
            .list(&fields::Kind::Text)
            .manual(),
        Field::new("payload", "KEY=JSON", "Payload field as JSON: a number, a boolean, …; repeatable")
            .flag("payload-json")
            .list(&fields::Kind::Text)
            .manual(),
    ])
    .fill(fill_occurrence)
    .hint("events send EVENT --email ada@example.com")
    .unknown_outcome("the event may have been sent and may have started runs; check: idempost automations runs ID")
    .examples(&[
        "events send user.created --email ada@example.com --payload plan=pro --payload-json seats=5",
        "events send user.created --contact-id e169aa45-1ecf-4183-9955-b1499d5701d3",
    ]),
];

const EVENT: &[Field] = &[Field::positional("event", "ID|NAME", "ID or name of the event")];
const FIELD: Field = Field::new("schema", "KEY=TYPE", "").flag("field").list(&fields::Kind::Text).manual();
const SCHEMA: Field = Field::new("schema", "JSON", "").manual();

const TABLE: Table = Table::new(&[
    Column::new("id", "ID", Kind::Id),
    Column::new("name", "NAME", Kind::Text),
    Column::new("schema", "SCHEMA", Kind::Shrinks),
    Column::new("created_at", "CREATED", Kind::Time),
    Column::new("updated_at", "UPDATED", Kind::Time).optional(),
])
.nothing("no events defined");

/// Reads the new schema, or the request to clear it.
fn update(given: &Given<'_>, body: &mut Body) {
    let schema = read_schema(given, &mut body.flags);
    let fields = !given.texts("field").is_empty();
    match given.text("clear") {
        None if !fields && given.text("schema").is_none() => {
            if body.json.get("schema").is_none() {
                body.flags.add_missing("--field, --schema or --clear schema");
            }
        }
        None if fields => {
            body.is_touched = true;
            body.put_all("schema", schema, false);
        }
        None => body.set("schema", schema.into()),
        Some("schema") if !fields => {}
        Some("schema") => {
            let rule = "--field and --clear schema can't be used together";
            body.flags.reject("exclusive", rule, "--clear", "schema");
        }
        Some(other) => body.flags.reject("type", "--clear must be schema", "--clear", other),
    }
}

/// The fields of `--schema` or `--field`; types are validated with the whole request.
fn read_schema(given: &Given<'_>, flags: &mut Flags) -> Map<String, Value> {
    let (mut found, fields) = (Map::new(), given.texts("field"));
    let Some(text) = given.text("schema") else {
        flags.members("/schema", "--field", "KEY=TYPE", &fields, &mut found, |pair| Ok(pair.value.into()));
        return found;
    };
    if let Some(field) = fields.first() {
        flags.reject("exclusive", "--schema and --field can't be used together", "--field", field);
    }
    flags.members_of("/schema", "--schema", text, &mut found, |key, kind| {
        kind.as_str().map(drop).ok_or_else(|| format!("the type of `{key}` must be a string"))
    });
    found
}

/// Sets the payload.
fn fill_occurrence(given: &Given<'_>, body: &mut Body) {
    body.flags.field("", "--email or --contact-id", None);
    let payload = read_payload(given, &mut body.flags);
    let whole = given.texts("payload").iter().any(|text| text.trim_start().starts_with('{'));
    body.put_all("payload", payload, whole);
}

fn read_payload(given: &Given<'_>, flags: &mut Flags) -> Map<String, Value> {
    let mut payload = Map::new();
    let (objects, texts): (Vec<_>, Vec<_>) =
        given.texts("payload").into_iter().partition(|text| text.trim_start().starts_with('{'));
    for text in &objects {
        flags.members_of("/payload", "--payload", text, &mut payload, |_, _| Ok(()));
    }
    flags.members("/payload", "--payload", "KEY=TEXT", &texts, &mut payload, |pair| Ok(pair.value.into()));
    let values = given.texts("payload-json");
    flags.members("/payload", "--payload-json", "KEY=JSON", &values, &mut payload, |pair| {
        match json::read(pair.value) {
            Ok(document) if document.repeated.is_empty() => Ok(document.value),
            Ok(_) => Err(Diagnostic::new("repeated", "a key is repeated", None).into()),
            Err(error) => {
                let rule = format!("--payload-json must be KEY=JSON: {}", error.message);
                Err(Diagnostic::new("json", rule, None).into())
            }
        }
    });
    payload
}
