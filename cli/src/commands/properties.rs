//! `properties`: custom contact fields.

mod fallback;

use idempost::contact_properties::{ContactPropertyPatch, NewContactProperty};

use crate::rows::prelude::*;

noun!(Properties, "Manage contact properties, the custom fields of contacts", VERBS);

const VERBS: &[Verb] = &[
    Verb::new(
        "create",
        "Create a contact property and print its ID",
        &Create(|client, _, property: &NewContactProperty| {
            client.contact_properties().create(property.clone())
        }),
    )
    .detail("Broadcasts insert it with {{{contact.KEY|fallback}}}. The key and type can't be changed later.")
    .fields(&[
        Field::positional_or_flag("key", "KEY", "Key of A-Z a-z 0-9 _, at most 50 characters"),
        Field::new("type", "TYPE", "Type: string or number [default: type of the fallback]")
            .choices(&["string", "number"])
            .manual(),
        FALLBACK,
        FALLBACK_NUMBER,
    ])
    .fill(fallback::create)
    .hint("properties create city --type string")
    .unknown_outcome("the property may have been created; check: idempost properties list --limit 1")
    .examples(&[
        "properties create city --type string --fallback 'your town'",
        "properties create orders --type number --fallback-number 0",
    ]),
    Verb::list(
        "List contact properties, newest first",
        &TABLE,
        &Pages(Paging::Usual, |client, _| client.contact_properties().list()),
    )
    .examples(&["properties list", "properties list --all --jq '.data[].key'"]),
    Verb::new(
        "get",
        "Show one contact property",
        &Show(|client, ids| client.contact_properties().get(ids[0])),
    )
    .ids(ID)
    .examples(&["properties get 0c9a2f4e-6d1b-4f53-8f5e-2b7d9a1c3e60"]),
    Verb::new(
        "update",
        "Change the fallback of a contact property",
        &Update(|client, ids, patch: &ContactPropertyPatch| {
            client.contact_properties().update(ids[0], patch)
        }),
    )
    .detail("The fallback must match the property's type. Type and key can't be changed.")
    .ids(&[Field::positional("id", "ID", "ID of the property")])
    .fields(&[FALLBACK, FALLBACK_NUMBER])
    .fill(fallback::update)
    .clear_flag("Clear a field: fallback")
    .hint("properties update ID --fallback '…'")
    .unknown_outcome("the property may have been changed; check: idempost properties get {0}")
    .examples(&[
        "properties update 0c9a2f4e-6d1b-4f53-8f5e-2b7d9a1c3e60 --fallback 'your place'",
        "properties update 0c9a2f4e-6d1b-4f53-8f5e-2b7d9a1c3e60 --clear fallback",
    ]),
    Verb::delete(
        "Delete a contact property and its values on all contacts",
        "the property may have been deleted; check: idempost properties get {0}",
        &Delete(|client, ids| client.contact_properties().delete(ids[0])),
    )
    .ids(ID)
    .examples(&["properties delete 0c9a2f4e-6d1b-4f53-8f5e-2b7d9a1c3e60"]),
];

const FALLBACK: Field = Field::new("fallback_value", "TEXT", "String used for contacts without a value")
    .flag("fallback")
    .hyphens()
    .manual();
const FALLBACK_NUMBER: Field =
    Field::new("fallback_value", "NUMBER", "Number used for contacts without a value")
        .flag("fallback-number")
        .hyphens()
        .manual();

/// Columns of a list of contact properties.
const TABLE: Table = Table::new(&[
    Column::new("id", "ID", Kind::Id),
    Column::new("key", "KEY", Kind::Shrinks),
    Column::new("type", "TYPE", Kind::Text),
    Column::new("fallback_value", "FALLBACK", Kind::Shrinks),
    Column::new("created_at", "CREATED", Kind::Time),
])
.nothing("no contact properties yet");
