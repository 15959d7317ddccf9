//! The operations of rows: one type per kind of plain command.

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;

use clap::{ArgMatches, Args};
use idempost::page::Item;
use idempost::problem::Problems;
use idempost::types::fields::{self, Input};
use idempost::{Attachment, Call, Client, IdempotencyKey, List};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::given::{Change, Given, Ids, Plan};
use super::{Named, Noun, Verb, augment, describe};
use crate::actions::mutation::{self, BuildCall, Mutation, document};
use crate::actions::pages::{self, Match};
use crate::actions::tail::{self, View};
use crate::actions::trace;
use crate::context::Context;
use crate::diagnostics::{Fail, repeatable_with};
use crate::input::flags::Flags;
use crate::output::record;

/// A running command.
pub(crate) type Done<'a> = Pin<Box<dyn Future<Output = Result<(), Fail>> + 'a>>;

/// The operation of a command.
pub(crate) trait Operation: Sync {
    /// The fields of the request, declared by the SDK.
    fn fields(&self) -> &'static [fields::Field] {
        &[]
    }

    /// The arguments that the operation implies.
    fn arguments(&self) -> Arguments {
        Arguments::Nothing
    }

    /// Adds texts and arguments to the parser.
    fn augment(&self, verb: &Verb, command: clap::Command) -> clap::Command {
        verb.build(command)
    }

    /// The commands of a noun.
    fn verbs(&self) -> &'static [Verb] {
        &[]
    }

    fn run<'a>(&'a self, given: Given<'a>, context: &'a Context) -> Done<'a>;
}

/// Arguments implied by an operation.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Arguments {
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
    /// Only toward older items.
    Older,
}

impl Paging {
    pub(super) fn add_to(self, command: clap::Command) -> clap::Command {
        match self {
            Self::Usual => pages::Args::augment_args(command),
            Self::Complete => pages::Args::augment_args(command).mut_arg("limit", pages::complete),
            Self::Older => pages::OlderArgs::augment_args(command),
        }
    }

    fn read(self, matches: &ArgMatches) -> Result<pages::Args, Fail> {
        match self {
            Self::Usual | Self::Complete => parse(matches),
            Self::Older => parse::<pages::OlderArgs>(matches).map(Into::into),
        }
    }
}

/// The arguments that the parser was built with.
fn parse<A: Args>(matches: &ArgMatches) -> Result<A, Fail> {
    A::from_arg_matches(matches).map_err(|error| Fail::local("couldn't read the arguments", error))
}

/// A noun; see [`Verb::noun`].
pub(crate) struct Nested<T>(pub(super) PhantomData<fn() -> T>);

/// Shows one resource.
pub(crate) struct Show<T>(pub(crate) fn(&Client, &Ids<'_>) -> Call<T>);

/// Like [`Show`], with its own view.
pub(crate) struct ShowAs<T>(
    pub(crate) fn(&Client, &Ids<'_>) -> Call<T>,
    pub(crate) fn(&Value) -> Vec<String>,
);

pub(crate) struct Pages<T>(pub(crate) Paging, pub(crate) fn(&Client, &Given<'_>) -> List<T>);

/// Selects items of a list.
pub(crate) type Selects = Box<dyn Fn(&Value) -> Match>;

/// Reads from the arguments which items of a list to show; `None` for all of them.
pub(crate) type Selection = fn(&Given<'_>, &mut Flags) -> Option<Selects>;

/// A list that the service can't filter, and the note if no item is selected.
pub(crate) struct Filtered<T>(
    pub(crate) fn(&Client) -> List<T>,
    pub(crate) Selection,
    pub(crate) &'static str,
);

/// Prints the items of a list as they appear: their name, and the fields of a line at a terminal.
pub(crate) struct Tail<T>(
    pub(crate) fn(&Client) -> List<T>,
    pub(crate) Selection,
    pub(crate) &'static str,
    pub(crate) &'static [&'static str],
);

/// A change without a body.
pub(crate) struct Act<T>(pub(crate) fn(&Client, &Ids<'_>) -> Call<T>);

/// A deletion, confirmed at a terminal.
pub(crate) struct Delete<T>(pub(crate) fn(&Client, &Ids<'_>) -> Call<T>);

/// A change whose only field is a name.
pub(crate) struct Name<T>(pub(crate) fn(&Client, &Ids<'_>, &str) -> Call<T>);

/// A creation, or another change with a body.
pub(crate) struct Create<I, T>(pub(crate) fn(&Client, &Ids<'_>, &I) -> Call<T>);

/// A change whose JSON has its own reader.
pub(crate) struct Parse<I, T>(
    pub(crate) fn(&Value) -> Result<I, Problems>,
    pub(crate) fn(&Client, &Ids<'_>, &I) -> Call<T>,
);

/// A change of some fields.
pub(crate) struct Update<I, T>(pub(crate) fn(&Client, &Ids<'_>, &I) -> Call<T>);

/// A change with a body and attachments. A creation has an idempotency key.
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

/// A change without a declared input; the call validates the arguments.
pub(crate) struct Checked<T>(pub(crate) fn(&Client, &Given<'_>) -> Call<T>);

/// A function of an input.
pub(crate) struct With<I, F>(F, PhantomData<fn() -> I>);

/// A function of the arguments.
pub(crate) struct Run<F>(pub(crate) Arguments, pub(crate) F);

/// A hand-written command: its arguments and its function.
pub(crate) struct Own<A, F>(F, PhantomData<fn() -> A>);

/// A hand-written command that never waits.
pub(crate) struct Direct<A>(pub(crate) fn(&A, &Context) -> Result<(), Fail>);

pub(crate) const fn with<I, F>(run: F) -> With<I, F> {
    With(run, PhantomData)
}

pub(crate) const fn own<A, F>(run: F) -> Own<A, F> {
    Own(run, PhantomData)
}

pub(crate) trait Response: DeserializeOwned + Send + 'static {}

impl<T: DeserializeOwned + Send + 'static> Response for T {}

/// Implements an operation: the fields of its request, the arguments that its effect implies, and the effect.
macro_rules! operation {
    (
        [$($generics:tt)*] $name:ty, $fields:expr, $takes:expr,
        |$operation:ident, $given:ident, $context:ident| $run:expr
    ) => {
        impl<$($generics)*> Operation for $name {
            fn fields(&self) -> &'static [fields::Field] {
                $fields
            }

            fn arguments(&self) -> Arguments {
                let takes: fn(&Self) -> Arguments = $takes;
                takes(self)
            }

            fn run<'a>(&'a self, $given: Given<'a>, $context: &'a Context) -> Done<'a> {
                let $operation = self;
                Box::pin(async move { $run })
            }
        }
    };
}

operation!([T: Response] Show<T>, &[], |_| Arguments::Nothing, |operation, given, context| {
    show(&given, &|client| operation.0(client, &given.ids).response(), record::lines, context).await
});

operation!([T: Response] ShowAs<T>, &[], |_| Arguments::Nothing, |operation, given, context| {
    show(&given, &|client| operation.0(client, &given.ids).response(), operation.1, context).await
});

/// Prints a list, with the items that a filter selects.
async fn list(
    paging: Paging,
    make: &dyn Fn(&Client, &Given<'_>) -> List<Value>,
    filter: Selection,
    nothing: &str,
    given: &Given<'_>,
    context: &Context,
) -> Result<(), Fail> {
    let Some(table) = given.verb.table else { return Ok(()) };
    let columns = table.columns(context)?;
    let mut flags = given.flags(context).await;
    let part = paging.read(given.matches)?.plan(&mut flags);
    let filter = filter(given, &mut flags);
    flags.finish()?;
    let list = make(&context.client()?, given);
    let shown = pages::show(list, &part, filter.as_deref(), &columns, context).await?;
    let nothing = if filter.is_some() { nothing } else { part.nothing(table.nothing) };
    pages::print_footer(&shown, nothing, context);
    Ok(())
}

operation!([T: Item] Pages<T>, &[], |operation| Arguments::Pages(operation.0), |operation, given, context| {
    let make = |client: &Client, given: &Given<'_>| operation.1(client, given).as_json();
    list(operation.0, &make, |_, _| None, "", &given, context).await
});

operation!([T: Item] Filtered<T>, &[], |_| Arguments::Pages(Paging::Usual), |operation, given, context| {
    let make = |client: &Client, _: &Given<'_>| operation.0(client).as_json();
    list(Paging::Usual, &make, operation.1, operation.2, &given, context).await
});

operation!([T: Item] Tail<T>, &[], |_| Arguments::Nothing, |operation, given, context| {
    let Tail(list, filter, items, fields) = *operation;
    follow(&|client| list(client).as_json(), filter, items, fields, &given, context).await
});

/// Prints the items of a list as they appear.
async fn follow(
    list: &dyn Fn(&Client) -> List<Value>,
    filter: Selection,
    items: &'static str,
    fields: &'static [&'static str],
    given: &Given<'_>,
    context: &Context,
) -> Result<(), Fail> {
    let Some(table) = given.verb.table else { return Ok(()) };
    let columns = table.columns(context)?;
    let mut flags = given.flags(context).await;
    let filter = filter(given, &mut flags);
    let interval = tail::parse_interval(given.text("interval"), &mut flags);
    flags.finish()?;
    let client = context.client()?;
    let selects = |row: &Value| filter.as_ref().is_none_or(|filter| filter(row) == Match::Yes);
    let view = View { items, columns: &columns, fields, interval };
    tail::follow(&|| list(&client), &selects, &view, context).await
}

operation!([T: Response] Act<T>, &[], |_| Arguments::DryRun, |operation, given, context| {
    let plan = given.plan_change(context).await?;
    execute(&given, &plan, context, &|client| operation.0(client, &given.ids).response()).await
});

operation!([T: Response] Repeat<T>, &[], |_| Arguments::Key, |operation, given, context| {
    let plan = given.plan_change(context).await?;
    execute(&given, &plan, context, &|client| operation.0(client, &given.ids).response()).await
});

operation!([T: Response] Delete<T>, &[], |_| Arguments::DryRun, |operation, given, context| {
    let make: &BuildCall<'_> = &|client| operation.0(client, &given.ids).response();
    let plan = given.plan_change(context).await?;
    mutation::confirm_delete(plan.dry_run.is_some(), context, make).await?;
    execute(&given, &plan, context, make).await
});

operation!([T: Response] Name<T>, fields::Named::FIELDS, |_| Arguments::Body, |operation, given, context| {
    let client = context.client_for_preview()?;
    let check = |named: &fields::Named| check_call(operation.0(&client, &given.ids, &named.name));
    let read = |json: &Value, files| read_input(json, files, without_attachments, check);
    let (named, plan) = given.plan(Change::Create, read, context).await?;
    execute(&given, &plan, context, &|client| operation.0(client, &given.ids, &named.name).response()).await
});

operation!([I: Input + 'static, T: Response] Create<I, T>, I::FIELDS, |_| Arguments::Body, |operation, given, context| {
    change(Change::Create, without_attachments, operation.0, &given, context).await
});

operation!([I: Input + 'static, T: Response] Update<I, T>, I::FIELDS, |_| Arguments::Body, |operation, given, context| {
    change(Change::Update, without_attachments, operation.0, &given, context).await
});

operation!(
    [I: Input + 'static, T: Response] Compose<I, T>,
    I::FIELDS,
    |operation| match operation.0 {
        Change::Create => Arguments::Send,
        Change::Update => Arguments::Body,
    },
    |operation, given, context| change(operation.0, operation.1, operation.2, &given, context).await
);

operation!(
    [I: Input + 'static, F: AsyncFn(I, Plan, Given<'_>, &Context) -> Result<(), Fail> + Sync] With<I, F>,
    I::FIELDS,
    |_| Arguments::Body,
    |operation, given, context| {
        let read = |json: &Value, files| read_input(json, files, without_attachments, I::check);
        let (input, plan) = given.plan(Change::Create, read, context).await?;
        operation.0(input, plan, given, context).await
    }
);

operation!([I: Input + 'static, T: Response] Parse<I, T>, I::FIELDS, |_| Arguments::Body, |operation, given, context| {
    let (input, plan) = given.plan(Change::Create, |json, _| operation.0(json), context).await?;
    execute(&given, &plan, context, &|client| operation.1(client, &given.ids, &input).response()).await
});

operation!(
    [I: Input + 'static, T: Response, U: Response] ShowOrUpdate<I, T, U>,
    I::FIELDS,
    |_| Arguments::Body,
    |operation, given, context| {
        if given.is_empty() {
            return show(&given, &|client| operation.0(client, &given.ids).response(), record::lines, context).await;
        }
        change(Change::Update, without_attachments, operation.1, &given, context).await
    }
);

operation!([T: Response] Checked<T>, &[], |_| Arguments::DryRun, |operation, given, context| {
    let mut flags = given.flags(context).await;
    let plan = given.mutation_flags(&mut flags);
    flags.add_problems(check_call(operation.0(&context.client_for_preview()?, &given)));
    flags.finish()?;
    execute(&given, &plan, context, &|client| operation.0(client, &given).response()).await
});

operation!(
    [F: AsyncFn(Given<'_>, &Context) -> Result<(), Fail> + Sync] Run<F>,
    &[],
    |operation| operation.0,
    |operation, given, context| operation.1(given, context).await
);

/// Fetches and prints a record, or opens its page.
pub(crate) async fn show(
    given: &Given<'_>,
    make: &BuildCall<'_>,
    lines: fn(&Value) -> Vec<String>,
    context: &Context,
) -> Result<(), Fail> {
    let client = context.client()?;
    let document = document(&trace::respond(context, &|| make(&client)).await?);
    match given.verb.web.filter(|_| given.is_set("web")) {
        Some(page) => page.open(&document, &client, context).await,
        None => context.out.result(&lines(&document), &document),
    }
}

/// Plans and executes a change.
async fn change<I: Input, T: Response>(
    kind: Change,
    attach: fn(I, Attachment) -> I,
    make: fn(&Client, &Ids<'_>, &I) -> Call<T>,
    given: &Given<'_>,
    context: &Context,
) -> Result<(), Fail> {
    let read = |json: &Value, files| read_input(json, files, attach, I::check);
    let (input, plan) = given.plan(kind, read, context).await?;
    execute(given, &plan, context, &|client| make(client, &given.ids, &input).response()).await
}

/// Problems that the call would report before sending.
fn check_call<T: Send + 'static>(call: Call<T>) -> Result<(), Problems> {
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
fn without_attachments<I>(input: I, _: Attachment) -> I {
    input
}

impl<A: Args, F: AsyncFn(A, &Context) -> Result<(), Fail> + Sync> Operation for Own<A, F> {
    fn augment(&self, _: &Verb, command: clap::Command) -> clap::Command {
        A::augment_args(command)
    }

    fn run<'a>(&'a self, given: Given<'a>, context: &'a Context) -> Done<'a> {
        Box::pin(async move { self.0(parse(given.matches)?, context).await })
    }
}

impl<A: Args> Operation for Direct<A> {
    fn augment(&self, _: &Verb, command: clap::Command) -> clap::Command {
        A::augment_args(command)
    }

    fn run<'a>(&'a self, given: Given<'a>, context: &'a Context) -> Done<'a> {
        Box::pin(async move { self.0(&parse(given.matches)?, context) })
    }
}

impl<T: Noun> Operation for Nested<T> {
    fn augment(&self, verb: &Verb, command: clap::Command) -> clap::Command {
        let command = augment::<T>(command);
        if verb.about.is_empty() { command } else { describe(command, verb.about, verb.detail) }
    }

    fn verbs(&self) -> &'static [Verb] {
        T::VERBS
    }

    fn run<'a>(&'a self, given: Given<'a>, context: &'a Context) -> Done<'a> {
        Named::run(T::VERBS, given.matches, context)
    }
}

/// Executes a change and prints the IDs in its response, or prints the request.
pub(crate) async fn execute(
    given: &Given<'_>,
    plan: &Plan,
    context: &Context,
    make: &BuildCall<'_>,
) -> Result<(), Fail> {
    let has_key = matches!(given.verb.operation.arguments(), Arguments::Send | Arguments::Key);
    let key = plan.key.clone().or_else(|| has_key.then(IdempotencyKey::random));
    let unknown_outcome = match &key {
        Some(key) => repeatable_with("the request may have been executed", key),
        None => given.unknown_outcome(),
    };
    let mutation = Mutation {
        dry_run: plan.dry_run,
        unknown_outcome: &unknown_outcome,
        key: key.as_ref(),
        key_given: plan.key.is_some(),
        contents: &plan.contents,
    };
    let make =
        |client: &Client| key.iter().fold(make(client), |call, key| call.idempotency_key(key.as_str()));
    let Some((_, response)) = mutation.respond(context, &make).await? else { return Ok(()) };
    let document = document(&response);
    let argument = given.verb.prints.map(|argument| given.ids[argument]);
    // A link has a URL instead, a sent event its name, and a deleted contact its ID in another field.
    let named = ["contact", "event"].iter().find_map(|field| document[*field].as_str());
    let named = named.filter(|_| document["id"].is_null());
    let text = argument.or(document["url"].as_str()).or(named);
    let ids = text.map_or_else(|| mutation::ids(&document), |text| vec![text.to_owned()]);
    mutation::report(context, || context.out.result(&ids, &document))?;
    match given.verb.then {
        Some(then) => then(given, plan, &document, context).await,
        None => Ok(()),
    }
}
