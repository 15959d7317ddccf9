//! The message of a job, from flags: the defaults of all rows.

use idempost::problem::Problems;
use idempost_bulk::Message;
use serde_json::Map;

use crate::actions::html_command;
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::bodies;
use crate::input::flags::Flags;
use crate::input::source::StdinReaders;

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
        let mut json = Map::new();
        let of_profile = match &self.from {
            None if self.template.is_none() => context.settings()?.from.clone(),
            _ => None,
        };
        for (field, flag, value) in [
            ("from", "--from", self.from.or(of_profile.map(|from| from.value))),
            ("subject", "--subject", self.subject),
            ("template", "--template", self.template),
            ("topic_id", "--topic-id", self.topic_id),
            ("scheduled_at", "--scheduled-at", self.scheduled_at),
            ("list_unsubscribe", "--list-unsubscribe", self.list_unsubscribe),
        ] {
            flags.set(&mut json, field, flag, value);
        }
        let bodies = html_command::bodies(&self.bodies, flags, &mut stdin).await;
        json.extend(bodies.texts().map(|(field, text)| (field.to_owned(), text.into())));
        for (field, flag, values) in
            [("cc", "--cc", self.cc), ("bcc", "--bcc", self.bcc), ("reply_to", "--reply-to", self.reply_to)]
        {
            flags.set_list(&mut json, field, flag, values);
        }
        for (field, flag, form, values) in [
            ("variables", "--var", "NAME=VALUE", self.var),
            ("tags", "--tag", "NAME=VALUE", self.tag),
            ("headers", "--header", "`NAME: VALUE`", self.header),
        ] {
            let mut object = Map::new();
            flags.members(&format!("/{field}"), flag, form, &values, &mut object, |pair| {
                Ok(if field == "headers" { pair.value.trim() } else { pair.value }.into())
            });
            json.insert(field.to_owned(), object.into());
        }
        let message: Message = serde_json::from_value(json.into())
            .map_err(|error| Fail::error(format!("the message can't be read: {error}")))?;
        flags.add_problems(Problems::check(message.check().err().unwrap_or_default()));
        Ok(message)
    }
}
