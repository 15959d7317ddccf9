//! `automations`: workflows triggered by custom events.

mod runs;

use idempost::automations::{AutomationPatch, AutomationStatus, NewAutomation};
use serde_json::Value;

use crate::input::flags::Flags;
use crate::input::json::{self, Document};
use crate::output::record;
use crate::rows::prelude::*;

noun!(Automations, "Manage automations and inspect their runs", VERBS);

const VERBS: &[Verb] = &[
    Verb::new(
        "create",
        "Create an automation",
        &Parse(NewAutomation::from_json, |client, _, automation| client.automations().create(automation)),
    )
    .detail("The definition is a JSON object with `steps` and `connections`, and with `name` and `status` unless flags set them. A step has `key`, `type` and `config`; the types are trigger, send_email, delay, wait_for_event, condition, contact_update, contact_delete and add_to_segment. A connection has `from`, `to` and, after conditions and waits, `type`. All problems are reported together, with their location in the file.\n\nPrints the ID. Without a status the automation is disabled: events don't start runs.")
    .fields(&[
        Field::positional_or_flag("name", "NAME", "Display name of the automation").optional(),
        STATUS, STEPS_JSON, CONNECTIONS_JSON,
    ])
    .fill(|given, body| {
        fill_definition(given, body);
        if given.text("definition").or(given.text("steps")).is_none() {
            for pointer in ["/steps", "/connections"] {
                body.flags.field(pointer, "--definition or --steps", None);
            }
        }
    })
    .input_flag("definition", "File with the definition; - reads standard input")
    .unknown_outcome("the automation may have been created; check: idempost automations list --limit 1")
    .examples(&[
        "automations create --definition series.json",
        "automations create 'Welcome series' --definition series.json --status enabled",
        "automations create Welcome --connections '[{\"from\":\"start\",\"to\":\"mail\"}]' \\\n      --steps \"$(cat steps.json)\"",
        "automations get ID --jq '{name, steps, connections}' | idempost automations create --definition -",
    ]),
    Verb::list(
        "List automations, newest first",
        &TABLE,
        &Pages(Paging::Usual, |client, given| match given.text("status") {
            Some(status) => client.automations().list().status(AutomationStatus::from(status)),
            None => client.automations().list(),
        }),
    )
    .detail("Without --limit, the service returns 20.")
    .paging_first()
    .fields(&[Field::new("status", "STATUS", "Only automations with this status: enabled or disabled")
        .label("the status").choices(AutomationStatus::KNOWN)])
    .examples(&["automations list --status enabled", "automations list --all --json --jq '.data[].name'"]),
    Verb::new(
        "get",
        "Show one automation with its definition",
        &ShowAs(
            |client, ids| client.automations().get(ids[0]),
            |automation| record::with_tables(automation, &[("steps", &STEPS), ("connections", &CONNECTIONS)]),
        ),
    )
    .detail("The JSON of its steps and connections has the format that `automations create --definition` reads.")
    .ids(ID)
    .web(Page { dashboard: "automations/{}/editor", inbox: None })
    .examples(&[
        "automations get c9b16d4f-ba6c-4e2e-b044-6bf4404e57fd",
        "automations get c9b16d4f-ba6c-4e2e-b044-6bf4404e57fd --jq '{name, steps, connections}' > series.json",
    ]),
    Verb::new(
        "update",
        "Change an automation's name, status or definition",
        &Parse(AutomationPatch::from_json, |client, ids, patch| client.automations().update(ids[0], patch)),
    )
    .detail("A new definition replaces the old one; runs in progress finish with the old one. When an automation is disabled, its runs in progress still finish; `automations stop` cancels them.")
    .ids(AUTOMATION)
    .fields(&[Field::new("name", "TEXT", "Display name of the automation"), STATUS, STEPS_JSON, CONNECTIONS_JSON])
    .fill(|given, body| {
        fill_definition(given, body);
        body.flags.field("", "--name, --status, --definition or --steps", None);
    })
    .input_flag("definition", "File with `steps` and `connections`, and `name` and `status` to change them; - reads standard input")
    .unknown_outcome("the automation may have been changed; check: idempost automations get {0}")
    .examples(&[
        "automations update c9b16d4f-ba6c-4e2e-b044-6bf4404e57fd --status enabled",
        "automations update c9b16d4f-ba6c-4e2e-b044-6bf4404e57fd --definition series.json",
    ]),
    Verb::new(
        "stop",
        "Disable an automation and cancel its runs",
        &Act(|client, ids| client.automations().stop(ids[0])),
    )
    .detail("To let runs in progress finish, use `automations update ID --status disabled` instead.")
    .ids(AUTOMATION)
    .unknown_outcome("the automation may have been stopped; check: idempost automations list")
    .examples(&["automations stop c9b16d4f-ba6c-4e2e-b044-6bf4404e57fd"]),
    Verb::new(
        "duplicate",
        "Duplicate an automation; the copy is disabled",
        &Act(|client, ids| client.automations().duplicate(ids[0])),
    )
    .ids(AUTOMATION)
    .unknown_outcome("the automation may have been copied; check: idempost automations list")
    .examples(&["automations duplicate c9b16d4f-ba6c-4e2e-b044-6bf4404e57fd"]),
    Verb::delete(
        "Delete an automation and its runs",
        "the automation may have been deleted; check: idempost automations list",
        &Delete(|client, ids| client.automations().delete(ids[0])),
    )
    .ids(AUTOMATION)
    .examples(&["automations delete c9b16d4f-ba6c-4e2e-b044-6bf4404e57fd"]),
    Verb::new(
        "runs",
        "List the runs of an automation, newest first",
        &Pages(Paging::Complete, |client, given| {
            let statuses = given.text("status").map(|text| runs::statuses(text, &mut Flags::default()));
            client.automations().runs(given.ids[0]).status(statuses.unwrap_or_default())
        }),
    )
    .detail("Without --limit, the service returns all of them. To see the steps of a run, use `automations run`.")
    .ids(AUTOMATION)
    .paging_first()
    .fields(&[Field::new("status", "STATUSES", "Only runs with these statuses, comma-separated: running, completed, failed, cancelled").manual()])
    .fill(|given, body| {
        given.text("status").into_iter().for_each(|text| drop(runs::statuses(text, &mut body.flags)));
    })
    .table(&runs::TABLE)
    .examples(&[
        "automations runs c9b16d4f-ba6c-4e2e-b044-6bf4404e57fd --limit 10",
        "automations runs c9b16d4f-ba6c-4e2e-b044-6bf4404e57fd --status failed,cancelled",
    ]),
    Verb::new("run", "Show one run and the outcome of its steps", &Run(Arguments::Nothing, runs::get))
        .ids(RUN)
        .wait_flag(runs::COMPLETED, "Wait until the run ends; exits with 3 unless it completed")
        .examples(&[
            "automations run c9b16d4f-ba6c-4e2e-b044-6bf4404e57fd 8f2a7c1e-4b3d-4e5f-9a6b-7c8d9e0f1a2b",
            "automations run c9b16d4f-ba6c-4e2e-b044-6bf4404e57fd 8f2a7c1e-4b3d-4e5f-9a6b-7c8d9e0f1a2b --wait",
        ]),
];

const AUTOMATION: &[Field] = &[Field::positional("id", "ID", "ID of the automation")];
const RUN: &[Field] = &[AUTOMATION[0], Field::positional("run", "RUN_ID", "ID of the run")];

const STATUS: Field = Field::new("status", "STATUS", "Whether events start runs: enabled or disabled");
const STEPS_JSON: Field = Field::new("steps", "JSON", "Steps as a JSON array, replacing the file's steps")
    .json()
    .requires("connections")
    .manual();
const CONNECTIONS_JSON: Field =
    Field::new("connections", "JSON", "Connections as a JSON array, replacing the file's connections")
        .json()
        .requires("steps")
        .manual();

/// Columns of a list of automations.
const TABLE: Table = Table::new(&[
    Column::new("id", "ID", Kind::Id),
    Column::new("name", "NAME", Kind::Shrinks),
    Column::new("status", "STATUS", Kind::State),
    Column::new("updated_at", "UPDATED", Kind::Time),
    Column::new("created_at", "CREATED", Kind::Time).optional(),
])
.nothing("no automations");

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

/// Reads the JSON of `--steps` and `--connections`.
fn fill_definition(given: &Given<'_>, body: &mut Body) {
    for (field, flag) in [("steps", "--steps"), ("connections", "--connections")] {
        let Some(text) = given.text(field) else { continue };
        body.flags.field(&format!("/{field}"), flag, Some(text));
        let rule = match json::read(text) {
            Ok(Document { value: value @ Value::Array(_), repeated, .. }) if repeated.is_empty() => {
                body.set(field, value);
                continue;
            }
            Ok(Document { value: Value::Array(_), .. }) => "a key is repeated".to_owned(),
            Ok(_) => format!("{flag} must be a JSON array"),
            Err(error) => error.message,
        };
        body.reject_malformed("json", rule, flag, text);
    }
}
