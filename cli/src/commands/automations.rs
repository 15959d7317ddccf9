//! `automations`: workflows triggered by custom events.

mod definition;
mod runs;

use idempost::automations::AutomationStatus;
use jiff::Timestamp;
use serde_json::Value;

use crate::actions::pages::Table;
use crate::output::record;
use crate::output::table::{Column, Columns, Kind};
use crate::rows::field::{Field, ID};
use crate::rows::operation::{Act, Delete, Own, Pages, Paging, ShowAs};
use crate::rows::{Noun, Verb};

/// The commands.
#[derive(Debug)]
pub(crate) struct Automations;

impl Noun for Automations {
    const ABOUT: &'static str = "Manage automations and inspect their runs";
    const VERBS: &'static [Verb] = &[
        Verb::own(
            "create",
            &Own(|args: definition::CreateArgs, context| Box::pin(definition::create(args, context))),
        ),
        Verb::list(
            "List automations, newest first",
            &TABLE,
            &Pages(Paging::Usual, |client, given| match given.text("status") {
                Some(status) => client.automations().list().status(AutomationStatus::from(status)),
                None => client.automations().list(),
            }),
        )
        .detail("Without --limit, the service returns 20.")
        .pages_first()
        .fields(&[Field::new("status", "STATUS", "Only automations with this status: enabled or disabled")
            .called("the status").choices(AutomationStatus::KNOWN)])
        .examples(&["automations list --status enabled", "automations list --all --json --jq '.data[].name'"]),
        Verb::new(
            "get",
            "Show one automation with its definition",
            &ShowAs(
                |client, ids| client.automations().get(ids[0]),
                |automation| with_tables(automation, &[("steps", &STEPS), ("connections", &CONNECTIONS)]),
            ),
        )
        .detail("The JSON of its steps and connections has the format that `automations create --definition` reads.")
        .ids(ID)
        .examples(&[
            "automations get c9b16d4f-ba6c-4e2e-b044-6bf4404e57fd",
            "automations get c9b16d4f-ba6c-4e2e-b044-6bf4404e57fd --jq '{name, steps, connections}' > series.json",
        ]),
        Verb::own(
            "update",
            &Own(|args: definition::UpdateArgs, context| Box::pin(definition::update(args, context))),
        ),
        Verb::new(
            "stop",
            "Disable an automation and cancel its runs",
            &Act(|client, ids| client.automations().stop(ids[0])),
        )
        .detail("To let runs in progress finish, use `automations update ID --status disabled` instead.")
        .ids(AUTOMATION)
        .unknown("the automation may have been stopped; check: idempost automations list")
        .examples(&["automations stop c9b16d4f-ba6c-4e2e-b044-6bf4404e57fd"]),
        Verb::new(
            "duplicate",
            "Duplicate an automation; the copy is disabled",
            &Act(|client, ids| client.automations().duplicate(ids[0])),
        )
        .ids(AUTOMATION)
        .unknown("the automation may have been copied; check: idempost automations list")
        .examples(&["automations duplicate c9b16d4f-ba6c-4e2e-b044-6bf4404e57fd"]),
        Verb::delete(
            "Delete an automation and its runs",
            "the automation may have been deleted; check: idempost automations list",
            &Delete(|client, ids| client.automations().delete(ids[0])),
        )
        .ids(AUTOMATION)
        .examples(&["automations delete c9b16d4f-ba6c-4e2e-b044-6bf4404e57fd"]),
        Verb::own("runs", &Own(|args: runs::ListArgs, context| Box::pin(runs::list(args, context)))),
        Verb::own("run", &Own(|args: runs::GetArgs, context| Box::pin(runs::get(args, context)))),
    ];
}

const AUTOMATION: &[Field] = &[Field::place("id", "ID", "ID of the automation")];

/// Columns of a list of automations.
const TABLE: Table = Table {
    columns: &[
        Column::new("id", "ID", Kind::Id),
        Column::new("name", "NAME", Kind::Shrinks),
        Column::new("status", "STATUS", Kind::State),
        Column::new("updated_at", "UPDATED", Kind::Time),
        Column::new("created_at", "CREATED", Kind::Time),
    ],
    shown: 4,
    nothing: "no automations",
};

const STEPS: [Column; 3] = [
    Column::new("key", "STEP", Kind::Text),
    Column::new("type", "TYPE", Kind::Text),
    Column::new("config", "CONFIG", Kind::Shrinks),
];

const CONNECTIONS: [Column; 3] = [
    Column::new("from", "FROM", Kind::Text),
    Column::new("to", "TO", Kind::Text),
    Column::new("type", "TYPE", Kind::State),
];

/// Renders a record, with its lists of objects as tables below it.
fn with_tables(document: &Value, tables: &[(&str, &'static [Column])]) -> Vec<String> {
    /// Wide enough for any configuration meant for people.
    const WIDTH: usize = 1_000;
    let mut rest = document.clone();
    let mut below = Vec::new();
    for (field, columns) in tables {
        let taken = rest.as_object_mut().and_then(|fields| fields.remove(*field));
        let rows = taken.as_ref().and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        if !rows.is_empty() {
            below.push(String::new());
            let table = Columns::all(columns).human(rows, WIDTH, Timestamp::now(), false);
            below.extend(table.lines().map(str::to_owned));
        }
    }
    let mut lines = record::lines(&rest);
    lines.extend(below);
    lines
}
