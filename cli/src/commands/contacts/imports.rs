//! `contacts imports`: the imports that the service runs, started by `contacts import --server`.

use idempost::contact_imports::ContactImportStatus;

use crate::rows::prelude::*;

noun!(Imports, "Show contact imports started with `contacts import --server`", VERBS);

const VERBS: &[Verb] = &[
    Verb::list(
        "List contact imports, newest first",
        &TABLE,
        &Pages(Paging::Usual, |client, given| match given.text("status") {
            Some(status) => client.contact_imports().list().status(ContactImportStatus::from(status)),
            None => client.contact_imports().list(),
        }),
    )
    .detail("Without --limit, the service returns 10.")
    .fields(&[Field::new(
        "status",
        "STATUS",
        "Only imports with this status: queued, in_progress, completed or failed",
    )
    .choices(ContactImportStatus::KNOWN)])
    .examples(&["contacts imports list --status in_progress"]),
    Verb::new(
        "get",
        "Show one contact import and the number of rows by their effect",
        &Show(|client, ids| client.contact_imports().get(ids[0])),
    )
    .ids(&[Field::positional("id", "ID", "ID of the import")])
    .examples(&["contacts imports get 479e3145-dd38-476b-932c-529ceb705947 --jq .counts.failed"]),
];

/// Columns of the list.
const TABLE: Table = Table::new(&[
    Column::new("id", "ID", Kind::Id),
    Column::new("status", "STATUS", Kind::State),
    Column::new("total", "ROWS", Kind::Text).pointer("/counts/total"),
    Column::new("created", "CREATED", Kind::Text).pointer("/counts/created"),
    Column::new("updated", "UPDATED", Kind::Text).pointer("/counts/updated"),
    Column::new("skipped", "SKIPPED", Kind::Text).pointer("/counts/skipped"),
    Column::new("failed", "FAILED", Kind::Text).pointer("/counts/failed"),
    Column::new("created_at", "STARTED", Kind::Time),
    Column::new("completed_at", "ENDED", Kind::Time).optional(),
])
.nothing("no contact imports");
