//! `domains claim`: claims of domains that another account has verified.

use std::time::Duration;

use idempost::domains::{ClaimBlockedReason, DomainClaim, DomainClaimStatus, NewDomainClaim};

use super::{CLICKS, NAME, OPENS, REGION, RETURN_PATH, TRACKING};
use crate::actions::mutation;
use crate::actions::wait::{self, End, Messages};
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::output::record;
use crate::rows::operation;
use crate::rows::prelude::*;

noun!(Claim, "Claim domains that another account has verified", VERBS);

const VERBS: &[Verb] = &[
    Verb::new(
        "create",
        "Claim a domain that another account has verified, and show the TXT record to publish",
        &with(create),
    )
    .detail("Prints the ID of the domain that is created for the claim; deleting it (domains delete) cancels the claim. Publish the record, then run `domains claim verify`. A claim expires after 7 days; claiming the domain again starts over.")
    .fields(&[NAME, REGION, RETURN_PATH, OPENS, CLICKS, TRACKING])
    .wait_flag(COMPLETED, WAIT)
    .hint("domains claim create acme.test")
    .unknown_outcome("the domain may have been claimed; repeating the command is safe")
    .examples(&[
        "domains claim create acme.test",
        "domains claim create acme.test --region eu-west-1 --tracking-subdomain links --click-tracking",
    ]),
    Verb::new("get", "Show the latest claim of a domain", &Run(Arguments::Nothing, get))
        .ids(DOMAIN)
        .wait_flag(COMPLETED, WAIT)
        .examples(&[
            "domains claim get d91cd9bd-1176-453e-8fc1-35364d380206",
            "domains claim get d91cd9bd-1176-453e-8fc1-35364d380206 --jq .record.value",
        ]),
    Verb::new(
        "verify",
        "Start the check of a claim's TXT record",
        &Act(|client, ids| client.domains().verify_claim(ids[0])),
    )
    .detail("The service checks in the background and then transfers the domain; --wait waits for the outcome. A completed domain has new DKIM records: publish them, then run `domains verify`.")
    .ids(DOMAIN)
    .wait_flag(COMPLETED, WAIT)
    .print_argument(0)
    .unknown_outcome("the check may have started; check: idempost domains claim get {0}")
    .on_success(|given, plan, _, context| Box::pin(finish_verify(given.ids[0], plan.wait, context)))
    .after_help("Example:\n  idempost domains claim verify d91cd9bd-1176-453e-8fc1-35364d380206 --wait\n\n\
        Exit codes: 0 started, or with --wait completed; 3 the claim is blocked or has failed; 8 timed out"),
];

const DOMAIN: &[Field] = &[Field::positional("id", "ID", "ID of the domain created for the claim")];
/// The state to wait for.
const COMPLETED: &str = "completed";
const WAIT: &str = "Wait until the claim is completed; exits with 3 if it fails";

async fn create(claim: NewDomainClaim, plan: Plan, given: Given<'_>, context: &Context) -> Result<(), Fail> {
    let unknown = given.unknown_outcome();
    let done = mutation::execute(plan.dry_run, &unknown, context, |client| client.domains().claim(&claim));
    let Some(response) = done.await? else { return Ok(()) };
    let id = response.value.domain_id.clone().unwrap_or_else(|| "".into());
    mutation::print(id.as_str(), &response, context)?;
    if let Some(record) = response.value.record.as_ref().filter(|_| !context.out.is_json()) {
        context.out.note(&format!("{}  {}  {}", record.name, record.kind, record.value));
        context.out.note(&format!("publish this record, then: idempost domains claim verify {id} --wait"));
    }
    match plan.wait {
        Some(timeout) => wait_until_completed(timeout, id.as_str(), context).await,
        None => Ok(()),
    }
}

async fn get(given: Given<'_>, context: &Context) -> Result<(), Fail> {
    let id = given.ids[0];
    if let Some(timeout) = given.plan_change(context).await?.wait {
        wait_until_completed(timeout, id, context).await?;
    }
    operation::show(&given, &|client| client.domains().get_claim(id).response(), record::lines, context).await
}

async fn finish_verify(id: &str, timeout: Option<Duration>, context: &Context) -> Result<(), Fail> {
    let Some(timeout) = timeout else {
        context.out.note(&format!("check started · check: {}", show_command(id)));
        return Ok(());
    };
    wait_until_completed(timeout, id, context).await
}

async fn wait_until_completed(timeout: Duration, id: &str, context: &Context) -> Result<(), Fail> {
    let words = Messages {
        timed_out: "the claim hasn't been completed".to_owned(),
        continues: "the claim stays open".to_owned(),
        failed: "the domain wasn't transferred".to_owned(),
        check: show_command(id),
    };
    let next = format!(
        "publish its DNS records (idempost domains records {id}), then: idempost domains verify {id} --wait"
    );
    let wait = context.client()?.domains().wait_for_claim(id);
    wait::poll_until_terminal(wait, timeout, &words, context, terminal_state).await?;
    context.out.note(&next);
    Ok(())
}

/// Includes the service's reason for a failure.
fn terminal_state(claim: &DomainClaim) -> End {
    let status = claim.status.as_ref().map_or("unknown", DomainClaimStatus::as_str);
    if status == COMPLETED {
        return End::Good(status.to_owned());
    }
    let blocked = claim.blocked_reason.as_ref().map(ClaimBlockedReason::as_str);
    match claim.failure_reason.as_deref().or(blocked) {
        Some(reason) => End::Bad(format!("{status}: {reason}")),
        None => End::Bad(status.to_owned()),
    }
}

/// The command that shows a claim, for hints.
fn show_command(id: &str) -> String {
    format!("idempost domains claim get {id}")
}
