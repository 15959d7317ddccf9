//! `contacts create`.

use idempost::{contacts::NewContact, topics::Subscription};

use super::{fields, show_command};
use crate::actions::mutation::{self, DryRunFlag};
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::flags::{Flags, Required};
use crate::input::name::argument_or_flag;
use crate::input::pair::Pair;

/// Create a contact and print its ID
///
/// The specification doesn't define what happens if a contact already has the address; the sandbox updates that contact.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    idempost contacts create ada@example.com --first-name Ada --segment-id 78261eea-8f8b-4381-83c6-79fa7120f1cf\n  \
    idempost contacts create ada@example.com --property city=London --property-json orders=3 \\\n      \
    --topic b6d24b8e-af0b-4c3c-be0c-359bbd97381e=opt_in")]
pub(crate) struct Args {
    /// Email address of the contact, without a display name
    #[arg(value_name = "EMAIL", add = Required)]
    email: Option<String>,
    /// Same as EMAIL
    #[arg(long = "email", value_name = "EMAIL", hide = true, conflicts_with = "email")]
    email_flag: Option<String>,
    #[command(flatten)]
    fields: fields::Args,
    /// Segment to add the contact to; repeatable
    #[arg(long, value_name = "ID")]
    segment_id: Vec<String>,
    /// Topic subscription, opt_in or opt_out; repeatable
    #[arg(long, value_name = "ID=SUBSCRIPTION")]
    topic: Vec<String>,
    #[command(flatten)]
    dry_run: DryRunFlag,
}

pub(super) async fn run(mut args: Args, context: &Context) -> Result<(), Fail> {
    let mut flags = Flags::default();
    flags.help("idempost contacts create ada@example.com");
    let (label, email) = argument_or_flag(args.email.take(), "EMAIL", args.email_flag.take(), "--email");
    flags.field("/email", label, email.as_deref());
    let email = email.unwrap_or_default();
    let dry_run = flags.dry_run(args.dry_run.dry_run.as_deref());
    let contact = contact(&email, &args, &mut flags);
    flags.add_problems(contact.check());
    flags.finish()?;
    let unknown_outcome = format!("the contact may have been created; check: {}", show_command(&email));
    match mutation::execute(dry_run, &unknown_outcome, context, |client| client.contacts().create(&contact))
        .await?
    {
        Some(response) => mutation::print(response.value.id.as_str(), &response, context),
        None => Ok(()),
    }
}

fn contact(email: &str, args: &Args, flags: &mut Flags) -> NewContact {
    let mut contact = NewContact::new(email);
    args.fields.name(flags);
    if let Some(name) = &args.fields.first_name {
        contact = contact.first_name(name);
    }
    if let Some(name) = &args.fields.last_name {
        contact = contact.last_name(name);
    }
    if let Some(unsubscribed) = args.fields.unsubscribed(flags) {
        contact = contact.unsubscribed(unsubscribed);
    }
    for (key, value) in args.fields.properties(flags) {
        contact = contact.property(key, value);
    }
    for (i, segment) in args.segment_id.iter().enumerate() {
        flags.field(&format!("/segments/{i}"), "--segment-id", Some(segment));
        contact = contact.segment(segment.as_str());
    }
    for (i, text) in args.topic.iter().enumerate() {
        let choice = Pair::read(text, '=').and_then(|pair| match pair.value {
            "opt_in" => Some((pair.name, Subscription::OptIn)),
            "opt_out" => Some((pair.name, Subscription::OptOut)),
            _ => None,
        });
        if let Some((topic, subscription)) = choice {
            contact = contact.topic(topic, subscription);
        } else {
            let rule = "--topic must be TOPIC_ID=opt_in or TOPIC_ID=opt_out";
            flags.wrong_nth("type", rule, "--topic", i + 1, text);
        }
    }
    contact
}
