//! `domains create`: registers a domain and shows the DNS records to publish.

use idempost::domains::{NewDomain, Region};

use super::{records, setup};
use crate::actions::mutation::{self, DryRunFlag, document};
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::flags::{Choices, DryRun, Flags};
use crate::input::name::NameArg;

/// Register a domain and show the DNS records to publish
///
/// Prints the ID on standard output and the records on standard error. Publish the records with the domain's DNS provider, then run
/// `domains verify`.
#[derive(Debug, clap::Args)]
#[command(mut_arg("name", |name| name.help("Name of the domain, such as acme.test")), after_help = "Examples:\n  \
    idempost domains create acme.test\n  \
    idempost domains create acme.test --region eu-west-1 --tracking-subdomain links --click-tracking\n  \
    idempost domains create in.acme.test --sending disabled --receiving enabled")]
pub(crate) struct Args {
    #[command(flatten)]
    name: NameArg,
    /// Region: us-east-1, eu-west-1, sa-east-1 or ap-northeast-1 [default: us-east-1]
    #[arg(long, value_name = "REGION", value_parser = Choices(&["us-east-1", "eu-west-1", "sa-east-1", "ap-northeast-1"]), hide_possible_values = true)]
    region: Option<String>,
    /// Subdomain label of the return path, which receives bounces [default: send]
    #[arg(long, value_name = "LABEL")]
    custom_return_path: Option<String>,
    #[command(flatten)]
    setup: setup::Args,
    #[command(flatten)]
    dry_run: DryRunFlag,
}

pub(super) async fn run(args: Args, context: &Context) -> Result<(), Fail> {
    let (domain, dry_run) = plan(args)?;
    let unknown_outcome = "the domain may have been registered; check: idempost domains list";
    let done =
        mutation::execute(dry_run, unknown_outcome, context, |client| client.domains().create(&domain))
            .await?;
    let Some(response) = done else { return Ok(()) };
    let id = response.value.id.as_str();
    mutation::print(id, &response, context)?;
    if !context.out.is_json() {
        let mut lines = records::lines(&document(&response));
        lines.push(format!("publish these records, then: idempost domains verify {id} --wait"));
        for line in &lines {
            context.out.note(line);
        }
    }
    Ok(())
}

fn plan(args: Args) -> Result<(NewDomain, Option<DryRun>), Fail> {
    let Args { name, region, custom_return_path, setup, dry_run } = args;
    let mut flags = Flags::default();
    flags.help("idempost domains create acme.test");
    let name = name.read(&mut flags);
    if name.is_none() {
        flags.missing("NAME");
    }
    flags.field("/region", "--region", region.as_deref());
    flags.field("/custom_return_path", "--custom-return-path", custom_return_path.as_deref());
    let setup = setup.read(&mut flags);
    // A placeholder if the name is missing, which has been reported.
    let mut domain = NewDomain::new(name.unwrap_or_else(|| "missing.example".to_owned()));
    if let Some(region) = region {
        domain = domain.region(Region::from(region));
    }
    if let Some(label) = custom_return_path {
        domain = domain.custom_return_path(label);
    }
    if let Some(on) = setup.open_tracking {
        domain = domain.open_tracking(on);
    }
    if let Some(on) = setup.click_tracking {
        domain = domain.click_tracking(on);
    }
    if let Some(label) = setup.tracking_subdomain {
        domain = domain.tracking_subdomain(label);
    }
    if let Some(tls) = setup.tls {
        domain = domain.tls(tls);
    }
    if let Some(on) = setup.sending {
        domain = domain.sending(on);
    }
    if let Some(on) = setup.receiving {
        domain = domain.receiving(on);
    }
    let dry_run = flags.dry_run(dry_run.dry_run.as_deref());
    flags.add_problems(domain.check());
    flags.finish()?;
    Ok((domain, dry_run))
}
