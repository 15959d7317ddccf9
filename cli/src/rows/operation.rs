//! The operations that rows call: one type for each way in which a plain command works.

use std::future::Future;
use std::pin::Pin;

use clap::{ArgMatches, Args, Subcommand};
use idempost::page::Item;
use idempost::types::fields::{self, Input};
use idempost::{Call, Client, List};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::Verb;
use super::given::{Change, Given, Ids};
use crate::actions::mutation::{self, document};
use crate::actions::{pages, trace};
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::flags::DryRun;

/// A running command.
pub(crate) type Done<'a> = Pin<Box<dyn Future<Output = Result<(), Fail>> + 'a>>;

/// What a command does.
pub(crate) trait Operation: Sync {
    /// The fields of its request, as the SDK declares them.
    fn fields(&self) -> &'static [fields::Field] {
        &[]
    }

    /// The arguments that follow from what it does.
    fn takes(&self) -> Takes {
        Takes::Nothing
    }

    /// Adds texts and arguments to the parser.
    fn augment(&self, verb: &Verb, command: clap::Command) -> clap::Command {
        verb.of_row(command)
    }

    /// Runs it.
    fn run<'a>(&'a self, given: Given<'a>, context: &'a Context) -> Done<'a>;
}

/// Arguments that follow from what a command does.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Takes {
    Nothing,
    /// `--dry-run`
    DryRun,
    /// The paging flags.
    Pages(Paging),
}

/// How the service pages a list.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Paging {
    /// 20 items without a limit.
    Usual,
    /// All items without a limit.
    Complete,
    /// Only towards older items.
    Older,
}

impl Paging {
    pub(super) fn add_to(self, command: clap::Command) -> clap::Command {
        match self {
            Self::Usual => pages::Args::augment_args(command),
            Self::Complete => pages::CompleteArgs::augment_args(command),
            Self::Older => pages::OlderArgs::augment_args(command),
        }
    }

    fn read(self, matches: &ArgMatches) -> Result<pages::Args, Fail> {
        match self {
            Self::Usual => parsed(matches),
            Self::Complete => parsed::<pages::CompleteArgs>(matches).map(Into::into),
            Self::Older => parsed::<pages::OlderArgs>(matches).map(Into::into),
        }
    }
}

/// The arguments that the parser was built with.
fn parsed<A: Args>(matches: &ArgMatches) -> Result<A, Fail> {
    A::from_arg_matches(matches).map_err(|error| Fail::local("couldn't read the arguments", error))
}

/// A noun below another, and its function.
pub(crate) struct Nested<S>(pub(crate) for<'a> fn(S, &'a Context) -> Done<'a>);

/// Shows one resource.
pub(crate) struct Show<T>(pub(crate) fn(&Client, &Ids<'_>) -> Call<T>);

/// The same with another view for people.
pub(crate) struct ShowAs<T>(
    pub(crate) fn(&Client, &Ids<'_>) -> Call<T>,
    pub(crate) fn(&Value) -> Vec<String>,
);

/// A list.
pub(crate) struct Pages<T>(pub(crate) Paging, pub(crate) fn(&Client, &Given<'_>) -> List<T>);

/// A change without a body.
pub(crate) struct Act<T>(pub(crate) fn(&Client, &Ids<'_>) -> Call<T>);

/// A deletion, which a terminal confirms.
pub(crate) struct Delete<T>(pub(crate) fn(&Client, &Ids<'_>) -> Call<T>);

/// A change whose only field is a name.
pub(crate) struct Name<T>(pub(crate) fn(&Client, &Ids<'_>, &str) -> Call<T>);

/// A creation, or another change with a body.
pub(crate) struct Create<I, T>(pub(crate) fn(&Client, &Ids<'_>, &I) -> Call<T>);

/// A change of some fields.
pub(crate) struct Update<I, T>(pub(crate) fn(&Client, &Ids<'_>, &I) -> Call<T>);

/// What a function does with an input.
pub(crate) struct With<I>(pub(crate) for<'a> fn(I, Option<DryRun>, Given<'a>, &'a Context) -> Done<'a>);

/// A command with a life of its own: its arguments and its function.
pub(crate) struct Own<A>(pub(crate) for<'a> fn(A, &'a Context) -> Done<'a>);

impl<T: DeserializeOwned + Send + 'static> Operation for Show<T> {
    fn run<'a>(&'a self, given: Given<'a>, context: &'a Context) -> Done<'a> {
        Box::pin(async move { mutation::show(context, |client| self.0(client, &given.ids)).await })
    }
}

impl<T: DeserializeOwned + Send + 'static> Operation for ShowAs<T> {
    fn run<'a>(&'a self, given: Given<'a>, context: &'a Context) -> Done<'a> {
        Box::pin(async move {
            let client = context.client()?;
            let document = document(&trace::execute(context, || self.0(&client, &given.ids)).await?);
            context.out.result(&self.1(&document), &document)
        })
    }
}

impl<T: Item> Operation for Pages<T> {
    fn takes(&self) -> Takes {
        Takes::Pages(self.0)
    }

    fn run<'a>(&'a self, given: Given<'a>, context: &'a Context) -> Done<'a> {
        Box::pin(async move {
            let Some(table) = given.verb.table else { return Ok(()) };
            let columns = table.columns(context)?;
            let mut flags = given.body(&[], context).await.flags;
            let part = flags.take(self.0.read(given.matches)?.plan());
            flags.finish()?;
            let Some(part) = part else { return Ok(()) };
            let shown =
                pages::show(self.1(&context.client()?, &given), &part, None, &columns, context).await?;
            pages::footer(&shown, table.nothing, context);
            Ok(())
        })
    }
}

impl<T: DeserializeOwned + Send + 'static> Operation for Act<T> {
    fn takes(&self) -> Takes {
        Takes::DryRun
    }

    fn run<'a>(&'a self, given: Given<'a>, context: &'a Context) -> Done<'a> {
        Box::pin(async move {
            let dry_run = given.dry_run()?;
            execute(&given, dry_run, context, |client| self.0(client, &given.ids)).await
        })
    }
}

impl<T: DeserializeOwned + Send + 'static> Operation for Delete<T> {
    fn takes(&self) -> Takes {
        Takes::DryRun
    }

    fn run<'a>(&'a self, given: Given<'a>, context: &'a Context) -> Done<'a> {
        Box::pin(async move {
            let make = |client: &Client| self.0(client, &given.ids);
            let dry_run = given.dry_run()?;
            mutation::confirm_delete(dry_run.is_some(), context, make).await?;
            execute(&given, dry_run, context, make).await
        })
    }
}

/// The field of [`Name`].
const NAME: &[fields::Field] = &[fields::Field::NAME];

impl<T: DeserializeOwned + Send + 'static> Operation for Name<T> {
    fn fields(&self) -> &'static [fields::Field] {
        NAME
    }

    fn takes(&self) -> Takes {
        Takes::DryRun
    }

    fn run<'a>(&'a self, given: Given<'a>, context: &'a Context) -> Done<'a> {
        Box::pin(async move {
            let mut body = given.body(NAME, context).await;
            let dry_run = body.flags.dry_run(given.text("dry_run"));
            let name = body.text("name");
            let make = |client: &Client| self.0(client, &given.ids, &name);
            if let Err(idempost::Error::Invalid(problems)) = make(&context.client_for_preview()?).preview() {
                body.flags.add_problems(Err(problems));
            }
            body.flags.finish()?;
            execute(&given, dry_run, context, make).await
        })
    }
}

/// Plans and executes a change.
async fn change<I: Input, T: DeserializeOwned + Send + 'static>(
    kind: Change,
    make: fn(&Client, &Ids<'_>, &I) -> Call<T>,
    given: &Given<'_>,
    context: &Context,
) -> Result<(), Fail> {
    let (input, dry_run) = given.plan::<I>(kind, context).await?;
    execute(given, dry_run, context, |client| make(client, &given.ids, &input)).await
}

impl<I: Input + 'static, T: DeserializeOwned + Send + 'static> Operation for Create<I, T> {
    fn fields(&self) -> &'static [fields::Field] {
        I::FIELDS
    }

    fn takes(&self) -> Takes {
        Takes::DryRun
    }

    fn run<'a>(&'a self, given: Given<'a>, context: &'a Context) -> Done<'a> {
        Box::pin(async move { change(Change::Create, self.0, &given, context).await })
    }
}

impl<I: Input + 'static, T: DeserializeOwned + Send + 'static> Operation for Update<I, T> {
    fn fields(&self) -> &'static [fields::Field] {
        I::FIELDS
    }

    fn takes(&self) -> Takes {
        Takes::DryRun
    }

    fn run<'a>(&'a self, given: Given<'a>, context: &'a Context) -> Done<'a> {
        Box::pin(async move { change(Change::Update, self.0, &given, context).await })
    }
}

impl<I: Input + 'static> Operation for With<I> {
    fn fields(&self) -> &'static [fields::Field] {
        I::FIELDS
    }

    fn takes(&self) -> Takes {
        Takes::DryRun
    }

    fn run<'a>(&'a self, given: Given<'a>, context: &'a Context) -> Done<'a> {
        Box::pin(async move {
            let (input, dry_run) = given.plan::<I>(Change::Create, context).await?;
            self.0(input, dry_run, given, context).await
        })
    }
}

impl<A: Args> Operation for Own<A> {
    fn augment(&self, _: &Verb, command: clap::Command) -> clap::Command {
        A::augment_args(command)
    }

    fn run<'a>(&'a self, given: Given<'a>, context: &'a Context) -> Done<'a> {
        Box::pin(async move { self.0(parsed(given.matches)?, context).await })
    }
}

impl<S: Subcommand> Operation for Nested<S> {
    fn augment(&self, _: &Verb, command: clap::Command) -> clap::Command {
        S::augment_subcommands(command).subcommand_required(true).arg_required_else_help(true)
    }

    fn run<'a>(&'a self, given: Given<'a>, context: &'a Context) -> Done<'a> {
        Box::pin(async move {
            let named = S::from_arg_matches(given.matches);
            let named = named.map_err(|error| Fail::local("couldn't read the arguments", error))?;
            self.0(named, context).await
        })
    }
}

/// Executes a change and prints the IDs in its response, or prints the request.
pub(crate) async fn execute<T: DeserializeOwned + Send + 'static>(
    given: &Given<'_>,
    dry_run: Option<DryRun>,
    context: &Context,
    make: impl Fn(&Client) -> Call<T>,
) -> Result<(), Fail> {
    let done = mutation::execute(dry_run, &given.unknown(), context, make).await?;
    let Some(response) = done else { return Ok(()) };
    let document = document(&response);
    let ids = match given.verb.prints {
        Some(argument) => vec![given.ids[argument].to_owned()],
        // A deleted contact has its ID in this field.
        None => match document["contact"].as_str() {
            Some(contact) if document["id"].is_null() => vec![contact.to_owned()],
            _ => mutation::ids(&document),
        },
    };
    mutation::report(context, || context.out.result(&ids, &document))?;
    match given.verb.then {
        Some(then) => then(given, &document, context).await,
        None => Ok(()),
    }
}
