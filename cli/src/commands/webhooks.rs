//! `webhooks`: endpoints that events are delivered to.

mod listen;
mod secrets;
mod verify;

use idempost::types::fields;
use idempost::webhooks::{CreatedWebhook, NewWebhook, WebhookPatch};
use idempost::{Call, Client};

use crate::actions::mutation;
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::flags::{EVENT_TYPES_AND_ALL, event_types};
use crate::output::secret;
use crate::rows::prelude::*;

noun!(Webhooks, "Manage webhooks", VERBS);

const VERBS: &[Verb] = &[
    Verb::new(
        "create",
        "Create a webhook and print its ID",
        &with(async |webhook: NewWebhook, plan: Plan, given: Given<'_>, context: &Context| {
            change_secret(plan, given, context, |client| client.webhooks().create(&webhook)).await
        }),
    )
    .detail("The signing secret isn't printed: write it to a file with --secret-file, or show it with --json.")
    .fields(&[
        Field::positional_or_flag("endpoint", "ENDPOINT", ENDPOINT),
        EVENTS,
        SECRET_FILE,
    ])
    .hint("webhooks create https://acme.test/hooks --event email.delivered")
    .unknown_outcome("the webhook may have been created; check: idempost webhooks list --limit 1")
    .examples(&[
        "webhooks create https://acme.test/hooks --event email.delivered --event email.bounced \\\n      --secret-file hooks.secret",
        "webhooks create https://acme.test/hooks --event email.received --json --jq .signing_secret",
    ]),
    Verb::list("List webhooks, newest first", &TABLE, &Pages(Paging::Complete, |client, _| client.webhooks().list()))
        .detail("Without --limit, the service returns all of them.")
        .examples(&["webhooks list --jq '.data[] | select(.status == \"disabled\").endpoint'"]),
    Verb::new("get", "Show one webhook with its signing secret", &Show(|client, ids| client.webhooks().get(ids[0])))
        .ids(ID)
        .web(Page { dashboard: "webhooks/{}", inbox: None })
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
    .unknown_outcome("the webhook may have been changed; check: idempost webhooks get {0}")
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
    .table(&EVENT_LOG)
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
    .table(&ATTEMPTS)
    .examples(&["webhooks attempts 4dd369bc-aa82-4ff3-97de-514ae3000ee0 msg_27UH4WbU6Z5A5EzD8u03UvzRbpk"]),
    Verb::new(
        "replay",
        "Redeliver an event immediately and print its ID",
        &Act(|client, ids| client.webhooks().replay(ids[0], ids[1])),
    )
    .ids(EVENT)
    .unknown_outcome("the event may be redelivered; check: idempost webhooks attempts {0} {1}")
    .examples(&["webhooks replay 4dd369bc-aa82-4ff3-97de-514ae3000ee0 msg_27UH4WbU6Z5A5EzD8u03UvzRbpk"]),
    Verb::new(
        "rotate-secret",
        "Rotate a webhook's signing secret and print the webhook's ID",
        &Run(Arguments::DryRun, async |given: Given<'_>, context: &Context| {
            let (id, plan) = (given.ids[0], given.plan_change(context).await?);
            change_secret(plan, given, context, |client| client.webhooks().rotate_secret(id)).await
        }),
    )
    .detail("For 24 hours, deliveries are also signed with the old secret. The new one isn't printed: write it to a file with --secret-file, or show it with --json.")
    .ids(WEBHOOK)
    .fields(&[SECRET_FILE])
    .unknown_outcome("the secret may have been rotated; check: idempost webhooks get {0}")
    .examples(&["webhooks rotate-secret 4dd369bc-aa82-4ff3-97de-514ae3000ee0 --secret-file hooks.new"]),
    Verb::custom("listen", &own(listen::run)).is(&[Property::HandlesSignals]),
    Verb::custom("verify", &Direct(verify::run)),
];

const ENDPOINT: &str = "URL that events are delivered to: https, or http";
const WEBHOOK: &[Field] = &[Field::positional("id", "ID", "ID of the webhook")];
const EVENT: &[Field] = &[WEBHOOK[0], Field::positional("event_id", "EVENT_ID", "ID of the event")];
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

const SECRET_FILE: Field =
    Field::new("secret_file", "PATH", "New file for the signing secret, readable only by its owner")
        .local()
        .manual();

const TABLE: Table = Table::new(&[
    Column::new("id", "ID", Kind::Id),
    Column::new("endpoint", "ENDPOINT", Kind::Text),
    Column::new("status", "STATUS", Kind::State),
    Column::new("events", "EVENTS", Kind::Shrinks),
    Column::new("created_at", "CREATED", Kind::Time),
])
.nothing("no webhooks yet");

const EVENT_LOG: Table = Table::new(&[
    Column::new("id", "ID", Kind::Text),
    Column::new("type", "TYPE", Kind::Shrinks),
    Column::new("status", "STATUS", Kind::State),
    Column::new("created_at", "OCCURRED", Kind::Time),
])
.nothing("no events yet");

const ATTEMPTS: Table = Table::new(&[
    Column::new("id", "ID", Kind::Text),
    Column::new("http_status_code", "STATUS", Kind::Text),
    Column::new("response", "RESPONSE", Kind::Shrinks),
    Column::new("sent_at", "SENT", Kind::Time),
])
.nothing("no delivery attempts yet");

/// Executes a change that creates a secret, and stores the secret as requested by the flags.
async fn change_secret(
    plan: Plan,
    given: Given<'_>,
    context: &Context,
    make: impl Fn(&Client) -> Call<CreatedWebhook>,
) -> Result<(), Fail> {
    let file =
        given.text("secret_file").filter(|_| plan.dry_run.is_none()).map(secret::create_file).transpose()?;
    let unknown = given.unknown_outcome();
    let done = mutation::execute(plan.dry_run, &unknown, context, make);
    let response = match done.await {
        Ok(Some(response)) => response,
        Ok(None) => return Ok(()),
        Err(fail) => return Err(mutation::keep_secret(fail, file, context)),
    };
    let id = response.value.id.as_str();
    match file {
        Some(file) => {
            let path = file.path.display().to_string();
            file.write(response.value.signing_secret.expose())?;
            context.out.note(&format!("the secret is in {path}"));
        }
        _ if context.out.is_json() => {}
        _ => context.out.note(&format!("show the secret: idempost webhooks get {id} --jq .signing_secret")),
    }
    mutation::print(id, &response, context)
}
