//! `domains claim`: claims of domains that another account has verified.

use std::time::Duration;

use idempost::{
    Client, DomainId,
    domains::{ClaimBlockedReason, DomainClaim, DomainClaimStatus, NewDomainClaim, Region},
};

use super::setup::TrackingArgs;
use crate::actions::mutation::{self, DryRunFlag};
use crate::actions::wait::{self, End, Messages, TimeoutFlag};
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::flags::{Choices, DryRun, Flags};
use crate::input::name::NameArg;

/// The state to wait for.
const COMPLETED: &str = "completed";

/// Claim domains that another account has verified
#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    Create(CreateArgs),
    Get(GetArgs),
    Verify(VerifyArgs),
}

/// Claim a domain that another account has verified, and show the TXT record to publish
///
/// Prints the ID of the domain that is created for the claim; deleting it (domains delete) cancels the claim. Publish the record, then run
/// `domains claim verify`. A claim expires after 7 days; claiming the domain again starts over.
#[derive(Debug, clap::Args)]
#[command(mut_arg("name", |name| name.help("Name of the domain, such as acme.test")), after_help = "Examples:\n  \
    idempost domains claim create acme.test\n  \
    idempost domains claim create acme.test --region eu-west-1 --tracking-subdomain links --click-tracking")]
pub(crate) struct CreateArgs {
    #[command(flatten)]
    name: NameArg,
    /// Region: us-east-1, eu-west-1, sa-east-1 or ap-northeast-1 [default: us-east-1]
    #[arg(long, value_name = "REGION", value_parser = Choices(&["us-east-1", "eu-west-1", "sa-east-1", "ap-northeast-1"]), hide_possible_values = true)]
    region: Option<String>,
    /// Subdomain label of the return path, which receives bounces [default: send]
    #[arg(long, value_name = "LABEL")]
    custom_return_path: Option<String>,
    #[command(flatten)]
    tracking: TrackingArgs,
    #[command(flatten)]
    wait: WaitArgs,
    #[command(flatten)]
    dry_run: DryRunFlag,
}

/// Show the latest claim of a domain
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    idempost domains claim get d91cd9bd-1176-453e-8fc1-35364d380206\n  \
    idempost domains claim get d91cd9bd-1176-453e-8fc1-35364d380206 --jq .record.value")]
pub(crate) struct GetArgs {
    /// ID of the domain created for the claim
    #[arg(value_name = "ID")]
    id: String,
    #[command(flatten)]
    wait: WaitArgs,
}

/// Start the check of a claim's TXT record
///
/// The service checks in the background and then transfers the domain; --wait waits for the outcome. A completed domain has new DKIM records:
/// publish them, then run `domains verify`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  idempost domains claim verify d91cd9bd-1176-453e-8fc1-35364d380206 --wait\n\n\
    Exit codes: 0 started, or with --wait completed; 3 the claim is blocked or has failed; 8 timed out"
)]
pub(crate) struct VerifyArgs {
    /// ID of the domain created for the claim
    #[arg(value_name = "ID")]
    id: String,
    #[command(flatten)]
    wait: WaitArgs,
    #[command(flatten)]
    dry_run: DryRunFlag,
}

// The wait of all three; no doc comment, which would replace the command's own.
#[derive(Debug, clap::Args)]
#[group(skip)]
struct WaitArgs {
    /// Wait until the claim is completed; exits with 3 if it ends otherwise
    #[arg(long, value_name = "STATE", num_args = 0..=1, require_equals = true, default_missing_value = COMPLETED)]
    wait: Option<String>,
    #[command(flatten)]
    timeout: TimeoutFlag,
}

impl WaitArgs {
    fn read(&self, flags: &mut Flags) -> Option<Duration> {
        flags.take(wait::plan(self.wait.as_deref(), &self.timeout.wait_timeout, COMPLETED)).flatten()
    }
}

/// Runs the command.
pub(super) async fn run(command: Command, context: &Context) -> Result<(), Fail> {
    match command {
        Command::Create(args) => create(args, context).await,
        Command::Get(args) => get(args, context).await,
        Command::Verify(args) => verify(args, context).await,
    }
}

async fn create(args: CreateArgs, context: &Context) -> Result<(), Fail> {
    let (claim, wait, dry_run) = plan(args)?;
    let unknown_outcome = "the domain may have been claimed; repeating the command is safe";
    let make = |client: &Client| client.domains().claim(&claim);
    let Some(response) = mutation::execute(dry_run, unknown_outcome, context, make).await? else {
        return Ok(());
    };
    let id = response.value.domain_id.clone().unwrap_or_else(|| "".into());
    mutation::print(id.as_str(), &response, context)?;
    if let Some(record) = response.value.record.as_ref().filter(|_| !context.out.is_json()) {
        context.out.note(&format!("{}  {}  {}", record.name, record.kind, record.value));
        context.out.note(&format!("publish this record, then: idempost domains claim verify {id} --wait"));
    }
    match wait {
        Some(timeout) => until_completed(timeout, id, context).await,
        None => Ok(()),
    }
}

fn plan(args: CreateArgs) -> Result<(NewDomainClaim, Option<Duration>, Option<DryRun>), Fail> {
    let CreateArgs { name, region, custom_return_path, tracking, wait, dry_run } = args;
    let mut flags = Flags::default();
    flags.help("idempost domains claim create acme.test");
    let name = name.read(&mut flags);
    if name.is_none() {
        flags.missing("NAME");
    }
    flags.field("/region", "--region", region.as_deref());
    flags.field("/custom_return_path", "--custom-return-path", custom_return_path.as_deref());
    let (open, click) = tracking.read(&mut flags);
    // A placeholder if the name is missing, which has been reported.
    let mut claim = NewDomainClaim::new(name.unwrap_or_else(|| "missing.example".to_owned()));
    if let Some(region) = region {
        claim = claim.region(Region::from(region));
    }
    if let Some(label) = custom_return_path {
        claim = claim.custom_return_path(label);
    }
    if let Some(on) = open {
        claim = claim.open_tracking(on);
    }
    if let Some(on) = click {
        claim = claim.click_tracking(on);
    }
    if let Some(label) = tracking.tracking_subdomain {
        claim = claim.tracking_subdomain(label);
    }
    let wait = wait.read(&mut flags);
    let dry_run = flags.dry_run(dry_run.dry_run.as_deref());
    flags.add_problems(claim.check());
    flags.finish()?;
    Ok((claim, wait, dry_run))
}

async fn get(args: GetArgs, context: &Context) -> Result<(), Fail> {
    let mut flags = Flags::default();
    let wait = args.wait.read(&mut flags);
    flags.finish()?;
    let Some(timeout) = wait else {
        return mutation::show(context, |client| client.domains().get_claim(args.id.as_str())).await;
    };
    until_completed(timeout, args.id.as_str().into(), context).await?;
    mutation::show(context, |client| client.domains().get_claim(args.id.as_str())).await
}

async fn verify(args: VerifyArgs, context: &Context) -> Result<(), Fail> {
    let VerifyArgs { id, wait, dry_run } = args;
    let mut flags = Flags::default();
    let wait = wait.read(&mut flags);
    let dry_run = flags.dry_run(dry_run.dry_run.as_deref());
    flags.finish()?;
    let unknown_outcome = format!("the check may have started; check: {}", show_command(&id));
    let make = |client: &Client| client.domains().verify_claim(id.as_str());
    let Some(response) = mutation::execute(dry_run, &unknown_outcome, context, make).await? else {
        return Ok(());
    };
    mutation::print(&id, &response, context)?;
    if let Some(timeout) = wait {
        return until_completed(timeout, id.as_str().into(), context).await;
    }
    context.out.note(&format!("check started · check: {}", show_command(&id)));
    Ok(())
}

async fn until_completed(timeout: Duration, id: DomainId, context: &Context) -> Result<(), Fail> {
    let words = Messages {
        interrupted: "the claim stays open".to_owned(),
        timed_out: "the claim isn't completed".to_owned(),
        continues: "it stays open".to_owned(),
        failed: "the domain wasn't transferred".to_owned(),
        check: show_command(id.as_str()),
    };
    let next = format!(
        "publish its DNS records (idempost domains records {id}), then: idempost domains verify {id} --wait"
    );
    wait::until(context.client()?.domains().wait_for_claim(id), timeout, &words, context, end).await?;
    context.out.note(&next);
    Ok(())
}

/// A bad end has the service's reason.
fn end(claim: &DomainClaim) -> End {
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
