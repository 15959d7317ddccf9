//! The operations that rows call: one type for each way in which a plain command works.

use std::future::Future;
use std::pin::Pin;

use clap::{ArgMatches, Args, Subcommand};
use idempost::page::Item;
use idempost::problem::Problems;
use idempost::types::fields::{self, Input, Named};
use idempost::{Attachment, Call, Client, IdempotencyKey, List};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::Verb;
use super::given::{Change, Given, Ids, Plan};
use crate::actions::mutation::{self, Mutation, document};
use crate::actions::{pages, trace};
use crate::context::Context;
use crate::diagnostics::{Fail, repeatable_with};

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
    /// `--input` and `--dry-run`
    Body,
    /// `--input`, `--idempotency-key` and `--dry-run`
    Send,
    /// `--idempotency-key` and `--dry-run`
    Key,
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

/// A change whose JSON has a reader of its own.
pub(crate) struct Parse<I, T>(
    pub(crate) fn(&Value) -> Result<I, Problems>,
    pub(crate) fn(&Client, &Ids<'_>, &I) -> Call<T>,
);

/// A change of some fields.
pub(crate) struct Update<I, T>(pub(crate) fn(&Client, &Ids<'_>, &I) -> Call<T>);

/// A change with a body that files can be attached to. A creation has an idempotency key.
pub(crate) struct Compose<I, T>(
    pub(crate) Change,
    pub(crate) fn(I, Attachment) -> I,
    pub(crate) fn(&Client, &Ids<'_>, &I) -> Call<T>,
);

/// A change without a body that has an idempotency key.
pub(crate) struct Repeat<T>(pub(crate) fn(&Client, &Ids<'_>) -> Call<T>);

/// Shows one resource, or changes it if a flag sets a field.
pub(crate) struct ShowOrUpdate<I, T, U>(
    pub(crate) fn(&Client, &Ids<'_>) -> Call<T>,
    pub(crate) fn(&Client, &Ids<'_>, &I) -> Call<U>,
);

/// A change without an input of its own; the call has the rules of its arguments.
pub(crate) struct Checked<T>(pub(crate) fn(&Client, &Given<'_>) -> Call<T>);

/// What a function does with an input.
pub(crate) struct With<I>(pub(crate) for<'a> fn(I, Plan, Given<'a>, &'a Context) -> Done<'a>);

/// What a function does with the arguments.
pub(crate) struct Run(pub(crate) Takes, pub(crate) for<'a> fn(Given<'a>, &'a Context) -> Done<'a>);

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
            let plan = given.plan_change(context).await?;
            execute(&given, &plan, context, |client| self.0(client, &given.ids)).await
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
            let plan = given.plan_change(context).await?;
            mutation::confirm_delete(plan.dry_run.is_some(), context, make).await?;
            execute(&given, &plan, context, make).await
        })
    }
}

/// Plans and executes a change.
async fn change<I: Input, T: DeserializeOwned + Send + 'static>(
    kind: Change,
    attach: fn(I, Attachment) -> I,
    make: fn(&Client, &Ids<'_>, &I) -> Call<T>,
    given: &Given<'_>,
    context: &Context,
) -> Result<(), Fail> {
    let read = |json: &Value, files| read_input(json, files, attach, I::check);
    let (input, plan) = given.plan(kind, read, context).await?;
    execute(given, &plan, context, |client| make(client, &given.ids, &input)).await
}

/// What the call would reject before it is sent.
fn invalid<T: Send + 'static>(call: Call<T>) -> Result<(), Problems> {
    match call.preview() {
        Err(idempost::Error::Invalid(problems)) => Err(problems),
        _ => Ok(()),
    }
}

/// Reads and checks an input with its attachments.
fn read_input<I: Input>(
    json: &Value,
    files: Vec<Attachment>,
    attach: fn(I, Attachment) -> I,
    check: impl FnOnce(&I) -> Result<(), Problems>,
) -> Result<I, Problems> {
    let (input, shape) = I::read(json);
    let input = files.into_iter().fold(input, attach);
    Problems::merge(shape, check(&input)).map(|()| input)
}

/// For inputs without attachments.
fn unattached<I>(input: I, _: Attachment) -> I {
    input
}

impl<T: DeserializeOwned + Send + 'static> Operation for Name<T> {
    fn fields(&self) -> &'static [fields::Field] {
        Named::FIELDS
    }

    fn takes(&self) -> Takes {
        Takes::Body
    }

    fn run<'a>(&'a self, given: Given<'a>, context: &'a Context) -> Done<'a> {
        Box::pin(async move {
            let client = context.client_for_preview()?;
            let check = |named: &Named| invalid(self.0(&client, &given.ids, &named.name));
            let (named, plan) = given
                .plan(Change::Create, |json, files| read_input(json, files, unattached, check), context)
                .await?;
            execute(&given, &plan, context, |client| self.0(client, &given.ids, &named.name)).await
        })
    }
}

impl<I: Input + 'static, T: DeserializeOwned + Send + 'static> Operation for Create<I, T> {
    fn fields(&self) -> &'static [fields::Field] {
        I::FIELDS
    }

    fn takes(&self) -> Takes {
        Takes::Body
    }

    fn run<'a>(&'a self, given: Given<'a>, context: &'a Context) -> Done<'a> {
        Box::pin(async move { change(Change::Create, unattached, self.0, &given, context).await })
    }
}

impl<I: Input + 'static, T: DeserializeOwned + Send + 'static> Operation for Update<I, T> {
    fn fields(&self) -> &'static [fields::Field] {
        I::FIELDS
    }

    fn takes(&self) -> Takes {
        Takes::Body
    }

    fn run<'a>(&'a self, given: Given<'a>, context: &'a Context) -> Done<'a> {
        Box::pin(async move { change(Change::Update, unattached, self.0, &given, context).await })
    }
}

impl<I: Input + 'static> Operation for With<I> {
    fn fields(&self) -> &'static [fields::Field] {
        I::FIELDS
    }

    fn takes(&self) -> Takes {
        Takes::Body
    }

    fn run<'a>(&'a self, given: Given<'a>, context: &'a Context) -> Done<'a> {
        Box::pin(async move {
            let read = |json: &Value, files| read_input(json, files, unattached, I::check);
            let (input, plan) = given.plan(Change::Create, read, context).await?;
            self.0(input, plan, given, context).await
        })
    }
}

impl<I: Input + 'static, T: DeserializeOwned + Send + 'static> Operation for Compose<I, T> {
    fn fields(&self) -> &'static [fields::Field] {
        I::FIELDS
    }

    fn takes(&self) -> Takes {
        match self.0 {
            Change::Create => Takes::Send,
            Change::Update => Takes::Body,
        }
    }

    fn run<'a>(&'a self, given: Given<'a>, context: &'a Context) -> Done<'a> {
        Box::pin(async move { change(self.0, self.1, self.2, &given, context).await })
    }
}

impl<I: Input + 'static, T: DeserializeOwned + Send + 'static> Operation for Parse<I, T> {
    fn fields(&self) -> &'static [fields::Field] {
        I::FIELDS
    }

    fn takes(&self) -> Takes {
        Takes::Body
    }

    fn run<'a>(&'a self, given: Given<'a>, context: &'a Context) -> Done<'a> {
        Box::pin(async move {
            let (input, plan) = given.plan(Change::Create, |json, _| self.0(json), context).await?;
            execute(&given, &plan, context, |client| self.1(client, &given.ids, &input)).await
        })
    }
}

impl<T: DeserializeOwned + Send + 'static> Operation for Repeat<T> {
    fn takes(&self) -> Takes {
        Takes::Key
    }

    fn run<'a>(&'a self, given: Given<'a>, context: &'a Context) -> Done<'a> {
        Box::pin(async move {
            let plan = given.plan_change(context).await?;
            execute(&given, &plan, context, |client| self.0(client, &given.ids)).await
        })
    }
}

impl<I: Input + 'static, T: DeserializeOwned + Send + 'static, U: DeserializeOwned + Send + 'static> Operation
    for ShowOrUpdate<I, T, U>
{
    fn fields(&self) -> &'static [fields::Field] {
        I::FIELDS
    }

    fn takes(&self) -> Takes {
        Takes::Body
    }

    fn run<'a>(&'a self, given: Given<'a>, context: &'a Context) -> Done<'a> {
        Box::pin(async move {
            if given.is_empty() {
                return mutation::show(context, |client| self.0(client, &given.ids)).await;
            }
            change(Change::Update, unattached, self.1, &given, context).await
        })
    }
}

impl<T: DeserializeOwned + Send + 'static> Operation for Checked<T> {
    fn takes(&self) -> Takes {
        Takes::DryRun
    }

    fn run<'a>(&'a self, given: Given<'a>, context: &'a Context) -> Done<'a> {
        Box::pin(async move {
            let mut flags = given.flags(context).await;
            let plan = given.flags_of_change(&mut flags);
            flags.add_problems(invalid(self.0(&context.client_for_preview()?, &given)));
            flags.finish()?;
            execute(&given, &plan, context, |client| self.0(client, &given)).await
        })
    }
}

impl Operation for Run {
    fn takes(&self) -> Takes {
        self.0
    }

    fn run<'a>(&'a self, given: Given<'a>, context: &'a Context) -> Done<'a> {
        self.1(given, context)
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
    plan: &Plan,
    context: &Context,
    make: impl Fn(&Client) -> Call<T>,
) -> Result<(), Fail> {
    let has_key = matches!(given.verb.operation.takes(), Takes::Send | Takes::Key);
    let key = plan.key.clone().or_else(|| has_key.then(IdempotencyKey::random));
    let unknown_outcome = match &key {
        Some(key) => repeatable_with("the request may have been executed", key),
        None => given.unknown(),
    };
    let mutation = Mutation {
        dry_run: plan.dry_run,
        unknown_outcome: &unknown_outcome,
        key: key.as_ref(),
        key_given: plan.key.is_some(),
        contents: &plan.contents,
    };
    let make = |client: &Client| match &key {
        Some(key) => make(client).idempotency_key(key.as_str()),
        None => make(client),
    };
    let Some((_, response)) = mutation.execute(context, make).await? else { return Ok(()) };
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
        Some(then) => then(given, plan, &document, context).await,
        None => Ok(()),
    }
}
