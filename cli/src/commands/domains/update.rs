//! `domains update`: changes a domain's settings.

use idempost::{domains::DomainPatch, problem::Problems};

use super::{setup, show_command};
use crate::actions::mutation::{self, DryRunFlag};
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::flags::{Choices, DryRun, Flags};

/// The field that can be cleared.
const TRACKING_SUBDOMAIN: &str = "tracking-subdomain";

/// Change a domain's settings
///
/// Settings not set by a flag stay unchanged. If the change adds DNS records, publish and verify them too.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    idempost domains update d91cd9bd-1176-453e-8fc1-35364d380206 --tracking-subdomain links --open-tracking\n  \
    idempost domains update d91cd9bd-1176-453e-8fc1-35364d380206 --open-tracking=false --clear tracking-subdomain")]
pub(crate) struct Args {
    /// ID of the domain
    #[arg(value_name = "ID")]
    id: String,
    #[command(flatten)]
    setup: setup::Args,
    /// Clear a field: tracking-subdomain
    #[arg(long, value_name = "FIELD", value_parser = Choices(&["tracking-subdomain"]), hide_possible_values = true)]
    clear: Vec<String>,
    #[command(flatten)]
    dry_run: DryRunFlag,
}

pub(super) async fn run(args: Args, context: &Context) -> Result<(), Fail> {
    let id = args.id.clone();
    let (patch, dry_run) = plan(args)?;
    let unknown_outcome = format!("the domain may have been changed; check: {}", show_command(&id));
    let done = mutation::execute(dry_run, &unknown_outcome, context, |client| {
        client.domains().update(id.as_str(), &patch)
    });
    match done.await? {
        Some(response) => mutation::print(response.value.id.as_str(), &response, context),
        None => Ok(()),
    }
}

fn plan(args: Args) -> Result<(DomainPatch, Option<DryRun>), Fail> {
    let Args { id: _, setup, clear, dry_run } = args;
    let mut flags = Flags::default();
    let setup = setup.read(&mut flags);
    let mut patch = DomainPatch::new();
    if let Some(on) = setup.open_tracking {
        patch = patch.open_tracking(on);
    }
    if let Some(on) = setup.click_tracking {
        patch = patch.click_tracking(on);
    }
    if let Some(tls) = setup.tls {
        patch = patch.tls(tls);
    }
    if let Some(on) = setup.sending {
        patch = patch.sending(on);
    }
    if let Some(on) = setup.receiving {
        patch = patch.receiving(on);
    }
    for (i, field) in clear.iter().enumerate() {
        if field != TRACKING_SUBDOMAIN {
            let rule = format!("--clear must be {TRACKING_SUBDOMAIN}");
            flags.wrong_nth("type", rule, "--clear", i + 1, field);
        } else if setup.tracking_subdomain.is_some() {
            let rule = "--tracking-subdomain and --clear tracking-subdomain can't be used together";
            flags.wrong_nth("exclusive", rule, "--clear", i + 1, field);
        } else {
            patch = patch.clear_tracking_subdomain();
        }
    }
    if let Some(label) = setup.tracking_subdomain {
        patch = patch.tracking_subdomain(label);
    }
    if setup.given || !clear.is_empty() {
        // An unknown field name leaves nothing to change; it was reported already.
        let problems = patch.check().err().map(Problems::into_vec).unwrap_or_default();
        let problems = problems.into_iter().filter(|problem| !problem.path.is_empty());
        flags.add_problems(Problems::check(problems));
    } else {
        flags.help("idempost domains update ID --open-tracking");
        flags.missing("a field to change");
    }
    let dry_run = flags.dry_run(dry_run.dry_run.as_deref());
    flags.finish()?;
    Ok((patch, dry_run))
}
