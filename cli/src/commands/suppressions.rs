//! `suppressions`: addresses that receive no emails.

mod check;
mod export;
#[cfg(feature = "fuzzing")]
pub(crate) mod fuzzing;
mod import;
mod remove;

use idempost::suppressions::SuppressionOrigin;
use idempost::types::fields::Kind::Text;
use serde_json::Value;

use crate::input::flags::Flags;
use crate::rows::prelude::*;

/// Maximum number of addresses in one request.
const BATCH: usize = idempost::problem::limits::SUPPRESSIONS_PER_BATCH;

noun!(Suppressions, "Manage the suppression list: addresses that receive no emails", VERBS);

const VERBS: &[Verb] = &[
    Verb::list(
        "List suppressed addresses, newest first",
        &TABLE,
        &Pages(Paging::Usual, |client, given| match given.text("origin") {
            Some(origin) => client.suppressions().list().origin(SuppressionOrigin::from(origin)),
            None => client.suppressions().list(),
        }),
    )
    .detail("Permanent bounces and spam complaints add addresses automatically.")
    .fields(&[Field::new(
        "origin",
        "ORIGIN",
        "Only addresses of this origin: bounce, complaint or manual",
    )
    .choices(SuppressionOrigin::KNOWN)])
    .examples(&["suppressions list --origin bounce", "suppressions list --all --columns email"]),
    Verb::new(
        "add",
        "Add addresses to the suppression list",
        &Checked(|client, given| match &given.texts("emails")[..] {
            [one] => client.suppressions().add(one).with_response_type::<Value>(),
            // The count is checked by `fill`.
            many => client.suppressions().add_batch(many.iter().take(BATCH)).with_response_type(),
        }),
    )
    .detail("Takes up to 100 addresses and adds all of them or none; `suppressions import` reads more from a file. An address on the list keeps its entry. Prints the ID of each entry.")
    .fields(&[Field::positional("emails", "EMAIL", "Address to add; repeatable").list(&Text).multiple()])
    .fill(|given, body| {
        let emails = given.texts("emails");
        body.flags.field("/email", "EMAIL", emails.first().map(String::as_str));
        check_count(&emails, "EMAIL", "; for more, use: idempost suppressions import FILE", &mut body.flags);
    })
    .unknown_outcome("the addresses may have been added; repeating the command is safe")
    .examples(&["suppressions add ada@example.com", "suppressions add ada@example.com bob@example.com --dry-run"]),
    Verb::new(
        "get",
        "Show one entry of the suppression list",
        &Show(|client, ids| client.suppressions().get(ids[0])),
    )
    .ids(&[Field::positional("entry", "ID|EMAIL", "ID of the entry, or its address")])
    .examples(&[
        "suppressions get ada@example.com",
        "suppressions get 520784e2-887d-4c25-b53c-4ad46ad38100 --jq .origin",
    ]),
    Verb::new("remove", "Remove addresses from the suppression list", &Run(Arguments::DryRun, remove::run))
        .alias("rm")
        .detail("Takes up to 100 addresses or IDs. The service sends to them again; the next permanent bounce or complaint adds them again. Prints the ID of each removed entry. The exit code is 5 if none was on the list, and 10 if only some were.")
        .fields(&[Field::positional("entries", "ID|EMAIL", "ID or address of the entry; repeatable").list(&Text).multiple().manual()])
        .unknown_outcome("the entries may have been removed; check: idempost suppressions check EMAIL")
        .examples(&["suppressions remove ada@example.com", "suppressions remove 520784e2-887d-4c25-b53c-4ad46ad38100 --yes"]),
    Verb::new(
        "check",
        "Check whether an address is on the suppression list",
        &Run(Arguments::Nothing, check::run),
    )
    .detail("The exit code is 0 if it isn't, and 3 if it is: the service would drop the address from every email. Other codes are failures, such as 7 if the service can't be reached.")
    .fields(&[Field::positional("email", "EMAIL", "Address to look up")])
    .examples(&[
        "suppressions check ada@example.com",
        "suppressions check ada@example.com --quiet && ./send-invoice ada@example.com",
        "suppressions check ada@example.com --jq .suppression.origin",
    ]),
    Verb::custom("import", &own(import::run)),
    Verb::custom("export", &own(export::run)),
];

/// Columns of the list.
const TABLE: Table = Table::new(&[
    Column::new("email", "EMAIL", Kind::Shrinks),
    Column::new("origin", "ORIGIN", Kind::Text),
    Column::new("created_at", "ADDED", Kind::Time),
    Column::new("source_id", "SOURCE", Kind::Id).optional(),
    Column::new("id", "ID", Kind::Id).optional(),
])
.nothing("no suppressed addresses");

/// Reports more entries than a request may have.
fn check_count(given: &[String], flag: &str, hint: &str, flags: &mut Flags) {
    if given.len() > BATCH {
        let rule = format!("there must be at most {BATCH} entries, found {}{hint}", given.len());
        flags.reject_nth("count", rule, flag, BATCH + 1, &given[BATCH]);
    }
}
