//! `emails`: send, list, reschedule and cancel emails.

mod attachments;
pub(crate) mod batch;
mod filter;
mod metrics;
pub(crate) mod send;

use std::time::Duration;

use idempost::emails::{EmailMetric, MetricsDimension, MetricsGranularity};
use idempost::types::fields;
use idempost::{Call, problem::limits};

use crate::rows::prelude::*;
use crate::settings::keys;

// The commands for sent emails.
noun!(Emails, "Send emails and inspect sent ones", VERBS);

const VERBS: &[Verb] = &[
    Verb::custom("send", &own(send::run)),
    Verb::custom("batch", &own(batch::run)),
    Verb::list(
        "List sent emails, newest first",
        &TABLE,
        &Filtered(|client| client.emails().list(), filter::selection, "no matching emails"),
    )
    .detail("Without --limit, the service returns 20. With a limit above 100 or --all, all pages are fetched and shown as one list: one JSON document with --json, a line per email as it arrives with -o ndjson.\n\nThe service doesn't filter: --to, --from, --subject, --status and --since are applied by this program to the newest 2,000 emails, or to all of them with --all, until --limit emails match (default 20).")
    .paging_first()
    .fields(&[filter::TO, filter::FROM, filter::SUBJECT, filter::STATUS, filter::SINCE])
    .after_help("Columns: id, to, subject, last_event, created_at; optional: from, cc, bcc, reply_to, message_id, scheduled_at\n\n\
        Examples:\n  \
        idempost emails list --limit 3\n  \
        idempost emails list --to ada@example.com --since 7d\n  \
        idempost emails list --status bounced,suppressed --since 2026-11-01 --all\n  \
        idempost emails list --columns id,from,subject\n  \
        idempost emails list --json --jq '.data[0].last_event'"),
    Verb::new("get", "Show one email", &Show(|client, ids| client.emails().get(ids[0])))
        .ids(ID)
        .web(Page { dashboard: "emails/{}", inbox: Some("sent") })
        .examples(&[
            "emails get 49a3999c-0ce1-4ea6-ab68-afcd6dc2e794",
            "emails get 49a3999c-0ce1-4ea6-ab68-afcd6dc2e794 --jq .html > body.html",
        ]),
    Verb::new(
        "tail",
        "Follow sent emails until Ctrl-C, oldest first",
        &Tail(
            |client| client.emails().list(),
            filter::selection,
            "emails",
            &["/created_at", "/to", "/subject", "/id"],
        ),
    )
    .detail("Prints each email once, when the service lists it. Starts with new emails, and keeps waiting while the service is unreachable. To follow later events, use `webhooks listen`. After Ctrl-C, the exit code is 0.")
    .fields(&[filter::TO, filter::FROM, filter::SUBJECT, INTERVAL])
    .table(&TABLE)
    .is(&[Property::UntilSignal])
    .after_help("Columns: id, to, subject, last_event, created_at; optional: from, cc, bcc, reply_to, message_id, scheduled_at\n\n\
        Examples:\n  \
        idempost emails tail\n  \
        idempost emails tail --to @example.com -o ndjson --jq .subject"),
    Verb::custom("attachments", &own(attachments::run)),
    Verb::new(
        "share",
        "Create a public link to an email",
        &Checked(|client, given| {
            let lifetime = given.text("for").and_then(|text| keys::parse_duration(text).ok());
            lifetime.into_iter().fold(client.emails().share(given.ids[0]), Call::expires_in)
        }),
    )
    .detail("Works for sent and received emails. The link opens in a browser without a login until it expires, and can't be revoked. Prints its URL.")
    .ids(&[Field::positional("id", "ID", "ID of the email")])
    .fields(&[Field::new("for", "DURATION", "How long the link is valid, such as 30m or 2h; at most 48h [default: 48h]")])
    .fill(|given, body| {
        let Some(text) = given.text("for") else { return };
        let lifetime = body.flags.parse_duration("--for", text);
        if lifetime.is_some_and(|lifetime| lifetime > Duration::from_secs(limits::SHARE_SECONDS)) {
            body.flags.reject("range", "--for must be at most 48h", "--for", text);
        }
    })
    .unknown_outcome("a link may have been created; repeating the command creates another one")
    .examples(&[
        "emails share 49a3999c-0ce1-4ea6-ab68-afcd6dc2e794",
        "emails share 49a3999c-0ce1-4ea6-ab68-afcd6dc2e794 --for 2h",
    ]),
    Verb::new(
        "update",
        "Reschedule a scheduled email",
        &Checked(|client, given| {
            // A missing time has been reported.
            client.emails().reschedule(given.ids[0], given.text("scheduled_at").unwrap_or("now"))
        }),
    )
    .detail("Only scheduled emails can be changed.")
    .ids(ID)
    .fields(&[Field::new("scheduled_at", "TIME", "New time: ISO 8601, or a phrase such as `in 1 min`")
        .detail("The text is passed to the service unchanged.")
        .required()])
    .hint("emails update ID --scheduled-at 'in 1 hour'")
    .unknown_outcome("the email may have been rescheduled; check: idempost emails get {0}")
    .examples(&[
        "emails update 49a3999c-0ce1-4ea6-ab68-afcd6dc2e794 --scheduled-at 'tomorrow at 9am'",
        "emails update 49a3999c-0ce1-4ea6-ab68-afcd6dc2e794 --scheduled-at 2026-12-24T18:00:00Z",
    ]),
    Verb::new("cancel", "Cancel a scheduled email", &Act(|client, ids| client.emails().cancel(ids[0])))
        .detail("Emails that have already been sent can't be canceled. Safe to repeat.")
        .ids(ID)
        .unknown_outcome("the email may have been canceled; check: idempost emails get {0}")
        .examples(&["emails cancel 49a3999c-0ce1-4ea6-ab68-afcd6dc2e794"]),
    Verb::new("metrics", "Show email metrics: sent, delivered, opened and more", &Run(Arguments::Nothing, metrics::run))
        .detail("Without --dimensions, shows the totals; otherwise a table with one row per combination, and at a terminal with bars for the first metric. The range is the last seven days by default. Rates are percentages.\n\nMetrics: received (accepted by the service), sent, delivered, delivery_delayed, failed, suppressed, bounced, bounced_transient, bounced_permanent, bounced_undetermined, opened, unique_opened, clicked, unique_clicked, complained, unsubscribed, delivery_rate, bounce_rate, open_rate, click_rate, complaint_rate, unsubscribe_rate.")
        .fields(&[
            Field::new("start_date", "DATE", "Beginning: a date (UTC) or a date and time, in ISO 8601 [default: six days before the end]"),
            Field::new("end_date", "DATE", "End, inclusive; a date covers its whole day [default: now]"),
            Field::new("timezone", "ZONE", "Time zone of the periods (IANA name), such as Europe/Berlin [default: UTC]"),
            Field::new("granularity", "GRANULARITY", "Length of the periods: hourly, daily, weekly or monthly [default: daily]")
                .choices(MetricsGranularity::KNOWN),
            Field::new("metrics", "METRICS", "Metrics to show, separated by commas [default: all; in a table the most common ones]")
                .list(&fields::Kind::Choice(EmailMetric::KNOWN))
                .delimited(),
            Field::new("dimensions", "DIMENSIONS", "Dimensions to group by, separated by commas: period, domain, and email or broadcast")
                .list(&fields::Kind::Choice(MetricsDimension::KNOWN))
                .delimited(),
            Field::new("domain_id", "ID", "Only emails from these domains, separated by commas, at most 100").list(&fields::Kind::Text).delimited(),
            Field::new("email_id", "ID", "Only these emails").list(&fields::Kind::Text).delimited(),
            Field::new("broadcast_id", "ID", "Only the emails of these broadcasts").list(&fields::Kind::Text).delimited(),
        ])
        .examples(&[
            "emails metrics",
            "emails metrics --dimensions period --metrics sent,open_rate --start-date 2026-07-01 --timezone Europe/Berlin",
            "emails metrics --dimensions period,domain --granularity weekly -o tsv",
            "emails metrics --broadcast-id 559ac32e-9ef5-46fb-82a1-b76b840c0f7b --jq .totals.click_rate",
        ]),
    // Under its path in the API.
    Verb::noun::<super::received::Received>("receiving")
        .about("Read received emails; same as `received`")
        .hidden(),
];

const ID: &[Field] = &[Field::positional("id", "ID", "ID of the email, as printed by `emails send`")];

/// Columns of a list of emails.
const TABLE: Table = Table::new(&[
    Column::new("id", "ID", Kind::Id),
    Column::new("to", "TO", Kind::Text),
    Column::new("subject", "SUBJECT", Kind::Shrinks),
    Column::new("last_event", "LAST EVENT", Kind::State),
    Column::new("created_at", "CREATED", Kind::Time),
    Column::new("from", "FROM", Kind::Text).optional(),
    Column::new("cc", "CC", Kind::Text).optional(),
    Column::new("bcc", "BCC", Kind::Text).optional(),
    Column::new("reply_to", "REPLY TO", Kind::Text).optional(),
    Column::new("message_id", "MESSAGE ID", Kind::Text).optional(),
    Column::new("scheduled_at", "SCHEDULED", Kind::Time).optional(),
])
.nothing("no emails yet");
