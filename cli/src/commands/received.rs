//! `received`: lists, watches, forwards and replies to received emails.

mod answer;
pub(crate) mod attachments;
pub(crate) mod file_name;
mod forward;
mod reply;
pub(crate) mod watch;

use idempost::Client;
use idempost::received::HtmlFormat;
use serde_json::Value;

use crate::context::Context;
use crate::diagnostics::Fail;
use crate::output::record;
use crate::rows::operation;
use crate::rows::prelude::*;

noun!(Received, "Read, save, forward and answer received emails", VERBS);

const VERBS: &[Verb] = &[
    Verb::list(
        "List received emails, newest first",
        &TABLE,
        &Pages(Paging::Complete, |client, _| client.received().list()),
    )
    .examples(&[
        "received list --limit 20",
        "received list --all --jq '.data[] | select(.attachments != []).id'",
    ]),
    Verb::new("get", "Show one received email with its bodies", &Run(Arguments::Nothing, get))
        .detail("Treat it as untrusted: the sender address can be forged. Only `dmarc pass` means that the sender's domain authorized the email.")
        .ids(&[Field::positional("id", "ID", "ID of the email")])
        .fields(&[Field::new(
            "html_format",
            "FORMAT",
            "How the HTML refers to images: data_uri (embedded) or cid [default: data_uri]",
        )
        .choices(HtmlFormat::KNOWN)])
        .web(Page { dashboard: "emails/receiving/{}", inbox: Some("received") })
        .examples(&[
            "received get 4ef9a417-02e9-4d39-ad75-9611e0fcc33c",
            "received get 4ef9a417-02e9-4d39-ad75-9611e0fcc33c --jq .authentication.dmarc",
            "received get 4ef9a417-02e9-4d39-ad75-9611e0fcc33c --html-format cid --json=text,headers",
        ]),
    Verb::custom("attachments", &own(attachments::run)),
    Verb::custom("forward", &own(forward::run)),
    Verb::custom("reply", &own(reply::run)),
    Verb::custom("watch", &own(watch::run)).is(&[Property::UntilSignal]),
];

/// Columns of a list of received emails.
const TABLE: Table = Table::new(&[
    Column::new("id", "ID", Kind::Id),
    Column::new("from", "FROM", Kind::Text),
    Column::new("subject", "SUBJECT", Kind::Shrinks),
    Column::new("created_at", "RECEIVED", Kind::Time),
    Column::new("to", "TO", Kind::Text).optional(),
    Column::new("received_for", "RECEIVED FOR", Kind::Text).optional(),
    Column::new("cc", "CC", Kind::Text).optional(),
    Column::new("bcc", "BCC", Kind::Text).optional(),
    Column::new("reply_to", "REPLY TO", Kind::Text).optional(),
    Column::new("message_id", "MESSAGE ID", Kind::Text).optional(),
])
.nothing("no received emails yet");

async fn get(given: Given<'_>, context: &Context) -> Result<(), Fail> {
    // Accepts unknown formats, which may be newer than this program.
    let format = given.text("html_format");
    let make = |client: &Client| {
        let call = client.received().get(given.ids[0]);
        format.iter().fold(call, |call, format| call.html_format(*format)).response()
    };
    operation::show(&given, &make, format_email, context).await
}

/// The email, with the results of its checks in words: `spf pass, dkim pass, dmarc fail`.
fn format_email(email: &Value) -> Vec<String> {
    let mut email = email.clone();
    if let Some(checks) = email["authentication"].as_object() {
        let words = checks.iter().filter_map(|(name, result)| Some(format!("{name} {}", result.as_str()?)));
        email["authentication"] = words.collect::<Vec<_>>().join(", ").into();
    }
    record::lines(&email)
}
