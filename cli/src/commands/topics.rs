//! `topics`: subscription topics of contacts.

use idempost::topics::{NewTopic, TopicPatch};

use crate::rows::prelude::*;

noun!(Topics, "Manage topics that contacts can opt in to and out of", VERBS);

const VERBS: &[Verb] = &[
    Verb::new(
        "create",
        "Create a topic and print its ID",
        &Create(|client, _, topic: &NewTopic| client.topics().create(topic)),
    )
    .detail("The default applies to recipients without a choice, even if they aren't contacts. It can't be changed later, so the flag is required.")
    .fields(&[
        Field::positional_or_flag("name", "NAME", "Name shown to contacts, at most 50 characters"),
        Field::new("default_subscription", "SUBSCRIPTION", "Default subscription: opt_in or opt_out"),
        DESCRIPTION,
        Field::new("visibility", "VISIBILITY", "Visibility: public or private [default: private]"),
    ])
    .hint("topics create 'Weekly digest' --default-subscription opt_in")
    .unknown_outcome("the topic may have been created; check: idempost topics list --limit 1")
    .examples(&[
        "topics create 'Weekly digest' --default-subscription opt_in",
        "topics create 'Product news' --default-subscription opt_out --visibility public \\\n    --description 'What is new, at most once a month'",
    ]),
    Verb::list("List topics, newest first", &TABLE, &Pages(Paging::Usual, |client, _| client.topics().list()))
        .detail("For one contact's subscriptions, use `contacts topics`.")
        .examples(&[
            "topics list",
            "topics list --all --jq '.data[] | select(.default_subscription == \"opt_in\").name'",
        ]),
    Verb::new("get", "Show one topic", &Show(|client, ids| client.topics().get(ids[0])))
        .ids(ID)
        .web(Page { dashboard: "audience/topics/{}", inbox: None })
        .examples(&["topics get b6d24b8e-af0b-4c3c-be0c-359bbd97381e"]),
    Verb::new(
        "update",
        "Change a topic",
        &Update(|client, ids, patch: &TopicPatch| client.topics().update(ids[0], patch)),
    )
    .detail("Fields not set by a flag stay unchanged. The default subscription can't be changed.")
    .ids(&[Field::positional("id", "ID", "ID of the topic")])
    .fields(&[
        Field::new("name", "TEXT", "Name shown to contacts, at most 50 characters"),
        DESCRIPTION,
        Field::new("visibility", "VISIBILITY", "Visibility: public or private"),
    ])
    .clear_flag("Clear a field: description")
    .hint("topics update ID --name '…'")
    .unknown_outcome("the topic may have been changed; check: idempost topics get {0}")
    .examples(&[
        "topics update b6d24b8e-af0b-4c3c-be0c-359bbd97381e --name 'Monthly digest'",
        "topics update b6d24b8e-af0b-4c3c-be0c-359bbd97381e --visibility public --clear description",
    ]),
    Verb::delete(
        "Delete a topic and the contacts' subscriptions to it",
        "the topic may have been deleted; check: idempost topics get {0}",
        &Delete(|client, ids| client.topics().delete(ids[0])),
    )
    .ids(ID)
    .examples(&["topics delete b6d24b8e-af0b-4c3c-be0c-359bbd97381e"]),
];

const DESCRIPTION: Field =
    Field::new("description", "TEXT", "Description shown to contacts, at most 200 characters");

/// Columns of a list of topics.
const TABLE: Table = Table::new(&[
    Column::new("id", "ID", Kind::Id),
    Column::new("name", "NAME", Kind::Shrinks),
    Column::new("default_subscription", "DEFAULT", Kind::Text),
    Column::new("visibility", "VISIBILITY", Kind::Text),
    Column::new("created_at", "CREATED", Kind::Time),
    Column::new("description", "DESCRIPTION", Kind::Shrinks).optional(),
])
.nothing("no topics yet");
