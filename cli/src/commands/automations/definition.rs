//! `automations create` and `update`: a definition from a file; problems are reported with their location in it.

use idempost::{
    automations::{AutomationPatch, NewAutomation},
    problem::Problems,
};
use serde_json::Value;

use crate::actions::mutation::{self, DryRunFlag};
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::body_builder::{BodyBuilder, flag_origin};
use crate::input::flags::{DryRun, Flags};
use crate::input::json::{self, Document};
use crate::input::name::argument_or_flag;

/// Create an automation
///
/// The definition is a JSON object with `steps` and `connections`, and with `name` and `status` unless flags set them. A step has `key`, `type`
/// and `config`; the types are trigger, send_email, delay, wait_for_event, condition, contact_update, contact_delete and add_to_segment. A
/// connection has `from`, `to` and, after conditions and waits, `type`. All problems are reported at once, with their location in the file.
///
/// Prints the ID. Without a status the automation is disabled: events don't start runs.
#[derive(Debug, clap::Args)]
#[command(mut_arg("name", |name| name.hide(true).help("Same as NAME").conflicts_with("named")), after_help = "Examples:\n  \
    idempost automations create --definition series.json\n  \
    idempost automations create 'Welcome series' --definition series.json --status enabled\n  \
    idempost automations create Welcome --connections '[{\"from\":\"start\",\"to\":\"mail\"}]' \\\n      \
    --steps \"$(cat steps.json)\"\n  \
    idempost automations get ID --jq '{name, steps, connections}' | idempost automations create --definition -")]
pub(crate) struct CreateArgs {
    /// Display name of the automation
    #[arg(value_name = "NAME")]
    named: Option<String>,
    /// File with the definition; - reads standard input
    #[arg(long, value_name = "FILE", required_unless_present = "steps")]
    definition: Option<String>,
    #[command(flatten)]
    fields: Fields,
    #[command(flatten)]
    dry_run: DryRunFlag,
}

/// Change an automation's name, status or definition
///
/// A new definition replaces the old one; runs in progress finish with the old one. Disabling an automation also lets its runs finish;
/// `automations stop` cancels them too.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    idempost automations update c9b16d4f-ba6c-4e2e-b044-6bf4404e57fd --status enabled\n  \
    idempost automations update c9b16d4f-ba6c-4e2e-b044-6bf4404e57fd --definition series.json")]
pub(crate) struct UpdateArgs {
    /// ID of the automation
    #[arg(value_name = "ID")]
    id: String,
    /// File with `steps` and `connections`, and `name` and `status` to change them; - reads standard input
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
    /// Display name of the automation
    #[arg(long, value_name = "TEXT")]
    name: Option<String>,
    /// Whether events start runs: enabled or disabled
    #[arg(long, value_name = "STATUS")]
    status: Option<String>,
    /// Steps as a JSON array, replacing those of the file
    #[arg(long, value_name = "JSON", requires = "connections")]
    steps: Option<String>,
    /// Connections as a JSON array, replacing those of the file
    #[arg(long, value_name = "JSON", requires = "steps")]
    connections: Option<String>,
}

pub(super) async fn create(args: CreateArgs, context: &Context) -> Result<(), Fail> {
    let CreateArgs { named, definition, fields, dry_run } = args;
    let (label, name) = argument_or_flag(named, "NAME", fields.name, "--name");
    let lists = [("steps", "--steps", fields.steps), ("connections", "--connections", fields.connections)];
    let fields = [("name", label, name), ("status", "--status", fields.status)];
    let definition = (definition, lists);
    let (automation, dry_run) = read(definition, fields, &dry_run, context, "", NewAutomation::from_json)?;
    let unknown_outcome = "the automation may have been created; check: idempost automations list --limit 1";
    let done = mutation::execute(dry_run, unknown_outcome, context, |client| {
        client.automations().create(&automation)
    });
    match done.await? {
        Some(response) => mutation::print(response.value.id.as_str(), &response, context),
        None => Ok(()),
    }
}

pub(super) async fn update(args: UpdateArgs, context: &Context) -> Result<(), Fail> {
    let UpdateArgs { id, definition, fields, dry_run } = args;
    let nothing = "--name, --status, --definition or --steps";
    let lists = [("steps", "--steps", fields.steps), ("connections", "--connections", fields.connections)];
    let definition = (definition, lists);
    let fields = [("name", "--name", fields.name), ("status", "--status", fields.status)];
    let (patch, dry_run) = read(definition, fields, &dry_run, context, nothing, AutomationPatch::from_json)?;
    let unknown_outcome =
        format!("the automation may have been changed; check: idempost automations get {id}");
    let done = mutation::execute(dry_run, &unknown_outcome, context, |client| {
        client.automations().update(id.as_str(), &patch)
    });
    match done.await? {
        Some(response) => mutation::print(response.value.id.as_str(), &response, context),
        None => Ok(()),
    }
}

/// Names in the body, with the flags and their values.
type Given<'a> = [(&'a str, &'a str, Option<String>); 2];

/// Applies the flags to the file's contents and validates the result. The values of `lists` are JSON; `nothing` names
/// the flags of which one is required.
fn read<T>(
    (definition, lists): (Option<String>, Given<'_>),
    fields: Given<'_>,
    dry_run: &DryRunFlag,
    context: &Context,
    nothing: &str,
    check: impl FnOnce(&Value) -> Result<T, Problems>,
) -> Result<(T, Option<DryRun>), Fail> {
    let mut builder = BodyBuilder::default();
    let mut flags = Flags::default();
    let mut unread = false;
    let given = definition.is_some() || lists.iter().any(|(_, _, value)| value.is_some());
    if let Some(file) = definition {
        match context.stdin().claim("--definition", &file) {
            Ok(source) => builder.read(source, "--definition"),
            Err(found) => builder.push(*found),
        }
    }
    for (field, flag, value) in fields {
        if let Some(value) = value {
            let origin = flag_origin(flag, 1, &value);
            builder.set(field, value, origin);
        }
    }
    for (field, flag, text) in lists {
        let Some(text) = text else { continue };
        let origin = flag_origin(flag, 1, &text);
        match json::read(&text) {
            Ok(Document { value: value @ Value::Array(_), repeated, .. }) if repeated.is_empty() => {
                builder.set(field, value, origin);
            }
            wrong => {
                let rule = match wrong {
                    Ok(Document { value: Value::Array(_), .. }) => "a key is repeated".to_owned(),
                    Ok(_) => format!("{flag} must be a JSON array"),
                    Err(error) => error.message,
                };
                builder.malformed("json", rule, origin, None);
                unread = true;
            }
        }
    }
    let mut read = None;
    match check(&builder.value()) {
        Ok(checked) => read = Some(checked),
        // What follows from a list that can't be read isn't reported.
        Err(_) if unread => {}
        Err(problems) => builder.add_problems(problems),
    }
    flags.omit(builder.omitted());
    for mut found in builder.into_diagnostics() {
        let whole = found.problem.code == "required" && found.problem.path.is_empty();
        if whole && !given {
            flags.missing(nothing);
            continue;
        }
        // Its hints are about the fields of an email.
        found.hint = None;
        flags.push(found);
    }
    let dry_run = flags.dry_run(dry_run.dry_run.as_deref());
    flags.finish()?;
    match read {
        Some(read) => Ok((read, dry_run)),
        // Unreachable: an unreadable file has added a problem.
        None => Err(Fail::Usage(crate::diagnostics::Diagnostics::default())),
    }
}
