//! The message of a job, from flags: the defaults of all rows.

use idempost_bulk::Message;

use crate::actions::html_command;
use crate::context::Context;
use crate::diagnostics::{Fail, Origin};
use crate::input::bodies;
use crate::input::flags::Flags;
use crate::input::pair::GivenNames;
use crate::input::source::StdinReaders;

/// Sets a field of the message, or adds to one.
type Set = fn(Message, String) -> Message;

// No doc comment, which would replace the command's own.
#[derive(Debug, Default, PartialEq, Eq, clap::Args)]
#[group(skip)]
pub(super) struct MessageArgs {
    /// Sender, such as `Acme <hi@acme.test>` [default: `from` in the profile]
    #[arg(long, value_name = "ADDRESS", help_heading = "Message")]
    from: Option<String>,
    /// Subject; may contain placeholders
    #[arg(long, value_name = "TEXT", help_heading = "Message")]
    subject: Option<String>,
    #[command(flatten)]
    bodies: bodies::Args,
    /// Published template to use, by ID or alias
    #[arg(long, value_name = "ID", help_heading = "Body")]
    template: Option<String>,
    /// Value of a variable in rows that have none; repeatable
    #[arg(long, value_name = "NAME=VALUE", help_heading = "Body")]
    var: Vec<String>,
    /// Cc recipients; several values or repeated flags
    #[arg(long, value_name = "ADDRESS", help_heading = "Message", num_args = 1..)]
    cc: Vec<String>,
    /// Bcc recipients; several values or repeated flags
    #[arg(long, value_name = "ADDRESS", help_heading = "Message", num_args = 1..)]
    bcc: Vec<String>,
    /// Reply-to address; repeatable
    #[arg(long, value_name = "ADDRESS", help_heading = "Message")]
    reply_to: Vec<String>,
    /// Custom email header; the value may contain placeholders; repeatable
    #[arg(long, value_name = "NAME: VALUE", help_heading = "Message")]
    header: Vec<String>,
    /// https URL for one-click unsubscribing in mail clients (RFC 8058); may contain placeholders
    ///
    /// Sets the headers List-Unsubscribe and List-Unsubscribe-Post. Mail clients post to the URL, so it must identify the recipient, such as
    /// 'https://acme.test/unsubscribe?token={{{TOKEN}}}'. Values are percent-encoded. Rows that set their own List-Unsubscribe header keep it.
    #[arg(long, value_name = "URL", help_heading = "Message")]
    list_unsubscribe: Option<String>,
    /// Tag; the value may contain placeholders; repeatable
    #[arg(long, value_name = "NAME=VALUE", help_heading = "Message")]
    tag: Vec<String>,
    /// Topic; recipients who opted out of it are skipped
    #[arg(long, value_name = "ID", help_heading = "Message")]
    topic_id: Option<String>,
    /// Time to send: ISO 8601, or a phrase such as `in 1 hour`; each email then needs its own request
    #[arg(long, value_name = "TIME", help_heading = "Message")]
    scheduled_at: Option<String>,
}

impl MessageArgs {
    /// Whether any flag is set.
    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Builds and validates the message.
    pub(super) async fn read(
        self,
        flags: &mut Flags,
        mut stdin: StdinReaders,
        context: &Context,
    ) -> Result<Message, Fail> {
        let mut message = Message::new();
        let of_profile = match &self.from {
            None if self.template.is_none() => context.settings()?.from.clone(),
            _ => None,
        };
        let from = self.from.or(of_profile.map(|from| from.value));
        flags.field("/from", "--from", from.as_deref());
        message = from.into_iter().fold(message, Message::from);
        let texts: [(&str, &'static str, Option<String>, Set); 5] = [
            ("/subject", "--subject", self.subject, |message, text| message.subject(text)),
            ("/template", "--template", self.template, |message, text| message.template(text)),
            ("/topic_id", "--topic-id", self.topic_id, |message, text| message.topic_id(text)),
            ("/scheduled_at", "--scheduled-at", self.scheduled_at, |message, text| {
                message.scheduled_at(text)
            }),
            ("/list_unsubscribe", "--list-unsubscribe", self.list_unsubscribe, |message, url| {
                message.list_unsubscribe(url)
            }),
        ];
        for (pointer, flag, value, set) in texts {
            flags.field(pointer, flag, value.as_deref());
            message = value.into_iter().fold(message, set);
        }
        let bodies = html_command::bodies(&self.bodies, flags, &mut stdin).await;
        message = bodies.html.into_iter().fold(message, Message::html);
        message = bodies.text.into_iter().fold(message, Message::text);
        let lists: [(&str, &'static str, Vec<String>, Set); 3] = [
            ("/cc", "--cc", self.cc, |message, text| message.cc(text)),
            ("/bcc", "--bcc", self.bcc, |message, text| message.bcc(text)),
            ("/reply_to", "--reply-to", self.reply_to, |message, text| message.reply_to(text)),
        ];
        for (pointer, flag, values, add) in lists {
            flags.declare_list(pointer, flag, &values);
            message = values.into_iter().fold(message, add);
        }
        message = add_pairs(message, flags, "--var", '=', "/variables", &self.var, |message, name, value| {
            message.variable(name, value)
        });
        message = add_pairs(message, flags, "--tag", '=', "/tags", &self.tag, |message, name, value| {
            message.tag(name, value)
        });
        message =
            add_pairs(message, flags, "--header", ':', "/headers", &self.header, |message, name, value| {
                message.header(name, value.trim())
            });
        flags.add_problems(idempost::problem::Problems::check(message.check().err().unwrap_or_default()));
        Ok(message)
    }
}

/// Adds the pairs of a repeated flag.
fn add_pairs(
    mut message: Message,
    flags: &mut Flags,
    flag: &'static str,
    separator: char,
    pointer: &str,
    values: &[String],
    add: fn(Message, &str, &str) -> Message,
) -> Message {
    let form = if separator == ':' { "NAME: VALUE" } else { "NAME=VALUE" };
    let mut names = GivenNames::default();
    for (i, pair) in flags.pairs(flag, form, values, separator) {
        if let Err(rule) = names.add(pair.name, separator) {
            let origin = Origin::flag_part(flag, i + 1, &values[i], pair.name_range());
            flags.reject_at("repeated", rule, origin);
        }
        let mut path = pointer.to_owned();
        idempost::problem::push_token(&mut path, pair.name);
        flags.nth_field(&path, flag, i + 1, &values[i]);
        message = add(message, pair.name, pair.value);
    }
    message
}
