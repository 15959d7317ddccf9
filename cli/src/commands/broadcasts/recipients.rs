//! `broadcasts recipients` and `broadcasts clicked-links`: what recipients did with a broadcast.

use idempost::broadcasts::{BounceType, RecipientType};

use crate::actions::pages::{self, Table};
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::flags::{Choices, Flags};
use crate::output::table::{Column, Kind};

const TYPES: Choices = Choices(RecipientType::KNOWN);
const BOUNCES: Choices = Choices(BounceType::KNOWN);

/// List the recipients of a broadcast by what happened to them
///
/// Items have no IDs: the column id is a cursor for --after and --before.
#[derive(Debug, clap::Args)]
#[command(after_help = "Columns: email, count, bounce_type, contact_id, id\n\n\
    Examples:\n  \
    idempost broadcasts recipients 559ac32e-9ef5-46fb-82a1-b76b840c0f7b --type opened --all\n  \
    idempost broadcasts recipients 559ac32e-9ef5-46fb-82a1-b76b840c0f7b --type bounced --bounce-type permanent\n  \
    idempost broadcasts recipients 559ac32e-9ef5-46fb-82a1-b76b840c0f7b --type clicked --jq '.data[].clicked_links[].url'")]
pub(crate) struct Args {
    /// ID of the broadcast
    #[arg(value_name = "ID")]
    id: String,
    /// What happened: sent, delivered, opened, clicked, bounced, complained, unsubscribed or suppressed
    #[arg(long = "type", value_name = "TYPE", value_parser = TYPES, hide_possible_values = true)]
    kind: Option<String>,
    /// Only addresses that contain this text
    #[arg(long, value_name = "TEXT")]
    email: Option<String>,
    /// Only bounces of this type: permanent, transient or undetermined
    #[arg(long, value_name = "TYPE", value_parser = BOUNCES, hide_possible_values = true)]
    bounce_type: Option<String>,
    #[command(flatten)]
    part: pages::Args,
}

/// Columns of the recipients; the first three are the default.
const TABLE: Table = Table {
    columns: &[
        Column::new("email", "EMAIL", Kind::Shrinks),
        Column::new("count", "COUNT", Kind::Text),
        Column::new("bounce_type", "BOUNCE", Kind::Text),
        Column::new("contact_id", "CONTACT", Kind::Id),
        Column::new("id", "CURSOR", Kind::Id),
    ],
    shown: 4,
    nothing: "no recipients",
};

/// Columns of the links; the first three are the default.
pub(super) const LINKS: Table = Table {
    columns: &[
        Column::new("url", "URL", Kind::Shrinks),
        Column::new("clicks", "CLICKS", Kind::Text),
        Column::new("unique_clicks", "RECIPIENTS", Kind::Text),
        Column::new("id", "CURSOR", Kind::Id),
    ],
    shown: 3,
    nothing: "no clicked links",
};

pub(super) async fn run(args: Args, context: &Context) -> Result<(), Fail> {
    let mut flags = Flags::default();
    let kind = args.kind.as_deref().unwrap_or_default();
    if args.kind.is_none() {
        flags.missing("--type");
        flags.help(format!("--type is one of {}", RecipientType::KNOWN.join(", ")));
    } else if !RecipientType::KNOWN.contains(&kind) {
        let rule = format!("--type must be one of {}", RecipientType::KNOWN.join(", "));
        flags.wrong("type", rule, "--type", kind);
    }
    if let Some(bounce) = args.bounce_type.as_deref() {
        if !BounceType::KNOWN.contains(&bounce) {
            let rule = format!("--bounce-type must be one of {}", BounceType::KNOWN.join(", "));
            flags.wrong("type", rule, "--bounce-type", bounce);
        }
        if kind != "bounced" {
            flags.wrong("exclusive", "--bounce-type needs --type bounced", "--bounce-type", bounce);
        }
    }
    flags.finish()?;
    pages::list(args.part, &TABLE, context, |client| {
        let mut list = client.broadcasts().recipients(&args.id, RecipientType::from(kind));
        if let Some(part) = args.email {
            list = list.email(part);
        }
        match args.bounce_type {
            Some(bounce) => list.bounce_type(BounceType::from(bounce)),
            None => list,
        }
    })
    .await
}
