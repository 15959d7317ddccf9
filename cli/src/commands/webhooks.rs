//! `webhooks`: endpoints that events are delivered to.

mod deliveries;
mod listen;
mod secrets;
mod verify;

use idempost::types::fields;
use idempost::{
    call::WithResponse,
    webhooks::{CreatedWebhook, NewWebhook, WebhookPatch},
};

use crate::actions::mutation;
use crate::actions::pages::Table;
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::flags::{DryRun, EVENT_TYPES_AND_ALL, event_types};
use crate::output::secret::{self, SecretFile};
use crate::output::table::{Column, Kind};
use crate::rows::field::{Field, ID};
use crate::rows::given::Given;
use crate::rows::operation::{Act, Delete, Own, Pages, Paging, Show, Update, With};
use crate::rows::{Noun, Verb};

/// The commands.
#[derive(Debug)]
pub(crate) struct Webhooks;

impl Noun for Webhooks {
    const ABOUT: &'static str = "Manage webhooks";
    const VERBS: &'static [Verb] = &[
        Verb::new(
            "create",
            "Create a webhook and print its ID",
            &With(|webhook: NewWebhook, dry_run, given, context| Box::pin(create(webhook, dry_run, given, context))),
        )
        .detail("The signing secret isn't printed: write it to a file with --secret-file, or show it with --json.")
        .fields(&[
            Field::place_or_flag("endpoint", "ENDPOINT", ENDPOINT),
            EVENTS,
            Field::new("secret_file", "PATH", "New file for the signing secret, readable only by its owner").local().by_hand(),
        ])
        .hint("webhooks create https://acme.test/hooks --event email.delivered")
        .unknown("the webhook may have been created; check: idempost webhooks list --limit 1")
        .examples(&[
            "webhooks create https://acme.test/hooks --event email.delivered --event email.bounced \\\n      --secret-file hooks.secret",
            "webhooks create https://acme.test/hooks --event email.received --json --jq .signing_secret",
        ]),
        Verb::list("List webhooks, newest first", &TABLE, &Pages(Paging::Complete, |client, _| client.webhooks().list()))
            .detail("Without --limit, the service returns all of them.")
            .examples(&["webhooks list --jq '.data[] | select(.status == \"disabled\").endpoint'"]),
        Verb::new("get", "Show one webhook with its signing secret", &Show(|client, ids| client.webhooks().get(ids[0])))
            .ids(ID)
            .examples(&["webhooks get 4dd369bc-aa82-4ff3-97de-514ae3000ee0 --jq .events"]),
        Verb::new(
            "update",
            "Change a webhook",
            &Update(|client, ids, patch: &WebhookPatch| client.webhooks().update(ids[0], patch)),
        )
        .detail("Fields not set by a flag stay unchanged. --event replaces all subscribed event types.")
        .ids(WEBHOOK)
        .fields(&[
            Field::new("endpoint", "URL", ENDPOINT),
            EVENTS,
            Field::new("status", "STATUS", "Status: enabled, or disabled to pause deliveries"),
        ])
        .hint("webhooks update ID --status disabled")
        .unknown("the webhook may have been changed; check: idempost webhooks get {0}")
        .examples(&[
            "webhooks update 4dd369bc-aa82-4ff3-97de-514ae3000ee0 --status disabled",
            "webhooks update 4dd369bc-aa82-4ff3-97de-514ae3000ee0 --event email.sent --event email.failed",
        ]),
        Verb::delete(
            "Delete a webhook",
            "the webhook may have been deleted; check: idempost webhooks get {0}",
            &Delete(|client, ids| client.webhooks().delete(ids[0])),
        )
        .ids(ID)
        .examples(&["webhooks delete 4dd369bc-aa82-4ff3-97de-514ae3000ee0"]),
        Verb::new(
            "events",
            "List the events of a webhook, newest first",
            &Pages(Paging::Older, |client, given| client.webhooks().events(given.ids[0])),
        )
        .ids(WEBHOOK)
        .table(&deliveries::EVENTS)
        .examples(&["webhooks events 4dd369bc-aa82-4ff3-97de-514ae3000ee0 --jq '.data[] | select(.status == \"failed\").id'"]),
        Verb::new(
            "event",
            "Show one event of a webhook with its payload",
            &Show(|client, ids| client.webhooks().event(ids[0], ids[1])),
        )
        .ids(EVENT)
        .examples(&["webhooks event 4dd369bc-aa82-4ff3-97de-514ae3000ee0 msg_27UH4WbU6Z5A5EzD8u03UvzRbpk --jq .payload"]),
        Verb::new(
            "attempts",
            "List the delivery attempts of an event, newest first",
            &Pages(Paging::Older, |client, given| client.webhooks().attempts(given.ids[0], given.ids[1])),
        )
        .ids(EVENT)
        .table(&deliveries::ATTEMPTS)
        .examples(&["webhooks attempts 4dd369bc-aa82-4ff3-97de-514ae3000ee0 msg_27UH4WbU6Z5A5EzD8u03UvzRbpk"]),
        Verb::new(
            "replay",
            "Redeliver an event immediately and print its ID",
            &Act(|client, ids| client.webhooks().replay(ids[0], ids[1])),
        )
        .ids(EVENT)
        .unknown("the event may be redelivered; check: idempost webhooks attempts {0} {1}")
        .examples(&["webhooks replay 4dd369bc-aa82-4ff3-97de-514ae3000ee0 msg_27UH4WbU6Z5A5EzD8u03UvzRbpk"]),
        Verb::own("rotate-secret", &Own(|args: deliveries::RotateArgs, context| Box::pin(deliveries::rotate(args, context)))),
        Verb::own("listen", &Own(|args: listen::Args, context| Box::pin(listen::run(args, context)))).handles_signals(),
        Verb::own("verify", &Own(|args: verify::Args, context| Box::pin(async move { verify::run(&args, context) }))),
    ];
}

const ENDPOINT: &str = "URL that events are delivered to: https, or http";
const WEBHOOK: &[Field] = &[Field::place("id", "ID", "ID of the webhook")];
const EVENT: &[Field] = &[WEBHOOK[0], Field::place("event_id", "EVENT_ID", "ID of the event")];
const EVENTS: Field = Field::new(
    "events",
    "TYPE",
    "Event types, such as email.delivered; comma-separated or repeated; all selects every type except beta types",
)
.flag("event")
.alias("events")
.list(&fields::Kind::Choice(EVENT_TYPES_AND_ALL))
.delimited()
.map(event_types);

const TABLE: Table = Table {
    columns: &[
        Column::new("id", "ID", Kind::Id),
        Column::new("endpoint", "ENDPOINT", Kind::Text),
        Column::new("status", "STATUS", Kind::State),
        Column::new("events", "EVENTS", Kind::Shrinks),
        Column::new("created_at", "CREATED", Kind::Time),
    ],
    shown: 5,
    nothing: "no webhooks yet",
};

async fn create(
    webhook: NewWebhook,
    dry_run: Option<DryRun>,
    given: Given<'_>,
    context: &Context,
) -> Result<(), Fail> {
    let file = given.text("secret_file").filter(|_| dry_run.is_none()).map(secret::place).transpose()?;
    let unknown = given.unknown();
    let done = mutation::execute(dry_run, &unknown, context, |client| client.webhooks().create(&webhook));
    match done.await {
        Ok(Some(response)) => print_secret(&response, file, context),
        Ok(None) => Ok(()),
        Err(fail) => Err(mutation::keep_secret(fail, file, context)),
    }
}

/// Prints the ID of a webhook with a new secret, and puts the secret where the flags say.
fn print_secret(
    response: &WithResponse<CreatedWebhook>,
    file: Option<SecretFile<'_>>,
    context: &Context,
) -> Result<(), Fail> {
    let id = response.value.id.as_str();
    match file {
        Some(file) => {
            let path = file.path().display().to_string();
            file.write(response.value.signing_secret.expose())?;
            context.out.note(&format!("the secret is in {path}"));
        }
        _ if context.out.is_json() => {}
        _ => context.out.note(&format!("show the secret: {} --jq .signing_secret", show_command(id))),
    }
    mutation::print(id, response, context)
}

/// The command that shows one webhook, for hints.
fn show_command(id: &str) -> String {
    format!("idempost webhooks get {id}")
}
