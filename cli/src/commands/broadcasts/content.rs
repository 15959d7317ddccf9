//! The content flags of `broadcasts create`.

use crate::actions::html_command;
use crate::context::Context;
use crate::input::bodies::{self, Bodies};
use crate::input::flags::Flags;

/// Content and recipients of the broadcast
#[derive(Debug, clap::Args)]
#[group(skip)]
pub(super) struct Args {
    /// Segment whose contacts receive the broadcast, except unsubscribed ones
    #[arg(long, value_name = "ID")]
    pub(super) segment_id: Option<String>,
    /// Sender: `you@x.test` or `You <you@x.test>`
    #[arg(long, value_name = "ADDRESS")]
    pub(super) from: Option<String>,
    /// Subject; may contain placeholders, like the body
    #[arg(long, value_name = "TEXT")]
    pub(super) subject: Option<String>,
    #[command(flatten)]
    bodies: bodies::Args,
    /// Reply-to address; repeatable
    #[arg(long, value_name = "ADDRESS")]
    pub(super) reply_to: Vec<String>,
    /// Preview text shown beside the subject in mail clients
    #[arg(long, value_name = "TEXT")]
    pub(super) preview_text: Option<String>,
    /// Internal name, not shown to recipients
    #[arg(long, value_name = "TEXT")]
    pub(super) name: Option<String>,
    /// Topic; contacts who opted out of it are skipped
    #[arg(long, value_name = "ID")]
    pub(super) topic_id: Option<String>,
}

impl Args {
    /// Reads the files and records which flag set each field.
    pub(super) async fn bodies(&self, flags: &mut Flags, context: &Context) -> Bodies {
        for (pointer, flag, value) in [
            ("/segment_id", "--segment-id", &self.segment_id),
            ("/from", "--from", &self.from),
            ("/subject", "--subject", &self.subject),
            ("/topic_id", "--topic-id", &self.topic_id),
        ] {
            flags.field(pointer, flag, value.as_deref());
        }
        flags.list("/reply_to", "--reply-to", &self.reply_to);
        html_command::bodies(&self.bodies, flags, &mut context.stdin()).await
    }
}
