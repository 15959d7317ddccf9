//! `events send`: says that an event has happened to a contact.

use posthaste::EventOccurrence;
use serde_json::{Map, Value};

use crate::actions::mutation::{self, DryRunFlag};
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::flags::{DryRun, Flags};
use crate::input::json;
use crate::input::pair::Pair;

/// Say that an event has happened to a contact
///
/// Every enabled automation that it triggers starts a run. It prints the name of the event. The service knows no idempotency key here:
/// sent twice, it starts two runs.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    posthaste events send user.created --email ada@example.com --payload plan=pro --payload-json seats=5\n  \
    posthaste events send user.created --contact-id e169aa45-1ecf-4183-9955-b1499d5701d3")]
pub(crate) struct Args {
    /// Name of the event
    #[arg(value_name = "EVENT")]
    event: String,
    /// Id of the contact
    #[arg(long, visible_alias = "contact", value_name = "ID")]
    contact_id: Option<String>,
    /// Address of the contact, who becomes one if there is none yet
    #[arg(long, value_name = "ADDRESS")]
    email: Option<String>,
    /// Tell more of it, as a text; or all of it, as a JSON object
    #[arg(long, value_name = "KEY=TEXT|JSON")]
    payload: Vec<String>,
    /// Tell more of it, as JSON: a number, a boolean, …
    #[arg(long, value_name = "KEY=JSON")]
    payload_json: Vec<String>,
    #[command(flatten)]
    dry_run: DryRunFlag,
}

pub(super) async fn run(args: Args, context: &Context) -> Result<(), Fail> {
    let (event, dry_run) = plan(&args)?;
    let doubt = "the event may have been sent, and its runs begun; look: posthaste automations runs ID";
    match mutation::carry_out(dry_run, doubt, context, |client| client.events().send(&event)).await? {
        Some(answer) => mutation::print(&args.event, &answer, context),
        None => Ok(()),
    }
}

fn plan(args: &Args) -> Result<(EventOccurrence, Option<DryRun>), Fail> {
    let mut flags = Flags::default();
    flags.help("posthaste events send EVENT --email ada@example.com");
    flags.field("/event", "EVENT", Some(&args.event));
    flags.field("/contact_id", "--contact-id", args.contact_id.as_deref());
    flags.field("/email", "--email", args.email.as_deref());
    let payload = payload(args, &mut flags);
    let event = match (&args.contact_id, &args.email) {
        (Some(_), Some(email)) => {
            let rule = "--contact-id and --email exclude each other: an event happens to one contact";
            flags.wrong("exclusive", rule, "--email", email);
            EventOccurrence::for_email(&args.event, email)
        }
        (Some(id), None) => EventOccurrence::for_contact(&args.event, id.as_str()),
        (None, Some(email)) => EventOccurrence::for_email(&args.event, email),
        (None, None) => {
            flags.missing("--email or --contact-id");
            // Stands in for what is missing; nothing is wrong with it.
            EventOccurrence::for_contact(&args.event, "-")
        }
    };
    let event = if payload.is_empty() { event } else { event.payload(payload) };
    flags.judge(event.check());
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
                    flags.wrong_nth("exclusive", "a key of it was given already", flag, n, text);
                }
            }
            continue;
        }
        let Some(pair) = Pair::read(text, '=').filter(|pair| !pair.name.is_empty()) else {
            let rule = if typed { "this is KEY=JSON" } else { "this is KEY=TEXT" };
            flags.wrong_nth("type", rule, flag, n, text);
            continue;
        };
        let value = if typed {
            match json::read(pair.value) {
                Ok(document) if document.repeated.is_empty() => document.value,
                Ok(_) => {
                    flags.wrong_nth("repeated", "a key is given twice", flag, n, text);
                    continue;
                }
                Err(error) => {
                    let rule = format!("this is KEY=JSON: {}", error.message);
                    flags.wrong_nth("json", rule, flag, n, text);
                    continue;
                }
            }
        } else {
            Value::String(pair.value.to_owned())
        };
        if payload.insert(pair.name.to_owned(), value).is_some() {
            flags.wrong_nth("exclusive", "this key was given already", flag, n, text);
        }
    }
    payload
}
