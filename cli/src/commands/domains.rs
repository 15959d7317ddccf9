//! `domains`: domains for sending and receiving.

mod claim;
mod records;
mod setup;
mod verify;

use idempost::domains::{DomainPatch, NewDomain};
use serde_json::Value;

use crate::actions::pages::Table;
use crate::context::Context;
use crate::output::record;
use crate::output::table::{Column, Kind};
use crate::rows::field::{Field, ID};
use crate::rows::operation::{Create, Delete, Nested, Own, Pages, Paging, ShowAs, Update};
use crate::rows::{Noun, Verb};

/// The commands.
#[derive(Debug)]
pub(crate) struct Domains;

impl Noun for Domains {
    const ABOUT: &'static str = "Manage domains and their DNS records";
    const VERBS: &'static [Verb] = &[
        Verb::new(
            "create",
            "Register a domain and show the DNS records to publish",
            &Create(|client, _, domain: &NewDomain| client.domains().create(domain)),
        )
        .detail("Prints the ID on standard output and the records on standard error. Publish the records with the domain's DNS provider, then run `domains verify`.")
        .fields(&[
            Field::place_or_flag("name", "NAME", "Name of the domain, such as acme.test"),
            Field::new("region", "REGION", "Region: us-east-1, eu-west-1, sa-east-1 or ap-northeast-1 [default: us-east-1]"),
            Field::new("custom_return_path", "LABEL", "Subdomain label of the return path, which receives bounces [default: send]"),
            OPENS, CLICKS, TRACKING, TLS, SENDING, RECEIVING,
        ])
        .fill(setup::capabilities)
        .hint("domains create acme.test")
        .unknown("the domain may have been registered; check: idempost domains list")
        .then(|_, domain, context| Box::pin(async move {
                show_records(domain, context);
                Ok(())
            }))
        .examples(&[
            "domains create acme.test",
            "domains create acme.test --region eu-west-1 --tracking-subdomain links --click-tracking",
            "domains create in.acme.test --sending disabled --receiving enabled",
        ]),
        Verb::list("List domains, newest first", &TABLE, &Pages(Paging::Complete, |client, _| client.domains().list()))
            .detail("Without --limit, the service returns all of them. To see DNS records, use `domains get`.")
            .examples(&["domains list", "domains list --json --jq '.data[] | select(.status != \"verified\").name'"]),
        Verb::new("get", "Show one domain and its DNS records", &ShowAs(|client, ids| client.domains().get(ids[0]), lines))
            .ids(ID)
            .examples(&[
                "domains get d91cd9bd-1176-453e-8fc1-35364d380206",
                "domains get d91cd9bd-1176-453e-8fc1-35364d380206 --jq .status",
            ]),
        Verb::own("records", &Own(|args: records::Args, context| Box::pin(records::run(args, context)))),
        Verb::new(
            "update",
            "Change a domain's settings",
            &Update(|client, ids, patch: &DomainPatch| client.domains().update(ids[0], patch)),
        )
        .detail("Settings not set by a flag stay unchanged. If the change adds DNS records, publish and verify them too.")
        .ids(&[Field::place("id", "ID", "ID of the domain")])
        .fields(&[OPENS, CLICKS, TRACKING, TLS, SENDING, RECEIVING])
        .fill(setup::capabilities)
        .clears("Clear a field: tracking-subdomain")
        .hint("domains update ID --open-tracking")
        .unknown("the domain may have been changed; check: idempost domains get {0}")
        .examples(&[
            "domains update d91cd9bd-1176-453e-8fc1-35364d380206 --tracking-subdomain links --open-tracking",
            "domains update d91cd9bd-1176-453e-8fc1-35364d380206 --open-tracking=false --clear tracking-subdomain",
        ]),
        Verb::own("verify", &Own(|args: verify::Args, context| Box::pin(verify::run(args, context)))),
        Verb::own("claim", &Nested(|command: claim::Command, context| Box::pin(claim::run(command, context)))),
        Verb::delete(
            "Delete a domain",
            "the domain may have been deleted; check: idempost domains get {0}",
            &Delete(|client, ids| client.domains().delete(ids[0])),
        )
        .ids(ID)
        .examples(&["domains delete d91cd9bd-1176-453e-8fc1-35364d380206"]),
    ];
}

const OPENS: Field = Field::new(
    "open_tracking",
    "BOOL",
    "Track opens: true or false; requires a verified --tracking-subdomain",
);
const CLICKS: Field = Field::new(
    "click_tracking",
    "BOOL",
    "Track clicks: true or false; requires a verified --tracking-subdomain",
);
const TRACKING: Field =
    Field::new("tracking_subdomain", "LABEL", "Subdomain label for tracked links, such as links");
const TLS: Field = Field::new(
    "tls",
    "MODE",
    "TLS mode for delivery: opportunistic falls back to plaintext, enforced doesn't",
);
const SENDING: Field =
    Field::new("capabilities/sending", "STATE", "Sending from the domain: enabled or disabled")
        .flag("sending")
        .choices(&["enabled", "disabled"]);
const RECEIVING: Field = Field::new(
    "capabilities/receiving",
    "STATE",
    "Receiving at the domain: enabled or disabled; requires an MX record",
)
.flag("receiving")
.choices(&["enabled", "disabled"]);

/// Columns of a list of domains; the first five are the default.
const TABLE: Table = Table {
    columns: &[
        Column::new("id", "ID", Kind::Id),
        Column::new("name", "NAME", Kind::Shrinks),
        Column::new("status", "STATUS", Kind::State),
        Column::new("region", "REGION", Kind::Text),
        Column::new("created_at", "CREATED", Kind::Time),
        Column::new("sending", "SENDING", Kind::Text).at("/capabilities/sending"),
        Column::new("receiving", "RECEIVING", Kind::Text).at("/capabilities/receiving"),
        Column::new("open_tracking", "OPEN TRACKING", Kind::Text),
        Column::new("click_tracking", "CLICK TRACKING", Kind::Text),
    ],
    shown: 5,
    nothing: "no domains yet",
};

/// The domain, and its records as a table below it.
fn lines(domain: &Value) -> Vec<String> {
    let mut rest = domain.clone();
    if let Some(fields) = rest.as_object_mut() {
        fields.remove("records");
    }
    let mut lines = record::lines(&rest);
    let table = records::lines(domain);
    if !table.is_empty() {
        lines.push(String::new());
        lines.extend(table);
    }
    lines
}

/// Notes the records of a new domain.
fn show_records(domain: &Value, context: &Context) {
    if !context.out.is_json() {
        let id = domain["id"].as_str().unwrap_or_default();
        let publish = format!("publish these records, then: idempost domains verify {id} --wait");
        for line in records::lines(domain).iter().chain([&publish]) {
            context.out.note(line);
        }
    }
}

/// The command that shows one domain, for hints.
fn show_command(id: &str) -> String {
    format!("idempost domains get {id}")
}
