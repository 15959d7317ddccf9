//! The flags of a broadcast's content, which making one and changing one have in common.

use crate::context::Context;
use crate::input::bodies::{self, Bodies};
use crate::input::flags::Flags;

/// What the broadcast says, and to whom
#[derive(Debug, clap::Args)]
#[group(skip)]
pub(super) struct Args {
    /// Segment: all its contacts get the broadcast, but those who have unsubscribed
    #[arg(long, value_name = "ID")]
    pub(super) segment_id: Option<String>,
    /// Sender: `you@x.test` or `You <you@x.test>`
    #[arg(long, value_name = "ADDR")]
    pub(super) from: Option<String>,
    /// Subject; it may hold placeholders, as the body
    #[arg(long, value_name = "TEXT")]
    pub(super) subject: Option<String>,
    #[command(flatten)]
    bodies: bodies::Args,
    /// Address that answers go to; repeat it
    #[arg(long, value_name = "ADDR")]
    pub(super) reply_to: Vec<String>,
    /// What a mail program shows beside the subject
    #[arg(long, value_name = "TEXT")]
    pub(super) preview_text: Option<String>,
    /// Name for its makers; no recipient sees it
    #[arg(long, value_name = "TEXT")]
    pub(super) name: Option<String>,
    /// Topic: contacts who don't want it get nothing
    #[arg(long, value_name = "ID")]
    pub(super) topic_id: Option<String>,
}

impl Args {
    /// Reads the files, and tells the flags where each field was written.
    pub(super) fn bodies(&self, flags: &mut Flags, context: &Context) -> Bodies {
        for (pointer, flag, value) in [
            ("/segment_id", "--segment-id", &self.segment_id),
            ("/from", "--from", &self.from),
            ("/subject", "--subject", &self.subject),
            ("/topic_id", "--topic-id", &self.topic_id),
        ] {
            flags.field(pointer, flag, value.as_deref());
        }
        flags.list("/reply_to", "--reply-to", &self.reply_to);
        self.bodies.read(flags, context.stdin())
    }
}
