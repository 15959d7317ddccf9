//! Commands as rows: arguments and operation of a plain command, stated once.
//!
//! A noun is a table of [`Verb`]s in `commands/<noun>.rs`. From a row, this module generates the arguments of the parser, and thus help, manual,
//! completions, `help --json` and the tools of `mcp`. At run time the flags become a JSON object; the input's declaration in the SDK
//! ([`Input`](idempost::types::fields::Input)) reads and checks it, and each problem is shown at its flag.

/// Defines chainable setters, which constants can call.
///
/// ```text
/// setters! {
///     /// Sets the name.
///     name(name: &'static str) { name = Some(name) }
/// }
/// ```
macro_rules! setters {
    ($($(#[$doc:meta])* $name:ident($($arg:ident: $of:ty),*) { $($field:ident = $value:expr),+ })+) => {
        $(
            $(#[$doc])*
            pub(crate) const fn $name(mut self, $($arg: $of),*) -> Self {
                $(self.$field = $value;)+
                self
            }
        )+
    };
}

pub(crate) mod field;
pub(crate) mod given;
pub(crate) mod operation;
pub(crate) mod prelude;

use std::marker::PhantomData;

use clap::{ArgMatches, Args as _};
use serde_json::Value;

use crate::actions::browser::Page;
use crate::actions::mutation::{DryRunFlag, SendFlags};
use crate::actions::pages::Table;
use crate::actions::repeat::KeyFlag;
use crate::actions::wait::TimeoutFlag;
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::flags::{Choices, Local};
use field::Field;
use given::{Body, Given, Plan};
use operation::{Arguments, Done, Nested, Operation};

/// The commands of a noun.
pub(crate) trait Noun: 'static {
    /// Its description.
    const ABOUT: &'static str;
    /// Further description, for its own help page.
    const DETAIL: &'static str = "";
    /// Its commands, in the order of the help.
    const VERBS: &'static [Verb];
}

/// Declares a noun by its description and its commands, with a further description for its own help page.
macro_rules! noun {
    ($name:ident, $about:expr, $verbs:expr $(, $detail:expr)?) => {
        pub(crate) struct $name;

        impl $crate::rows::Noun for $name {
            const ABOUT: &'static str = $about;
            $(const DETAIL: &'static str = $detail;)?
            const VERBS: &'static [$crate::rows::Verb] = $verbs;
        }
    };
}
pub(crate) use noun;

/// What the program must know about a command before it runs it. The commands of a noun have its properties.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Property {
    /// Works on this machine only.
    Local,
    /// Never waits, and needs no runtime.
    Direct,
    /// Handles signals itself.
    HandlesSignals,
    /// Runs until a signal stops it, which is then a normal exit.
    UntilSignal,
    /// Needs several threads: a server, or a command that sends many emails.
    Concurrent,
    /// Makes no sense with `--sandbox`.
    NeedsRunningService,
    /// Reports unknown settings itself.
    ReportsSettings,
    /// Accepts a profile that doesn't exist yet.
    MakesProfile,
    /// Takes an idempotency key.
    TakesKey(KeyFlag),
}

/// A command.
#[derive(Clone, Copy)]
pub(crate) struct Verb {
    pub(crate) name: &'static str,
    alias: Option<&'static str>,
    about: &'static str,
    detail: &'static str,
    /// The arguments that identify the command's subject; they fill the path of the request.
    ids: &'static [Field],
    fields: &'static [Field],
    /// Flags after `--clear`, which the row reads by hand.
    options: &'static [Field],
    /// Whether the paging flags come before the fields.
    pages_first: bool,
    /// The help of `--clear`, if the command has it.
    clear: Option<&'static str>,
    table: Option<&'static Table>,
    examples: &'static [&'static str],
    /// Replaces columns and examples below the help.
    after: Option<&'static str>,
    hint: Option<&'static str>,
    unknown: &'static str,
    /// The argument that a change prints instead of the ID in the response.
    prints: Option<usize>,
    warning: Option<&'static str>,
    /// The state that `--wait` waits for, and the help of the flag.
    waits: Option<&'static str>,
    wait_help: &'static str,
    /// The page of the shown record.
    web: Option<Page>,
    input: Option<InputFlag>,
    fill: Option<fn(&Given<'_>, &mut Body)>,
    then: Option<Then>,
    operation: &'static dyn Operation,
    is_hidden: bool,
    properties: &'static [Property],
}

/// The flag of a file with the fields of the request.
#[derive(Clone, Copy, Debug)]
struct InputFlag {
    flag: &'static str,
    help: &'static str,
    detail: &'static str,
}

const INPUT: InputFlag = InputFlag {
    flag: "input",
    help: "Start from a JSON object in the API's format; - reads standard input",
    detail: "Flags override its fields.",
};

/// A callback after a successful change, with the response.
pub(crate) type Then = for<'a> fn(&'a Given<'a>, &'a Plan, &'a Value, &'a Context) -> Done<'a>;

/// Builders.
impl Verb {
    pub(crate) const fn new(
        name: &'static str,
        about: &'static str,
        operation: &'static dyn Operation,
    ) -> Self {
        Self {
            name,
            alias: None,
            about,
            detail: "",
            ids: &[],
            fields: &[],
            options: &[],
            pages_first: false,
            clear: None,
            table: None,
            examples: &[],
            after: None,
            hint: None,
            unknown: "",
            prints: None,
            warning: None,
            waits: None,
            wait_help: "",
            web: None,
            input: Some(INPUT),
            fill: None,
            then: None,
            operation,
            is_hidden: false,
            properties: &[],
        }
    }

    /// A list, with these columns.
    pub(crate) const fn list(
        about: &'static str,
        table: &'static Table,
        operation: &'static dyn Operation,
    ) -> Self {
        Self::new("list", about, operation).alias("ls").table(table)
    }

    /// A deletion, with the message for an unknown outcome.
    pub(crate) const fn delete(
        about: &'static str,
        unknown: &'static str,
        operation: &'static dyn Operation,
    ) -> Self {
        Self::new("delete", about, operation).alias("rm").unknown_outcome(unknown)
    }

    /// A hand-written command, which describes itself.
    pub(crate) const fn custom(name: &'static str, operation: &'static dyn Operation) -> Self {
        Self::new(name, "", operation)
    }

    /// A noun with its commands.
    pub(crate) const fn noun<T: Noun>(name: &'static str) -> Self {
        Self::new(name, "", const { &Nested::<T>(PhantomData) })
    }

    setters! {
        /// Its description, instead of the noun's.
        about(about: &'static str) { about = about }
        /// A second name.
        alias(alias: &'static str) { alias = Some(alias) }
        /// Paragraphs below the description.
        detail(detail: &'static str) { detail = detail }
        /// The arguments that identify the command's subject.
        ids(ids: &'static [Field]) { ids = ids }
        /// The fields of the request, or the filters of a list.
        fields(fields: &'static [Field]) { fields = fields }
        /// Flags after `--clear`, which the row reads by hand.
        options(options: &'static [Field]) { options = options }
        /// Shows the paging flags before the fields.
        paging_first() { pages_first = true }
        /// Adds `--clear`, with its help. Its values are the fields that the SDK can clear.
        clear_flag(help: &'static str) { clear = Some(help) }
        /// The columns.
        table(table: &'static Table) { table = Some(table) }
        /// Examples, without the program's name.
        examples(examples: &'static [&'static str]) { examples = examples }
        /// The text below the help, instead of columns and examples.
        after_help(text: &'static str) { after = Some(text) }
        /// The suggested command if something is missing, without the program's name.
        hint(hint: &'static str) { hint = Some(hint) }
        /// The message if the outcome of the change is unknown; `{0}` is the first ID, `{email}` the value of a field.
        unknown_outcome(message: &'static str) { unknown = message }
        /// Prints this argument of the command after a change, instead of the ID in the response.
        print_argument(argument: usize) { prints = Some(argument) }
        /// A warning before the command runs.
        warning(warning: &'static str) { warning = Some(warning) }
        /// Adds `--wait` for this state, and `--wait-timeout`.
        wait_flag(state: &'static str, help: &'static str) { waits = Some(state), wait_help = help }
        /// Adds `--web`, which opens the record's page.
        web(page: Page) { web = Some(page) }
        /// Names the flag of the file with the fields.
        input_flag(flag: &'static str, help: &'static str) { input = Some(InputFlag { flag, help, detail: "" }) }
        /// Disables the file, for a command about a single field.
        without_input() { input = None }
        /// Reads the fields that are [read by hand](Field::manual).
        fill(fill: fn(&Given<'_>, &mut Body)) { fill = Some(fill) }
        /// Sets a callback after a change.
        on_success(then: Then) { then = Some(then) }
        /// Hides it from help.
        hidden() { is_hidden = true }
        /// Sets its properties.
        is(properties: &'static [Property]) { properties = properties }
    }
}

/// The parser's view.
impl Verb {
    fn command(&self, fill: fn(clap::Command) -> clap::Command) -> clap::Command {
        clap::Command::new(self.name).visible_aliases(self.alias).hide(self.is_hidden).defer(fill)
    }

    fn build(&self, command: clap::Command) -> clap::Command {
        let command = self.help_end().into_iter().fold(command, clap::Command::after_help);
        let known = self.operation.fields();
        let command = self.ids.iter().fold(command, |command, id| id.add_to(command, known));
        let pages = |command, here: bool| match self.operation.arguments() {
            Arguments::Pages(paging) if here => paging.add_to(command),
            _ => command,
        };
        let command = pages(command, self.pages_first);
        let command = self.fields.iter().fold(command, |command, field| field.add_to(command, known));
        let command = pages(command, !self.pages_first);
        let command = match self.clear {
            Some(help) => command.arg(
                clap::Arg::new("clear")
                    .long("clear")
                    .value_name("FIELD")
                    .help(help)
                    .action(clap::ArgAction::Append)
                    .value_parser(Choices(self.clearable().map(|(flag, ..)| flag).collect::<Vec<_>>()))
                    .hide_possible_values(true),
            ),
            None => command,
        };
        let command = self.options.iter().fold(command, |command, field| field.add_to(command, &[]));
        let command = match self.waits {
            Some(state) => TimeoutFlag::augment_args(
                command.arg(
                    clap::Arg::new("wait")
                        .long("wait")
                        .value_name("STATE")
                        .help(self.wait_help)
                        .num_args(0..=1)
                        .require_equals(true)
                        .default_missing_value(state),
                ),
            ),
            None => command,
        };
        let command = match self.web {
            Some(Page { inbox, .. }) => {
                let web = clap::Arg::new("web").long("web").action(clap::ArgAction::SetTrue).add(Local);
                command.arg(web.help(match inbox {
                    Some(_) => "Open its page in the service's dashboard, or in the sandbox's inbox; for programs, print the URL",
                    None => "Open its page in the service's dashboard; for programs, print the URL",
                }))
            }
            None => command,
        };
        let takes = self.operation.arguments();
        let command = match (takes, self.input) {
            (Arguments::Body | Arguments::Send, Some(InputFlag { flag, help, detail })) => {
                let arg = clap::Arg::new(flag).long(flag).value_name("FILE").help(help).add(Local);
                command.arg(if detail.is_empty() {
                    arg
                } else {
                    arg.long_help(format!("{help}\n\n{detail}"))
                })
            }
            _ => command,
        };
        let command = match takes {
            Arguments::DryRun | Arguments::Body => DryRunFlag::augment_args(command),
            Arguments::Send | Arguments::Key => SendFlags::augment_args(command),
            Arguments::Nothing | Arguments::Pages(_) => command,
        };
        // Last, since groups of arguments also describe themselves.
        describe(command, self.about, self.detail)
    }

    /// The fields that can be cleared: flag, name, and the JSON that clears it.
    fn clearable(&self) -> impl Iterator<Item = (String, &'static str, Value)> {
        self.operation.fields().iter().filter_map(|known| {
            let field = self.fields.iter().find_map(|field| field.setting(known.name))?;
            let empty = field.empties.then(|| Value::Array(Vec::new()));
            let value = empty.or(known.clearable.then_some(Value::Null))?;
            Some((field.clear_name().into_owned(), known.name, value))
        })
    }

    /// The command and those below it.
    #[cfg(test)]
    pub(crate) fn all(&'static self) -> Vec<&'static Self> {
        let below = self.operation.verbs().iter().flat_map(Self::all);
        std::iter::once(self).chain(below).collect()
    }

    /// Deviations from the SDK's declaration, by field; and changes without a message for an unknown outcome.
    #[cfg(test)]
    pub(crate) fn faults(&self) -> Vec<(&'static str, String)> {
        let known = self.operation.fields();
        let fault = |what: &str, name: &str| (self.name, format!("{what} {name}"));
        let unset =
            known.iter().filter(|known| !self.fields.iter().any(|field| field.setting(known.name).is_some()));
        let mut faults: Vec<_> = unset.map(|known| fault("no flag sets", known.name)).collect();
        let extra =
            self.fields.iter().filter(|field| !known.iter().any(|known| field.setting(known.name).is_some()));
        faults.extend(extra.filter(|_| !known.is_empty()).map(|field| fault("no field is", field.id)));
        let is_row = !self.about.is_empty();
        if is_row
            && matches!(self.operation.arguments(), Arguments::DryRun | Arguments::Body)
            && self.unknown.is_empty()
        {
            faults.push(fault("no message for", "an unknown outcome"));
        }
        if (self.ids.len()..10).any(|n| self.unknown.contains(&format!("{{{n}}}"))) {
            faults.push(fault("no ID for", self.unknown));
        }
        faults
    }

    fn help_end(&self) -> Option<String> {
        if let Some(text) = self.after {
            return Some(text.to_owned());
        }
        let mut text = String::new();
        if let Some(table) = self.table {
            let names: Vec<_> = table.columns.iter().map(|column| column.name).collect();
            text = format!("Columns: {}\n\n", names.join(", "));
        }
        if self.examples.is_empty() {
            return None;
        }
        text += if self.examples.len() == 1 { "Example:" } else { "Examples:" };
        for example in self.examples {
            text += "\n  idempost ";
            text += example;
        }
        Some(text)
    }
}

/// Sets the short and the long description.
fn describe(command: clap::Command, about: &'static str, detail: &'static str) -> clap::Command {
    match detail {
        "" => command.about(about).long_about(None::<&str>),
        detail => command.about(about).long_about(format!("{about}\n\n{detail}")),
    }
}

/// Adds the commands of a noun to the parser.
pub(crate) fn augment<T: Noun>(command: clap::Command) -> clap::Command {
    fn complete<T: Noun>(command: clap::Command) -> clap::Command {
        match T::VERBS.iter().find(|verb| verb.name == command.get_name()) {
            Some(verb) => verb.operation.augment(verb, command),
            None => command,
        }
    }
    describe(command, T::ABOUT, T::DETAIL)
        .subcommands(T::VERBS.iter().map(|verb| verb.command(complete::<T>)))
        .subcommand_required(true)
        .arg_required_else_help(true)
}

/// A command that the command line names, with its arguments.
#[derive(Clone, Copy)]
struct Named<'a> {
    verb: &'static Verb,
    matches: &'a ArgMatches,
}

impl<'a> Named<'a> {
    fn find(verbs: &'static [Verb], matches: &'a ArgMatches) -> Option<Self> {
        let (name, matches) = matches.subcommand()?;
        Some(Self { verb: verbs.iter().find(|verb| verb.name == name)?, matches })
    }

    /// Runs the one of these commands that the command line names. The parser requires one.
    fn run(verbs: &'static [Verb], matches: &'a ArgMatches, context: &'a Context) -> Done<'a> {
        let Some(Self { verb, matches }) = Self::find(verbs, matches) else {
            return Box::pin(async { Err(Fail::error("the command line names no command")) });
        };
        if let Some(warning) = verb.warning {
            context.out.warn(warning);
        }
        verb.operation.run(Given::new(verb, matches), context)
    }
}

/// A parsed command line.
pub(crate) struct Command {
    verbs: &'static [Verb],
    matches: ArgMatches,
}

impl Command {
    /// The parser requires one of these commands.
    pub(crate) fn new(verbs: &'static [Verb], matches: ArgMatches) -> Self {
        Self { verbs, matches }
    }

    /// The properties of the command and of its nouns.
    pub(crate) fn properties(&self) -> impl Iterator<Item = Property> {
        let first = Named::find(self.verbs, &self.matches);
        let path = std::iter::successors(first, |Named { verb, matches }| {
            Named::find(verb.operation.verbs(), matches)
        });
        path.flat_map(|named| named.verb.properties.iter().copied())
    }

    pub(crate) fn has(&self, property: Property) -> bool {
        self.properties().any(|own| own == property)
    }

    /// Runs the command.
    pub(crate) async fn run(&self, context: &Context) -> Result<(), Fail> {
        Named::run(self.verbs, &self.matches, context).await?;
        context.out.warn_about_columns();
        Ok(())
    }
}
