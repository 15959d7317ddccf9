//! `broadcasts`: one email for all contacts of a segment.

mod confirm_send;

use idempost::broadcasts::{BounceType, BroadcastPatch, NewBroadcast, RecipientType};
use idempost::{Client, Error, List, error::ApiErrorKind};

use crate::actions::{confirm, mutation};
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::rows::operation;
use crate::rows::prelude::*;

noun!(Broadcasts, "Send one email to all contacts of a segment, now or later", VERBS);

const VERBS: &[Verb] = &[
    Verb::new("create", "Create a broadcast as a draft, or send it with --send", &with(create))
        .detail(CREATE)
        .fields(&[
            SEGMENT, FROM.default_sender(), SUBJECT, BODIES, REPLY_TO, PREVIEW, NAME, TOPIC,
            Field::new("send", "", "Send it: now, or at the time of --scheduled-at").switch(),
            Field::new("scheduled_at", "TIME", "With --send, the time: ISO 8601, or a phrase such as `in 1 hour`").detail(UNCHANGED),
        ])
        .fill(fill_send_flags)
        .wait_flag(confirm_send::SENT, "With --send, wait until the broadcast is sent")
        .hint("broadcasts create --segment-id ID --from 'You <you@yours.test>' --subject '…' --html-file PATH")
        .unknown_outcome("the broadcast may have been created; check: idempost broadcasts list --limit 1")
        .examples(&[
            "broadcasts create --segment-id 78261eea-8f8b-4381-83c6-79fa7120f1cf --from 'Acme <news@acme.test>' \\\n      --subject 'Your week' --html-file week.html",
            "broadcasts create --segment-id 78261eea-8f8b-4381-83c6-79fa7120f1cf --from news@acme.test \\\n      --subject 'Hello {{{FIRST_NAME}}}' --text-file week.txt --send --scheduled-at 'friday at 9am'",
        ]),
    Verb::list("List broadcasts, newest first", &TABLE, &Pages(Paging::Complete, |client, _| client.broadcasts().list()))
        .detail("Without --limit, the service returns all of them.")
        .examples(&["broadcasts list --limit 10", "broadcasts list --jq '.data[] | select(.status == \"draft\").id'"]),
    Verb::new("get", "Show one broadcast with its content", &Show(|client, ids| client.broadcasts().get(ids[0])))
        .ids(ID)
        .web(Page { dashboard: "broadcasts/{}", inbox: None })
        .examples(&["broadcasts get 559ac32e-9ef5-46fb-82a1-b76b840c0f7b --jq .status"]),
    Verb::new(
        "update",
        "Change a draft or a scheduled broadcast",
        &Update(|client, ids, patch: &BroadcastPatch| client.broadcasts().update(ids[0], patch)),
    )
    .detail("Fields not set by a flag stay unchanged. A scheduled broadcast stays scheduled.")
    .ids(BROADCAST)
    .fields(&[
        SEGMENT, FROM, SUBJECT, BODIES, REPLY_TO, PREVIEW, NAME, TOPIC,
    ])
    .clear_flag("Clear a field: reply-to, html, text, preview-text, name or topic-id; repeatable")
    .hint("broadcasts update ID --subject '…'")
    .unknown_outcome("the broadcast may have been changed; check: idempost broadcasts get {0}")
    .examples(&[
        "broadcasts update 559ac32e-9ef5-46fb-82a1-b76b840c0f7b --subject 'Your week, corrected'",
        "broadcasts update 559ac32e-9ef5-46fb-82a1-b76b840c0f7b --html-file week.html --clear text --clear topic-id",
    ]),
    Verb::new("send", "Send a draft to the contacts of its segment, now or later", &Run(Arguments::DryRun, send))
        .detail("Asks for confirmation, since a sent broadcast can't be recalled; --yes skips the question. Only a draft can be sent, and only once.\n\nThe service has no idempotency key for this operation. If the response is lost, the request isn't retried; after exit code 9, check first.")
        .ids(BROADCAST)
        .fields(&[Field::new("scheduled_at", "TIME", "Time to send: ISO 8601, or a phrase such as `in 1 hour`").detail(UNCHANGED)])
        .wait_flag(confirm_send::SENT, "Wait until the broadcast is sent")
        .unknown_outcome("the broadcast may have been sent; check: idempost broadcasts get {0}")
        .on_success(|_, plan, broadcast, context| Box::pin(confirm_send::wait(plan.wait, broadcast, context)))
        .examples(&[
            "broadcasts send 559ac32e-9ef5-46fb-82a1-b76b840c0f7b",
            "broadcasts send 559ac32e-9ef5-46fb-82a1-b76b840c0f7b --scheduled-at 'tomorrow at 9am' --yes",
            "broadcasts send 559ac32e-9ef5-46fb-82a1-b76b840c0f7b --yes --wait --wait-timeout 10m",
        ]),
    Verb::new("cancel", "Cancel a broadcast before it is sent", &Act(|client, ids| client.broadcasts().cancel(ids[0])))
        .detail("A scheduled broadcast becomes a draft again. A broadcast that is being sent stops permanently. Drafts and sent broadcasts can't be canceled.")
        .ids(ID)
        .unknown_outcome("the broadcast may have been canceled; check: idempost broadcasts get {0}")
        .examples(&["broadcasts cancel 559ac32e-9ef5-46fb-82a1-b76b840c0f7b"]),
    Verb::new(
        "recipients",
        "List the recipients of a broadcast by event",
        &Pages(Paging::Usual, |client, given| {
            let kind = RecipientType::from(given.text("type").unwrap_or_default());
            let list = client.broadcasts().recipients(given.ids[0], kind);
            let list = given.text("email").into_iter().fold(list, List::email);
            given.text("bounce_type").into_iter().fold(list, |list, bounce| list.bounce_type(BounceType::from(bounce)))
        }),
    )
    .detail("Items have no IDs: the column id is a cursor for --after and --before.")
    .ids(BROADCAST)
    .fields(&[
        Field::new("type", "TYPE", "Event: sent, delivered, opened, clicked, bounced, complained, unsubscribed or suppressed")
            .choices(RecipientType::KNOWN)
            .required(),
        Field::new("email", "TEXT", "Only addresses that contain TEXT"),
        Field::new("bounce_type", "TYPE", "Only bounces of this type: permanent, transient or undetermined").choices(BounceType::KNOWN),
    ])
    .fill(|given, body| match given.text("bounce_type") {
        Some(bounce) if given.text("type") != Some("bounced") => {
            let rule = "--bounce-type requires --type bounced";
            body.flags.reject("exclusive", rule, "--bounce-type", bounce);
        }
        _ => {}
    })
    .table(&RECIPIENTS)
    .hint("broadcasts recipients ID --type opened")
    .examples(&[
        "broadcasts recipients 559ac32e-9ef5-46fb-82a1-b76b840c0f7b --type opened --all",
        "broadcasts recipients 559ac32e-9ef5-46fb-82a1-b76b840c0f7b --type bounced --bounce-type permanent",
        "broadcasts recipients 559ac32e-9ef5-46fb-82a1-b76b840c0f7b --type clicked --jq '.data[].clicked_links[].url'",
    ]),
    Verb::new(
        "clicked-links",
        "List the clicked links of a broadcast, the most clicked first",
        &Pages(Paging::Usual, |client, given| client.broadcasts().clicked_links(given.ids[0])),
    )
    .detail("Items have no IDs: the column id is a cursor for --after and --before.")
    .ids(BROADCAST)
    .table(&LINKS)
    .examples(&["broadcasts clicked-links 559ac32e-9ef5-46fb-82a1-b76b840c0f7b --limit 5"]),
    Verb::new(
        "duplicate",
        "Copy a broadcast's content into a new draft, and print its ID",
        &Act(|client, ids| client.broadcasts().duplicate(ids[0])),
    )
    .ids(ID)
    .unknown_outcome("the copy may have been created; check: idempost broadcasts list --limit 1")
    .examples(&["broadcasts duplicate 559ac32e-9ef5-46fb-82a1-b76b840c0f7b"]),
    Verb::delete(
        "Delete a draft or a scheduled broadcast",
        "the broadcast may have been deleted; check: idempost broadcasts get {0}",
        &Delete(|client, ids| client.broadcasts().delete(ids[0])),
    )
    .ids(ID)
    .examples(&["broadcasts delete 559ac32e-9ef5-46fb-82a1-b76b840c0f7b"]),
];

const BROADCAST: &[Field] = &[Field::positional("id", "ID", "ID of the broadcast")];

const CREATE: &str = "Prints the ID. A draft may lack a body until it is sent. Subject, HTML and text may contain placeholders, which are filled in for each contact: {{{FIRST_NAME}}}, {{{LAST_NAME}}}, \
    {{{EMAIL}}}, {{{contact.city|your town}}} for a property and its fallback, and {{{SERVICE_UNSUBSCRIBE_URL}}} for the contact's unsubscribe link.\n\n\
    --send asks for confirmation, since a sent broadcast can't be recalled; --yes skips the question.";
const UNCHANGED: &str = "The text is passed to the service unchanged.";
const SEGMENT: Field =
    Field::new("segment_id", "ID", "Segment whose contacts receive the broadcast, except unsubscribed ones");
const FROM: Field = Field::new("from", "ADDRESS", "Sender: `you@x.test` or `You <you@x.test>`");
const SUBJECT: Field = Field::new("subject", "TEXT", "Subject; may contain placeholders, like the body");
const REPLY_TO: Field = Field::new("reply_to", "ADDRESS", "Reply-to address; repeatable");
const PREVIEW: Field =
    Field::new("preview_text", "TEXT", "Preview text, shown next to the subject in mail clients");
const NAME: Field = Field::new("name", "TEXT", "Internal name, not shown to recipients");
const TOPIC: Field = Field::new("topic_id", "ID", "Topic; contacts who opted out of it are skipped");

/// Columns of a list of broadcasts.
const TABLE: Table = Table::new(&[
    Column::new("id", "ID", Kind::Id),
    Column::new("name", "NAME", Kind::Shrinks),
    Column::new("status", "STATUS", Kind::State),
    Column::new("scheduled_at", "SCHEDULED", Kind::Time),
    Column::new("sent_at", "SENT", Kind::Time),
    Column::new("segment_id", "SEGMENT", Kind::Id).optional(),
    Column::new("topic_id", "TOPIC", Kind::Id).optional(),
    Column::new("created_at", "CREATED", Kind::Time).optional(),
])
.nothing("no broadcasts yet");

/// Columns of the recipients.
const RECIPIENTS: Table = Table::new(&[
    Column::new("email", "EMAIL", Kind::Shrinks),
    Column::new("count", "COUNT", Kind::Text),
    Column::new("bounce_type", "BOUNCE", Kind::Text),
    Column::new("contact_id", "CONTACT", Kind::Id),
    Column::new("id", "CURSOR", Kind::Id).optional(),
])
.nothing("no recipients");

/// Columns of the links.
const LINKS: Table = Table::new(&[
    Column::new("url", "URL", Kind::Shrinks),
    Column::new("clicks", "CLICKS", Kind::Text),
    Column::new("unique_clicks", "RECIPIENTS", Kind::Text),
    Column::new("id", "CURSOR", Kind::Id).optional(),
])
.nothing("no clicked links");

/// Maps the bodies to their flags, and rejects `--wait` without `--send`.
fn fill_send_flags(given: &Given<'_>, body: &mut Body) {
    body.flags.field("", "--html or --text", None);
    if let (Some(state), false) = (given.text("wait"), body.json.get("send") == Some(&true.into())) {
        body.flags.reject("exclusive", "--wait requires --send: a draft isn't sent", "--wait", state);
    }
}

async fn create(
    broadcast: NewBroadcast,
    plan: Plan,
    given: Given<'_>,
    context: &Context,
) -> Result<(), Fail> {
    let body = serde_json::to_value(&broadcast).unwrap_or_default();
    let is_sent = body["send"] == true;
    let unknown = if is_sent {
        "the broadcast may have been created and sent; check: idempost broadcasts list --limit 1".to_owned()
    } else {
        given.unknown_outcome()
    };
    if is_sent && plan.dry_run.is_none() {
        confirm_send::confirm(&body, None, context).await?;
    }
    let make = |client: &Client| client.broadcasts().create(&broadcast);
    let Some(response) = mutation::execute(plan.dry_run, &unknown, context, make).await? else {
        return Ok(());
    };
    let id = response.value.id.as_str();
    mutation::print(id, &response, context)?;
    if !is_sent {
        context.out.note(&format!("draft created · send it: idempost broadcasts send {id}"));
    }
    confirm_send::wait(plan.wait, &mutation::document(&response), context).await
}

async fn send(given: Given<'_>, context: &Context) -> Result<(), Fail> {
    let mut flags = given.flags(context).await;
    let (id, when) = (given.ids[0], given.text("scheduled_at"));
    if when.is_some_and(|when| when.trim().is_empty()) {
        flags.reject("empty", "--scheduled-at must not be empty", "--scheduled-at", "");
    }
    let plan = given.mutation_flags(&mut flags);
    flags.finish()?;
    if plan.dry_run.is_none() {
        confirm_send(id, when, context).await?;
    }
    operation::execute(&given, &plan, context, &|client| match when {
        Some(when) => client.broadcasts().send_at(id, when).response(),
        None => client.broadcasts().send(id).response(),
    })
    .await
}

/// Asks for confirmation with a summary. Without a terminal, the error contains the summary if the broadcast can be read.
async fn confirm_send(id: &str, when: Option<&str>, context: &Context) -> Result<(), Fail> {
    if context.global.yes {
        return Ok(());
    }
    let shown = match context.client() {
        Ok(client) => client.broadcasts().get(id).await.map_err(Fail::from),
        Err(fail) => Err(fail),
    };
    // A key that may only send can't read it.
    let may_not_read = |fail: &Fail| match fail.sdk() {
        Some(Error::Api(error)) => {
            matches!(error.kind(), ApiErrorKind::Authentication | ApiErrorKind::Permission)
        }
        _ => false,
    };
    match shown {
        Ok(broadcast) => {
            let broadcast = serde_json::to_value(&broadcast).unwrap_or_default();
            confirm_send::confirm(&broadcast, when, context).await
        }
        Err(fail) if confirm::is_interactive(context)? && !may_not_read(&fail) => Err(fail),
        Err(_) => confirm::confirm(&format!("Send broadcast {id}?"), context).await,
    }
}
