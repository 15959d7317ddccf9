//! `domains`: domains for sending and receiving.

pub(crate) mod claim;
mod records;
mod verify;

use idempost::domains::{DomainPatch, NewDomain};
use serde_json::Value;

use crate::context::Context;
use crate::output::record;
use crate::output::table::Columns;
use crate::rows::prelude::*;

noun!(Domains, "Manage domains and their DNS records", VERBS);

const VERBS: &[Verb] = &[
    Verb::new(
        "create",
        "Register a domain and show the DNS records to publish",
        &Create(|client, _, domain: &NewDomain| client.domains().create(domain)),
    )
    .detail("Prints the ID on standard output and the records on standard error. Publish the records with the domain's DNS provider, then run `domains verify`.")
    .fields(&[
        NAME, REGION, RETURN_PATH, OPENS, CLICKS, TRACKING, TLS, SENDING, RECEIVING,
    ])
    .fill(map_capabilities)
    .hint("domains create acme.test")
    .unknown_outcome("the domain may have been registered; check: idempost domains list")
    .on_success(|_, _, domain, context| Box::pin(async move {
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
    Verb::new("get", "Show one domain and its DNS records", &ShowAs(|client, ids| client.domains().get(ids[0]), format_domain))
        .ids(ID)
        .web(Page { dashboard: "domains/{}", inbox: None })
        .examples(&[
            "domains get d91cd9bd-1176-453e-8fc1-35364d380206",
            "domains get d91cd9bd-1176-453e-8fc1-35364d380206 --jq .status",
        ]),
    Verb::new("records", "Show a domain's DNS records", &Run(Arguments::Nothing, records::run))
        .detail("--format zone prints zone file lines (RFC 1035), for name servers and providers that import those.")
        .ids(DOMAIN)
        .fields(&[Field::new("format", "FORMAT", "Output format: table or zone [default: table]").choices(&["table", "zone"])])
        .after_help("Columns: record, name, type, value, priority, ttl, status\n\n\
            Examples:\n  \
            idempost domains records d91cd9bd-1176-453e-8fc1-35364d380206\n  \
            idempost domains records d91cd9bd-1176-453e-8fc1-35364d380206 --format zone >> acme.test.zone"),
    Verb::new(
        "update",
        "Change a domain's settings",
        &Update(|client, ids, patch: &DomainPatch| client.domains().update(ids[0], patch)),
    )
    .detail("Settings not set by a flag stay unchanged. If the change adds DNS records, publish and verify them too.")
    .ids(DOMAIN)
    .fields(&[OPENS, CLICKS, TRACKING, TLS, SENDING, RECEIVING])
    .fill(map_capabilities)
    .clear_flag("Clear a field: tracking-subdomain")
    .hint("domains update ID --open-tracking")
    .unknown_outcome("the domain may have been changed; check: idempost domains get {0}")
    .examples(&[
        "domains update d91cd9bd-1176-453e-8fc1-35364d380206 --tracking-subdomain links --open-tracking",
        "domains update d91cd9bd-1176-453e-8fc1-35364d380206 --open-tracking=false --clear tracking-subdomain",
    ]),
    Verb::new("verify", "Start verification of a domain's DNS records", &Act(|client, ids| client.domains().verify(ids[0])))
        .detail("The service checks in the background; --wait waits for the outcome. Can be repeated at any time, and must be repeated after a change that adds records.")
        .ids(DOMAIN)
        .wait_flag(verify::VERIFIED, "Wait until verification ends; exits with 3 if it fails")
        .unknown_outcome("verification may have started; check: idempost domains get {0}")
        .on_success(|given, plan, _, context| Box::pin(verify::wait(given.ids[0], plan.wait, context)))
        .after_help("Examples:\n  \
            idempost domains verify d91cd9bd-1176-453e-8fc1-35364d380206 --wait\n  \
            idempost domains verify d91cd9bd-1176-453e-8fc1-35364d380206 --wait --wait-timeout 30m\n\n\
            Exit codes: 0 started, or with --wait verified; 3 verification failed; 8 timed out"),
    Verb::noun::<claim::Claim>("claim"),
    Verb::delete(
        "Delete a domain",
        "the domain may have been deleted; check: idempost domains get {0}",
        &Delete(|client, ids| client.domains().delete(ids[0])),
    )
    .ids(ID)
    .examples(&["domains delete d91cd9bd-1176-453e-8fc1-35364d380206"]),
];

const DOMAIN: &[Field] = &[Field::positional("id", "ID", "ID of the domain")];
const NAME: Field = Field::positional_or_flag("name", "NAME", "Name of the domain, such as acme.test");
const REGION: Field = Field::new(
    "region",
    "REGION",
    "Region: us-east-1, eu-west-1, sa-east-1 or ap-northeast-1 [default: us-east-1]",
);
const RETURN_PATH: Field = Field::new(
    "custom_return_path",
    "LABEL",
    "Subdomain label of the return path, which receives bounces [default: send]",
);
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

/// Columns of a list of domains.
const TABLE: Table = Table::new(&[
    Column::new("id", "ID", Kind::Id),
    Column::new("name", "NAME", Kind::Shrinks),
    Column::new("status", "STATUS", Kind::State),
    Column::new("region", "REGION", Kind::Text),
    Column::new("created_at", "CREATED", Kind::Time),
    Column::new("sending", "SENDING", Kind::Text).pointer("/capabilities/sending").optional(),
    Column::new("receiving", "RECEIVING", Kind::Text).pointer("/capabilities/receiving").optional(),
    Column::new("open_tracking", "OPEN TRACKING", Kind::Text).optional(),
    Column::new("click_tracking", "CLICK TRACKING", Kind::Text).optional(),
])
.nothing("no domains yet");

/// Maps a problem with both capabilities to their flags.
fn map_capabilities(given: &Given<'_>, body: &mut Body) {
    let (sending, receiving) = (given.text("sending"), given.text("receiving"));
    let flag = if sending.is_some() { "--sending" } else { "--receiving" };
    body.flags.field("/capabilities", flag, sending.or(receiving));
}

/// The domain, and its records as a table below it.
fn format_domain(domain: &Value) -> Vec<String> {
    record::with_tables(domain, &[("records", &records::COLUMNS)])
}

/// Notes the records of a new domain.
fn show_records(domain: &Value, context: &Context) {
    if !context.out.is_json() {
        let id = domain["id"].as_str().unwrap_or_default();
        let publish = format!("publish these records, then: idempost domains verify {id} --wait");
        for line in Columns::new(&records::COLUMNS).lines(&domain["records"]).iter().chain([&publish]) {
            context.out.note(line);
        }
    }
}
