//! A field of a command: a flag or an argument, and the field of the request that it sets.

use std::borrow::Cow;

use clap::{Arg, ArgAction, Args as _, builder::NonEmptyStringValueParser};
use idempost::types::fields::{self, Kind};

use crate::actions::attachments::InboxArgs;
use crate::input::bodies;
use crate::input::flags::{BOOL, Choices, Local, Required};

/// A field of a command.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a builder of a row, and they combine freely")]
pub(crate) struct Field {
    /// The name or path in the request: `capabilities/sending`.
    pub(super) name: &'static str,
    /// The name of the argument in `help --json`; the field's by default.
    pub(super) id: &'static str,
    pub(super) value: &'static str,
    help: &'static str,
    detail: &'static str,
    pub(super) form: Form,
    flag: Option<&'static str>,
    /// The name for `--clear`, if not the flag's.
    clear: Option<&'static str>,
    alias: Option<&'static str>,
    /// The name in messages: `the status`.
    pub(super) called: Option<&'static str>,
    /// The value's type, if the SDK doesn't declare it.
    pub(super) kind: Option<Kind>,
    pub(super) is_switch: bool,
    /// Whether commas separate values.
    delimited: bool,
    pub(super) map: Option<fn(Vec<String>) -> Vec<String>>,
    conflicts: Option<&'static str>,
    requires: Option<&'static str>,
    /// An empty list clears it.
    pub(super) empties: bool,
    by_hand: bool,
    hyphens: bool,
    is_local: bool,
    /// Whether it is required, regardless of the SDK's declaration.
    required: Option<bool>,
    /// Whether several values may follow one flag.
    several: bool,
    /// The setting `from` is the default.
    pub(super) is_sender: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Flag,
    /// A positional argument.
    Place,
    /// A positional argument that is also a flag.
    PlaceOrFlag,
    /// HTML and text, from flags, files or a command.
    Bodies,
    /// Attachments, from files and URLs.
    Attachments,
}

pub(crate) const ID: &[Field] = &[Field::positional("id", "ID", "ID of the resource")];

/// The polling interval of a followed list.
pub(crate) const INTERVAL: Field = Field::new("interval", "DURATION", "Polling interval [default: 2s]");

/// HTML and text bodies, given as text, in a file or by a command.
pub(crate) const BODIES: Field = Field { form: Form::Bodies, ..Field::new("html", "", "") };

/// Attachments, from files and URLs.
pub(crate) const ATTACHMENTS: Field = Field { form: Form::Attachments, ..Field::new("attachments", "", "") };

impl Field {
    /// A flag: `--default-subscription` for `default_subscription`.
    pub(crate) const fn new(name: &'static str, value: &'static str, help: &'static str) -> Self {
        Self {
            name,
            id: name,
            value,
            help,
            detail: "",
            form: Form::Flag,
            flag: None,
            clear: None,
            alias: None,
            called: None,
            kind: None,
            is_switch: false,
            delimited: false,
            map: None,
            conflicts: None,
            requires: None,
            empties: false,
            by_hand: false,
            hyphens: false,
            is_local: false,
            required: None,
            several: false,
            is_sender: false,
        }
    }

    /// A positional argument.
    pub(crate) const fn positional(name: &'static str, value: &'static str, help: &'static str) -> Self {
        Self { form: Form::Place, ..Self::new(name, value, help) }
    }

    /// A positional argument that may also be given as a flag with the field's name.
    pub(crate) const fn positional_or_flag(
        name: &'static str,
        value: &'static str,
        help: &'static str,
    ) -> Self {
        Self { form: Form::PlaceOrFlag, ..Self::new(name, value, help) }
    }

    setters! {
        /// The name of the flag and of the argument, if it isn't the field's.
        flag(flag: &'static str) { flag = Some(flag), id = flag }
        /// The name of the argument, if it isn't the field's.
        arg_id(id: &'static str) { id = id }
        /// The help, if commands describe a shared field differently.
        help(help: &'static str) { help = help }
        /// A second name of the flag.
        alias(alias: &'static str) { alias = Some(alias) }
        /// The name in messages, if not the flag's.
        label(name: &'static str) { called = Some(name) }
        /// Paragraphs below the help.
        detail(detail: &'static str) { detail = detail }
        /// The values, if the SDK doesn't declare them.
        choices(values: &'static [&'static str]) { kind = Some(Kind::Choice(values)) }
        /// A list, if the SDK doesn't declare one.
        list(items: &'static Kind) { kind = Some(Kind::List(items)) }
        /// One value of JSON text.
        json() { kind = Some(Kind::Json) }
        /// A flag without a value, for `true`.
        switch() { is_switch = true }
        /// A list that commas may separate.
        delimited() { delimited = true }
        /// Replaces the values: `all`.
        map(map: fn(Vec<String>) -> Vec<String>) { map = Some(map) }
        /// The parser rejects it together with this argument.
        conflicts(other: &'static str) { conflicts = Some(other) }
        /// Requires this argument.
        requires(other: &'static str) { requires = Some(other) }
        /// The command can't run without it.
        required() { required = Some(true) }
        /// The command can run without it.
        optional() { required = Some(false) }
        /// Several values may follow one flag, or be positional arguments.
        multiple() { several = true }
        /// `--clear` empties the list.
        clear_to_empty() { empties = true }
        /// The name for `--clear`, if not the flag's.
        clear(name: &'static str) { clear = Some(name) }
        /// The setting `from` is the default.
        default_sender() { is_sender = true }
        /// The row's `fill` reads it.
        manual() { by_hand = true }
        /// A value may begin with a dash.
        hyphens() { hyphens = true }
        /// Declares that the value names a local file or a command.
        local() { is_local = true }
    }
}

impl Field {
    /// The request's field with this name, if set by this one.
    pub(super) fn setting(&self, name: &'static str) -> Option<Self> {
        match self.form {
            Form::Bodies => matches!(name, "html" | "text").then_some(Self { name, ..*self }),
            _ => (self.name.split('/').next() == Some(name)).then_some(*self),
        }
    }

    pub(super) fn kind(&self, known: &[fields::Field]) -> Kind {
        let declared = || known.iter().find(|field| field.name == self.name).map(|field| field.kind);
        self.kind.or_else(declared).unwrap_or(Kind::Text)
    }

    fn is_required(&self, known: &[fields::Field]) -> bool {
        self.required.unwrap_or_else(|| known.iter().any(|field| field.name == self.name && field.required))
    }

    /// Whether the command, not the SDK, must report a missing value.
    pub(super) fn is_missed(&self, known: &[fields::Field]) -> bool {
        self.required == Some(true) && !known.iter().any(|field| field.name == self.name && field.required)
    }

    /// Its name for `--clear`.
    pub(super) fn clear_name(&self) -> Cow<'static, str> {
        self.clear.map_or_else(|| self.long(), Cow::from)
    }

    /// The flag's name.
    pub(super) fn long(&self) -> Cow<'static, str> {
        match self.flag {
            Some(flag) => flag.into(),
            None => self.name.replace('_', "-").into(),
        }
    }

    /// Adds it to the parser.
    pub(super) fn add_to(&self, command: clap::Command, known: &[fields::Field]) -> clap::Command {
        if self.form == Form::Bodies {
            let command = bodies::Args::augment_args(command);
            let required = self.is_required(known);
            return if required { command.mut_arg("html", |html| html.add(Required)) } else { command };
        }
        if self.form == Form::Attachments {
            return InboxArgs::augment_args(command);
        }
        let kind = self.kind(known);
        let arg = Arg::new(self.id).value_name(self.value).help(self.help);
        let arg = if self.detail.is_empty() {
            arg
        } else {
            arg.long_help(format!("{}\n\n{}", self.help, self.detail))
        };
        let arg = self.with_kind(arg, kind);
        // A body field can also be in the file of `--input`: the SDK reports a missing one.
        let is_required = self.is_required(known);
        let is_parsed = self.form == Form::Place && self.required.is_none() && !is_required;
        let arg = if is_required { arg.add(Required) } else { arg.required(is_parsed) };
        let arg = self.conflicts.into_iter().fold(arg, Arg::conflicts_with);
        let arg = self.requires.into_iter().fold(arg, Arg::requires);
        let arg = if self.is_local { arg.add(Local) } else { arg };
        match self.form {
            Form::Place => command.arg(arg),
            Form::PlaceOrFlag => {
                let flag = Arg::new(format!("{}_flag", self.id)).long(self.long().into_owned());
                let flag = flag.value_name(self.value).help(format!("Same as {}", self.value));
                command.arg(arg).arg(flag.hide(true).conflicts_with(self.id))
            }
            _ => {
                let arg = arg.long(self.long().into_owned());
                command.arg(self.alias.into_iter().fold(arg, Arg::visible_alias))
            }
        }
    }

    /// The parser's argument.
    fn with_kind(&self, arg: Arg, kind: Kind) -> Arg {
        let choices = |arg: Arg, values| arg.value_parser(Choices(values)).hide_possible_values(true);
        let arg = if self.hyphens { arg.allow_hyphen_values(true) } else { arg };
        if self.is_switch {
            return arg.action(ArgAction::SetTrue);
        }
        match kind {
            Kind::Boolean => {
                let arg = arg.num_args(0..=1).require_equals(true).default_missing_value("true");
                arg.value_parser(BOOL).hide_possible_values(true)
            }
            Kind::Choice(values) => choices(arg, values),
            Kind::List(items) => {
                let arg = arg.action(ArgAction::Append);
                let arg = if self.delimited { arg.value_delimiter(',') } else { arg };
                let arg = if self.several { arg.num_args(1..) } else { arg };
                match items {
                    Kind::Choice(values) => choices(arg, values),
                    _ => arg,
                }
            }
            _ if self.form == Form::Place => arg.value_parser(NonEmptyStringValueParser::new()),
            _ => arg,
        }
    }

    /// Whether the engine reads it, from its own argument.
    pub(super) fn is_plain(&self) -> bool {
        !matches!(self.form, Form::Bodies | Form::Attachments) && !self.by_hand
    }
}
