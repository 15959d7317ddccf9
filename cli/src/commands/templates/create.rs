//! `templates create`: creates a draft, or publishes at once with `--publish`.

use idempost::templates::NewTemplate;

use super::{content, publish_now};
use crate::actions::mutation::{self, DryRunFlag};
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::flags::{Flags, Required};
use crate::input::name::argument_or_flag;

/// Create a template and print its ID
///
/// The template is a draft; it can be sent after publishing with --publish or `templates publish`.
#[derive(Debug, clap::Args)]
#[command(mut_arg("name", |name| name.hide(true)), mut_arg("html", |html| html.add(Required)), after_help = "Examples:\n  \
    idempost templates create Welcome --alias welcome --subject 'Welcome, {{{NAME}}}' \\\n      \
    --html '<p>Hello {{{NAME}}}</p>' --variable NAME=friend --publish\n  \
    idempost templates create Invoice --html-file invoice.html --variable TOTAL:number")]
pub(crate) struct Args {
    /// Internal name
    #[arg(value_name = "NAME", conflicts_with = "name", add = Required)]
    named: Option<String>,
    #[command(flatten)]
    content: content::Args,
    /// Publish it immediately
    #[arg(long)]
    publish: bool,
    #[command(flatten)]
    dry_run: DryRunFlag,
}

/// The function that sets a field.
type Setter = fn(NewTemplate, String) -> NewTemplate;

pub(super) async fn run(args: Args, context: &Context) -> Result<(), Fail> {
    let Args { named, mut content, publish, dry_run } = args;

    let mut flags = Flags::default();
    flags.help("idempost templates create Welcome --html '<p>Hello {{{NAME}}}</p>' --variable NAME");
    let (label, name) = argument_or_flag(named, "NAME", content.name.take(), "--name");
    flags.field("/name", label, name.as_deref());
    let bodies = content.bodies(&mut flags, context).await;
    flags.field("/html", "--html or --html-file", None);
    let variables = content.variables(&mut flags);
    // An unreadable body has been reported.
    let html = bodies.html.or_else(|| bodies.unread.then(|| "-".to_owned())).unwrap_or_default();
    let mut template = NewTemplate::new(name.unwrap_or_default(), html);
    let setters: [(Option<String>, Setter); 4] = [
        (content.alias, NewTemplate::alias),
        (content.from, NewTemplate::from),
        (content.subject, NewTemplate::subject),
        (bodies.text, NewTemplate::text),
    ];
    for (value, set) in setters {
        if let Some(value) = value {
            template = set(template, value);
        }
    }
    if !content.reply_to.is_empty() {
        template = template.reply_to(content.reply_to);
    }
    template = variables.into_iter().fold(template, NewTemplate::variable);
    flags.add_problems(template.check());
    let dry_run = flags.dry_run(dry_run.dry_run.as_deref());
    flags.finish()?;
    let unknown_outcome = "the template may have been created; check: idempost templates list --limit 1";
    let done =
        mutation::execute(dry_run, unknown_outcome, context, |client| client.templates().create(&template));
    let Some(response) = done.await? else { return Ok(()) };
    let id = response.value.id.as_str();
    mutation::print(id, &response, context)?;
    if publish {
        return publish_now(id, context).await;
    }
    context.out.note(&format!("draft created · publish it: idempost templates publish {id}"));
    Ok(())
}
