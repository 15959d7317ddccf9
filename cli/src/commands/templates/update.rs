//! `templates update`: changes the fields set by flags.

use idempost::templates::TemplatePatch;

use super::{content, publish_now, show_command};
use crate::actions::mutation::{self, DryRunFlag};
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::clear;
use crate::input::flags::{Choices, Flags};

/// Change a template
///
/// Fields not set by a flag stay unchanged. A published template is sent as published until the change is published too; its name and alias
/// change immediately. --variable replaces all existing variables.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    idempost templates update welcome --subject 'Hello, {{{NAME}}}' --publish\n  \
    idempost templates update welcome --html-file welcome.html --clear text")]
pub(crate) struct Args {
    /// ID or alias of the template
    #[arg(value_name = "ID|ALIAS")]
    id: String,
    #[command(flatten)]
    content: content::Args,
    /// Clear a field: alias, from, subject, reply-to, text or variable; repeatable
    #[arg(long, value_name = "FIELD", value_parser = Choices(&["alias", "from", "subject", "reply-to", "text", "variable"]), hide_possible_values = true)]
    clear: Vec<String>,
    /// Publish the change immediately
    #[arg(long)]
    publish: bool,
    #[command(flatten)]
    dry_run: DryRunFlag,
}

type Clear = fn(TemplatePatch) -> TemplatePatch;
type Setter = fn(TemplatePatch, String) -> TemplatePatch;

/// The fields that can be cleared.
const CLEARS: [(&str, Clear); 6] = [
    ("alias", TemplatePatch::clear_alias),
    ("from", TemplatePatch::clear_from),
    ("subject", TemplatePatch::clear_subject),
    ("reply-to", TemplatePatch::clear_reply_to),
    ("text", TemplatePatch::clear_text),
    ("variable", |patch| patch.variables::<idempost::templates::TemplateVariable>([])),
];

pub(super) async fn run(args: Args, context: &Context) -> Result<(), Fail> {
    let Args { id, content, clear, publish, dry_run } = args;
    let mut flags = Flags::default();
    let bodies = content.bodies(&mut flags, context).await;
    let variables = content.variables(&mut flags);
    let mut patch = TemplatePatch::new();
    let mut set = Vec::new();
    let setters: [(&str, Option<String>, Setter); 6] = [
        ("name", content.name, TemplatePatch::name),
        ("alias", content.alias, TemplatePatch::alias),
        ("from", content.from, TemplatePatch::from),
        ("subject", content.subject, TemplatePatch::subject),
        ("html", bodies.html, TemplatePatch::html),
        ("text", bodies.text, TemplatePatch::text),
    ];
    for (field, value, setter) in setters {
        if let Some(value) = value {
            patch = setter(patch, value);
            set.push(field);
        }
    }
    if !content.reply_to.is_empty() {
        patch = patch.reply_to(content.reply_to);
        set.push("reply-to");
    }
    if !variables.is_empty() {
        patch = patch.variables(variables);
        set.push("variable");
    }
    patch = clear::apply(patch, &clear, &CLEARS, &set, &mut flags);
    if set.is_empty() && clear.is_empty() && !bodies.unread {
        flags.help("idempost templates update welcome --subject '…'");
        flags.missing("a field to change");
    }
    flags.add_problems(patch.check());
    let dry_run = flags.dry_run(dry_run.dry_run.as_deref());
    flags.finish()?;
    let unknown_outcome = format!("the template may have been changed; check: {}", show_command(&id));
    let done = mutation::execute(dry_run, &unknown_outcome, context, |client| {
        client.templates().update(id.as_str(), &patch)
    });
    let Some(response) = done.await? else { return Ok(()) };
    let stored = response.value.id.as_str();
    mutation::print(stored, &response, context)?;
    // By ID: the alias may just have changed.
    if publish { publish_now(stored, context).await } else { Ok(()) }
}
