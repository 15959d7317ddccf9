//! `automations create` and `update`: a definition from a file, with what is wrong told at its place there.

use posthaste::{AutomationPatch, NewAutomation, Problems};
use serde_json::Value;

use crate::actions::mutation::{self, DryRunFlag};
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::draft::{Draft, flag_origin};
use crate::input::flags::{DryRun, Flags};

/// Make an automation
///
/// The definition is a JSON object with `steps` and `connections`, and `name` and `status` unless the flags say them. A step is `key`, `type`
/// and `config`; the types are trigger, send_email, delay, wait_for_event, condition, contact_update, contact_delete and add_to_segment. A
/// connection is `from`, `to` and, behind conditions and waits, `type`. Everything wrong is told at once, at its place in the file.
///
/// It prints the id. Without a status the automation is disabled: events start nothing.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    posthaste automations create --definition series.json\n  \
    posthaste automations create --definition series.json --name 'Welcome series' --status enabled\n  \
    posthaste automations get ID --jq '{name, steps, connections}' | posthaste automations create --definition -")]
pub(crate) struct CreateArgs {
    /// File with the definition; - is standard input
    #[arg(long, value_name = "FILE", required = true)]
    definition: Option<String>,
    #[command(flatten)]
    fields: Fields,
    #[command(flatten)]
    dry_run: DryRunFlag,
}

/// Change an automation: its name, its status or its definition
///
/// A definition takes the place of the old one; runs on their way go on by the old one. So do they when the automation is disabled;
/// `automations stop` ends them too.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    posthaste automations update c9b16d4f-ba6c-4e2e-b044-6bf4404e57fd --status enabled\n  \
    posthaste automations update c9b16d4f-ba6c-4e2e-b044-6bf4404e57fd --definition series.json")]
pub(crate) struct UpdateArgs {
    /// Id of the automation
    #[arg(value_name = "ID")]
    id: String,
    /// File with `steps` and `connections`, and `name` and `status` if they change; - is standard input
    #[arg(long, value_name = "FILE")]
    definition: Option<String>,
    #[command(flatten)]
    fields: Fields,
    #[command(flatten)]
    dry_run: DryRunFlag,
}

#[derive(Debug, clap::Args)]
#[group(skip)]
struct Fields {
    /// What people call it
    #[arg(long, value_name = "TEXT")]
    name: Option<String>,
    /// Whether events start runs: enabled or disabled
    #[arg(long, value_name = "STATUS")]
    status: Option<String>,
}

pub(super) async fn create(args: CreateArgs, context: &Context) -> Result<(), Fail> {
    let CreateArgs { definition, fields, dry_run } = args;
    let (automation, dry_run) = read(definition, fields, &dry_run, context, "", NewAutomation::from_json)?;
    let doubt = "the automation may have been made; look: posthaste automations list --limit 1";
    let done =
        mutation::carry_out(dry_run, doubt, context, |client| client.automations().create(&automation));
    match done.await? {
        Some(answer) => mutation::print(answer.value.id.as_str(), &answer, context),
        None => Ok(()),
    }
}

pub(super) async fn update(args: UpdateArgs, context: &Context) -> Result<(), Fail> {
    let UpdateArgs { id, definition, fields, dry_run } = args;
    let nothing = "--name, --status or --definition";
    let (patch, dry_run) = read(definition, fields, &dry_run, context, nothing, AutomationPatch::from_json)?;
    let doubt = format!("the automation may have been changed; look: posthaste automations get {id}");
    let done = mutation::carry_out(dry_run, &doubt, context, |client| {
        client.automations().update(id.as_str(), &patch)
    });
    match done.await? {
        Some(answer) => mutation::print(answer.value.id.as_str(), &answer, context),
        None => Ok(()),
    }
}

/// Lays the flags over the file and asks the rules. `nothing` names the flags of which one is needed.
fn read<T>(
    definition: Option<String>,
    fields: Fields,
    dry_run: &DryRunFlag,
    context: &Context,
    nothing: &str,
    check: impl FnOnce(&Value) -> Result<T, Problems>,
) -> Result<(T, Option<DryRun>), Fail> {
    let mut draft = Draft::default();
    let mut flags = Flags::default();
    let given = definition.is_some();
    if let Some(file) = definition {
        match context.stdin().claim("--definition", &file) {
            Ok(source) => draft.read(source, "--definition"),
            Err(found) => draft.push(*found),
        }
    }
    for (field, flag, value) in [("name", "--name", fields.name), ("status", "--status", fields.status)] {
        if let Some(value) = value {
            let origin = flag_origin(flag, 1, &value);
            draft.set(field, value, origin);
        }
    }
    let mut read = None;
    match check(&draft.value()) {
        Ok(checked) => read = Some(checked),
        Err(problems) => draft.judge(problems),
    }
    flags.omit(draft.omitted());
    for mut found in draft.into_found() {
        let whole = found.problem.code == "required" && found.problem.path.is_empty();
        if whole && !given {
            flags.missing(nothing);
            continue;
        }
        // What it would guess are the fields of an email.
        found.hint = None;
        flags.push(found);
    }
    let dry_run = flags.dry_run(dry_run.dry_run.as_deref());
    flags.finish()?;
    match read {
        Some(read) => Ok((read, dry_run)),
        // Unreachable: what could not be read has left a problem.
        None => Err(Fail::Usage(crate::diagnostics::Report::default())),
    }
}
