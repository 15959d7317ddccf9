//! `events send`: sends a custom event for a contact.

use idempost::events::EventOccurrence;
use serde_json::{Map, Value};

use crate::actions::mutation::{self, DryRunFlag};
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::flags::{DryRun, Flags};
use crate::input::json;
use crate::input::pair::Pair;

/// Send an event for a contact
///
/// Starts a run of every enabled automation triggered by the event. Prints the event's name. The service has no idempotency key for this
/// operation: an event sent twice starts two runs.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    idempost events send user.created --email ada@example.com --payload plan=pro --payload-json seats=5\n  \
    idempost events send user.created --contact-id e169aa45-1ecf-4183-9955-b1499d5701d3")]
pub(crate) struct Args {
    /// Name of the event
    #[arg(value_name = "EVENT")]
    event: String,
    /// ID of the contact
    #[arg(long, visible_alias = "contact", value_name = "ID")]
    contact_id: Option<String>,
    /// Email address of the contact, who is created if unknown
    #[arg(long, value_name = "EMAIL")]
    email: Option<String>,
    /// Payload field as a string, KEY=TEXT, or the whole payload as a JSON object; repeatable
    #[arg(long, value_name = "KEY=TEXT|JSON")]
    payload: Vec<String>,
    /// Payload field as JSON: a number, a boolean, …; repeatable
    #[arg(long, value_name = "KEY=JSON")]
    payload_json: Vec<String>,
    #[command(flatten)]
    dry_run: DryRunFlag,
}

pub(super) async fn run(args: Args, context: &Context) -> Result<(), Fail> {
    let (event, dry_run) = plan(&args)?;
    let unknown_outcome =
        "the event may have been sent and may have started runs; check: idempost automations runs ID";
    match mutation::execute(dry_run, unknown_outcome, context, |client| client.events().send(&event)).await? {
        Some(response) => mutation::print(&args.event, &response, context),
        None => Ok(()),
    }
}

fn plan(args: &Args) -> Result<(EventOccurrence, Option<DryRun>), Fail> {
    let mut flags = Flags::default();
    flags.help("idempost events send EVENT --email ada@example.com");
    flags.field("/event", "EVENT", Some(&args.event));
    flags.field("/contact_id", "--contact-id", args.contact_id.as_deref());
    flags.field("/email", "--email", args.email.as_deref());
    let payload = payload(args, &mut flags);
    let event = match (&args.contact_id, &args.email) {
        (Some(_), Some(email)) => {
            let rule = "--contact-id and --email can't be used together: an event concerns one contact";
            flags.wrong("exclusive", rule, "--email", email);
            EventOccurrence::for_email(&args.event, email)
        }
        (Some(id), None) => EventOccurrence::for_contact(&args.event, id.as_str()),
        (None, Some(email)) => EventOccurrence::for_email(&args.event, email),
        (None, None) => {
            flags.missing("--email or --contact-id");
            // A placeholder for a missing name, which has been reported.
            EventOccurrence::for_contact(&args.event, "-")
        }
    };
    let event = if payload.is_empty() { event } else { event.payload(payload) };
    flags.add_problems(event.check());
    let dry_run = flags.dry_run(args.dry_run.dry_run.as_deref());
    flags.finish()?;
    Ok((event, dry_run))
}

fn payload(args: &Args, flags: &mut Flags) -> Map<String, Value> {
    let mut payload = Map::new();
    let texts = args.payload.iter().enumerate().map(|(i, text)| ("--payload", i + 1, text));
    let values = args.payload_json.iter().enumerate().map(|(i, text)| ("--payload-json", i + 1, text));
    for (flag, n, text) in texts.chain(values) {
        let typed = flag == "--payload-json";
        if !typed && text.trim_start().starts_with('{') {
            for (key, value) in flags.object(flag, n, text) {
                if payload.insert(key, value).is_some() {
                    flags.wrong_nth("exclusive", "a key in this object is repeated", flag, n, text);
                }
            }
            continue;
        }
        let Some(pair) = Pair::read(text, '=').filter(|pair| !pair.name.is_empty()) else {
            let rule = if typed { "the payload must be KEY=JSON" } else { "the payload must be KEY=TEXT" };
            flags.wrong_nth("type", rule, flag, n, text);
            continue;
        };
        let value = if typed {
            match json::read(pair.value) {
                Ok(document) if document.repeated.is_empty() => document.value,
                Ok(_) => {
                    flags.wrong_nth("repeated", "a key is repeated", flag, n, text);
                    continue;
                }
                Err(error) => {
                    let rule = format!("the payload must be KEY=JSON: {}", error.message);
                    flags.wrong_nth("json", rule, flag, n, text);
                    continue;
                }
            }
        } else {
            Value::String(pair.value.to_owned())
        };
        if payload.insert(pair.name.to_owned(), value).is_some() {
            flags.wrong_nth("exclusive", "this key is repeated", flag, n, text);
        }
    }
    payload
}
