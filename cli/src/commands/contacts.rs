//! `contacts`: the recipients of broadcasts.

mod export;
mod fields;
pub(crate) mod import;
mod imports;
pub(crate) mod table;
mod topics;

use idempost::contacts::{ContactPatch, NewContact};
use idempost::types::fields::Kind;

use crate::input::flags::Flags;
use crate::rows::prelude::*;
use table::TABLE;

noun!(Contacts, "Manage contacts and their segment memberships", VERBS);

const VERBS: &[Verb] = &[
    Verb::new(
        "create",
        "Create a contact and print its ID",
        &Create(|client, _, contact: &NewContact| client.contacts().create(contact)),
    )
    .detail("The specification doesn't define what happens if a contact already has the address; the sandbox updates that contact.")
    .fields(&[
        Field::positional_or_flag("email", "EMAIL", "Email address of the contact, without a display name"),
        FIRST_NAME, LAST_NAME, UNSUBSCRIBED, PROPERTY, PROPERTY_JSON, PROPERTIES,
        Field::new("segments", "ID", "Segment to add the contact to; repeatable").flag("segment-id").alias("segment"),
        Field::new("topics", "ID=SUBSCRIPTION", "Topic subscription, opt_in or opt_out; repeatable")
            .flag("topic")
            .manual(),
    ])
    .fill(|given, body| {
        fields::properties(given, body);
        fields::topics(given, body);
    })
    .hint("contacts create ada@example.com")
    .unknown_outcome("the contact may have been created; check: idempost contacts get {email}")
    .examples(&[
        "contacts create ada@example.com --first-name Ada --segment-id 78261eea-8f8b-4381-83c6-79fa7120f1cf",
        "contacts create ada@example.com --property city=London --property-json orders=3 \\\n      --topic b6d24b8e-af0b-4c3c-be0c-359bbd97381e=opt_in",
    ]),
    Verb::list(
        "List contacts, newest first",
        &TABLE,
        &Pages(Paging::Complete, |client, given| match given.text("segment_id") {
            Some(segment) => client.contacts().list().segment_id(segment),
            None => client.contacts().list(),
        }),
    )
    .detail("Without --limit, the service returns all of them.")
    .fields(&[Field::new("segment_id", "ID", "Only contacts in this segment").alias("segment")])
    .examples(&[
        "contacts list --limit 10",
        "contacts list --segment-id 78261eea-8f8b-4381-83c6-79fa7120f1cf --all --columns email",
    ]),
    Verb::new("get", "Show one contact and its properties", &Show(|client, ids| client.contacts().get(ids[0])))
        .ids(CONTACT)
        .web(Page { dashboard: "audience/contacts/{}", inbox: None })
        .examples(&[
            "contacts get ada@example.com",
            "contacts get 479e3145-dd38-476b-932c-529ceb705947 --jq .properties.city.value",
        ]),
    Verb::new(
        "update",
        "Change a contact",
        &Update(|client, ids, patch: &ContactPatch| client.contacts().update(ids[0], patch)),
    )
    .detail("Fields and properties not set by a flag stay unchanged.")
    .ids(CONTACT)
    .fields(&[
        Field::new("email", "EMAIL", "New email address"),
        FIRST_NAME, LAST_NAME, UNSUBSCRIBED, PROPERTY, PROPERTY_JSON, PROPERTIES,
    ])
    .clear_flag("Clear a name: first-name or last-name; repeatable")
    .options(&[Field::new("properties", "KEY", "Clear a property; repeatable").flag("clear-property").list(&TEXT).manual()])
    .fill(|given, body| {
        fields::properties(given, body);
        fields::clear_properties(given, body);
    })
    .hint("contacts update ID|EMAIL --first-name '…'")
    .unknown_outcome("the contact may have been changed; check: idempost contacts get {email|0}")
    .examples(&[
        "contacts update ada@example.com --email ada@example.org --clear last-name",
        "contacts update ada@example.com --property city=Paris --clear-property orders --unsubscribed=false",
    ]),
    Verb::delete(
        "Delete a contact, including its segment memberships and topic subscriptions",
        "the contact may have been deleted; check: idempost contacts get {0}",
        &Delete(|client, ids| client.contacts().delete(ids[0])),
    )
    .ids(CONTACT)
    .examples(&["contacts delete ada@example.com"]),
    Verb::new(
        "segments",
        "List the segments of a contact",
        &Pages(Paging::Complete, |client, given| client.contacts().segments(given.ids[0])),
    )
    .detail("Without --limit, the service returns all of them.")
    .ids(CONTACT)
    .table(&super::segments::TABLE)
    .examples(&["contacts segments ada@example.com"]),
    Verb::new(
        "add-to-segment",
        "Add a contact to a segment",
        &Act(|client, ids| client.contacts().add_to_segment(ids[0], ids[1])),
    )
    .detail("Does nothing if the contact is already in the segment. Prints the segment's ID.")
    .ids(MEMBERSHIP)
    .print_argument(1)
    .unknown_outcome(MEMBERSHIP_UNKNOWN)
    .examples(&["contacts add-to-segment ada@example.com 78261eea-8f8b-4381-83c6-79fa7120f1cf"]),
    Verb::new(
        "remove-from-segment",
        "Remove a contact from a segment",
        &Act(|client, ids| client.contacts().remove_from_segment(ids[0], ids[1])),
    )
    .detail("The contact itself isn't deleted. Prints the segment's ID.")
    .ids(MEMBERSHIP)
    .print_argument(1)
    .unknown_outcome(MEMBERSHIP_UNKNOWN)
    .examples(&["contacts remove-from-segment ada@example.com 78261eea-8f8b-4381-83c6-79fa7120f1cf"]),
    Verb::new(
        "topics",
        "List a contact's topic subscriptions",
        &Pages(Paging::Complete, |client, given| client.contacts().topics(given.ids[0])),
    )
    .detail("If the contact hasn't chosen, the topic's default is shown. Without --limit, the service returns all topics.")
    .ids(CONTACT)
    .table(&topics::TABLE)
    .examples(&[
        "contacts topics ada@example.com",
        "contacts topics ada@example.com --jq '.data[] | select(.subscription == \"opt_in\").name'",
    ]),
    Verb::new(
        "update-topics",
        "Change a contact's topic subscriptions",
        &Checked(|client, given| {
            let choices = topics::choices(given, &mut Flags::default());
            client.contacts().update_topics(given.ids[0], choices)
        }),
    )
    .detail("Subscriptions to other topics stay unchanged. Prints the contact's ID.")
    .ids(CONTACT)
    .fields(&[
        Field::new("opt_in", "TOPIC_ID", "Topic to opt in to; repeatable").list(&TEXT).manual(),
        Field::new("opt_out", "TOPIC_ID", "Topic to opt out of; repeatable").list(&TEXT).manual(),
        Field::new("topics", "JSON", "Subscriptions as a JSON array: [{\"id\": \"…\", \"subscription\": \"opt_in\"}]").manual(),
    ])
    .fill(|given, body| drop(topics::choices(given, &mut body.flags)))
    .hint("contacts update-topics ID|EMAIL --opt-out TOPIC")
    .unknown_outcome("the subscriptions may have been changed; check: idempost contacts topics {0}")
    .examples(&[
        "contacts update-topics ada@example.com --opt-out b6d24b8e-af0b-4c3c-be0c-359bbd97381e",
        "contacts update-topics ada@example.com --opt-in b6d24b8e-af0b-4c3c-be0c-359bbd97381e \\\n    --opt-out 5b7f0c1d-93a6-4f6e-8f43-0a4d6e2b8c19",
    ]),
    Verb::custom("import", &own(import::run)),
    Verb::noun::<imports::Imports>("imports"),
    Verb::custom("export", &own(export::run)),
];

const TEXT: Kind = Kind::Text;
const CONTACT: &[Field] = &[Field::positional("contact", "ID|EMAIL", "ID or email address of the contact")];
const MEMBERSHIP: &[Field] = &[CONTACT[0], Field::positional("segment", "SEGMENT_ID", "ID of the segment")];
const MEMBERSHIP_UNKNOWN: &str = "the membership may have changed; check: idempost contacts segments {0}";
const FIRST_NAME: Field = Field::new("first_name", "NAME", "First name");
const LAST_NAME: Field = Field::new("last_name", "NAME", "Last name");
const UNSUBSCRIBED: Field = Field::new(
    "unsubscribed",
    "BOOL",
    "Whether the contact is unsubscribed from all broadcasts: true or false",
);
const PROPERTY: Field = Field::new("properties", "KEY=TEXT", "Set a string property; repeatable")
    .detail("The property must exist: idempost properties create. The value is always a string: `--property N=007` stays `007`.")
    .flag("property")
    .list(&TEXT)
    .manual();
const PROPERTY_JSON: Field =
    Field::new("properties", "KEY=JSON", "Set a property to a JSON string, number or boolean; repeatable")
        .flag("property-json")
        .list(&TEXT)
        .manual();
const PROPERTIES: Field =
    Field::new("properties", "JSON", "Properties as one JSON object of strings, numbers and booleans")
        .manual();
