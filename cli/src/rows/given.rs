//! The command line's values for a row, and the request built from them.

use std::borrow::Cow;
use std::ops::Index;
use std::time::Duration;

use clap::{ArgMatches, FromArgMatches as _};
use idempost::problem::Problems;
use idempost::types::fields::{self, Input, Kind};
use idempost::{Attachment, IdempotencyKey};
use serde_json::{Map, Value};

use super::Verb;
use super::field::{Field, Form};
use crate::actions::attachments::{InboxArgs, describe_contents};
use crate::actions::dry_run::Content;
use crate::actions::repeat::quote_argument;
use crate::actions::{html_command, wait};
use crate::context::Context;
use crate::diagnostics::{Diagnostics, Fail};
use crate::input::bodies;
use crate::input::flags::{DryRun, Flags};
use crate::input::source::StdinReaders;

/// A command with the values of its arguments.
pub(crate) struct Given<'a> {
    pub(super) verb: &'static Verb,
    pub(super) matches: &'a ArgMatches,
    /// The arguments that identify the command's subject.
    pub(crate) ids: Ids<'a>,
}

/// The ID arguments, in the order of the row.
#[derive(Clone, Debug)]
pub(crate) struct Ids<'a>(Vec<&'a str>);

impl<'a> Index<usize> for Ids<'a> {
    type Output = &'a str;

    fn index(&self, n: usize) -> &&'a str {
        // A test of all rows finds undeclared names.
        self.0.get(n).unwrap_or(&"")
    }
}

/// Whether a change creates or updates, which needs at least one field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    Create,
    Update,
}

/// A request under construction.
#[derive(Debug, Default)]
pub(crate) struct Body {
    pub(crate) json: Map<String, Value>,
    pub(crate) flags: Flags,
    /// The fields that flags set.
    set: Vec<String>,
    /// A body couldn't be read, so missing fields are unknown.
    pub(crate) unread: bool,
    /// The file of `--input` couldn't be read, so missing fields are unknown.
    pub(crate) is_unknown: bool,
    /// Whether a flag was passed, even with a malformed value.
    pub(crate) is_touched: bool,
    attachments: Vec<Attachment>,
    pub(crate) contents: Vec<Content>,
}

/// How a change is executed.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    pub(crate) dry_run: Option<DryRun>,
    /// The idempotency key, if the operation has one.
    pub(super) key: Option<IdempotencyKey>,
    /// The contents of the attachments, for a dry run.
    pub(super) contents: Vec<Content>,
    /// The timeout of `--wait`.
    pub(crate) wait: Option<Duration>,
}

impl Body {
    /// The problems of the input, and of the flags.
    pub(crate) fn reject(mut self, change: Change, problems: Problems) -> Fail {
        let Self { unread, is_unknown, .. } = self;
        self.flags.omit(problems.omitted());
        // An empty update or an unreadable body was already reported.
        let follows = |path: &str| match path {
            "" => unread || is_unknown || change == Change::Update,
            "/html" => unread || is_unknown,
            _ => is_unknown,
        };
        let problems = problems.into_vec().into_iter();
        let problems = problems.filter(|one| one.code != "required" || !follows(&one.path));
        self.flags.add_problems(Problems::check(problems));
        self.flags.finish().err().unwrap_or_else(|| Fail::Usage(Diagnostics::default()))
    }

    /// Reads the file that the flags override.
    pub(crate) fn read_input(&mut self, flag: &str, name: &str, stdin: &mut StdinReaders) {
        let json = self.flags.document(flag, name, stdin);
        self.is_unknown = json.is_none();
        self.json = json.unwrap_or_default();
        self.is_touched = self.is_unknown || !self.json.is_empty();
        self.contents = describe_contents(&self.json);
    }

    /// Sets a field by its name or path.
    pub(crate) fn set(&mut self, path: &str, value: Value) {
        if let Some((outer, name)) = path.rsplit_once('/') {
            return self.put(outer, name, value);
        }
        self.touch(path);
        self.json.insert(path.to_owned(), value);
    }

    /// Sets a key of the object at this path. If that isn't an object, validation reports it.
    pub(crate) fn put(&mut self, path: &str, key: &str, value: Value) {
        self.touch(path);
        let mut object = &mut self.json;
        for step in path.split('/') {
            let inner = object.entry(step).or_insert(Value::Null);
            if inner.is_null() {
                *inner = Map::new().into();
            }
            let Value::Object(inner) = inner else { return };
            object = inner;
        }
        object.insert(key.to_owned(), value);
    }

    /// The list to add to; `None` if the field is something else, which validation reports.
    pub(crate) fn list(&mut self, name: &str) -> Option<&mut Vec<Value>> {
        let list = self.json.entry(name).or_insert(Value::Null);
        if list.is_null() {
            *list = Value::Array(Vec::new());
        }
        list.as_array_mut()
    }

    /// Sets the keys of an object that flags name; with `whole`, those of the file are dropped.
    pub(crate) fn put_all(&mut self, name: &str, values: Map<String, Value>, whole: bool) {
        if whole && !values.is_empty() {
            return self.set(name, values.into());
        }
        for (key, value) in values {
            self.put(name, &key, value);
        }
    }

    /// Reports a malformed value, which can cause missing fields.
    pub(crate) fn reject_malformed(&mut self, code: &'static str, rule: String, flag: &str, value: &str) {
        self.is_touched = true;
        self.is_unknown = true;
        self.flags.reject(code, rule, flag, value);
    }

    fn touch(&mut self, path: &str) {
        self.is_touched = true;
        self.set.extend(path.split('/').next().map(str::to_owned));
    }
}

impl<'a> Given<'a> {
    pub(super) fn new(verb: &'static Verb, matches: &'a ArgMatches) -> Self {
        let mut given = Self { verb, matches, ids: Ids(Vec::new()) };
        given.ids = Ids(verb.ids.iter().filter_map(|id| given.text(id.id)).collect());
        given
    }

    /// The value of an argument.
    pub(crate) fn text(&self, id: &str) -> Option<&'a str> {
        self.matches.try_get_one::<String>(id).ok().flatten().map(String::as_str)
    }

    /// The values of a repeated argument.
    pub(crate) fn texts(&self, id: &str) -> Vec<String> {
        let values = self.matches.try_get_many::<String>(id).ok().flatten();
        values.map(|values| values.cloned().collect()).unwrap_or_default()
    }

    /// Whether a switch is set.
    pub(crate) fn is_set(&self, id: &str) -> bool {
        self.matches.try_get_one::<bool>(id).ok().flatten().copied().unwrap_or_default()
    }

    /// The message if the outcome is unknown, with the command that checks it. `{email|0}` is the new address or, without one, the ID.
    pub(crate) fn unknown_outcome(&self) -> String {
        let ids = self.ids.0.iter().enumerate();
        let message = ids.fold(self.verb.unknown.to_owned(), |message, (n, id)| {
            message.replace(&format!("{{{n}}}"), &quote_argument(id))
        });
        self.verb.fields.iter().fold(message, |message, field| {
            let value = field.value(self);
            let known = if value.is_empty() { self.ids[0] } else { value.as_str() };
            let message = message.replace(&format!("{{{}|0}}", field.id), &quote_argument(known));
            message.replace(&format!("{{{}}}", field.id), &quote_argument(&value))
        })
    }

    /// Whether no argument sets a field.
    pub(super) fn is_empty(&self) -> bool {
        let is_missing = |field: &Field| field.argument(self).1.is_empty();
        self.verb.fields.iter().all(is_missing) && self.texts("clear").is_empty() && self.input().is_none()
    }

    /// The file with the fields, and its flag.
    fn input(&self) -> Option<(&'static str, &'a str)> {
        let flag = self.verb.input?.flag;
        Some((flag, self.text(flag)?))
    }

    /// The flags of every change.
    pub(crate) fn mutation_flags(&self, flags: &mut Flags) -> Plan {
        let key = self.text("idempotency_key");
        flags.field("/idempotency_key", "--idempotency-key", key);
        let key = flags.idempotency_key(key);
        let wait = self.verb.waits.and_then(|state| {
            let timeout = self.text("wait_timeout").unwrap_or_default();
            wait::plan(self.text("wait"), timeout, state, flags)
        });
        Plan { dry_run: flags.dry_run(self.text("dry_run")), key, wait, contents: Vec::new() }
    }

    /// Reads the arguments of a change without a body.
    pub(crate) async fn plan_change(&self, context: &Context) -> Result<Plan, Fail> {
        let mut flags = self.flags(context).await;
        let plan = self.mutation_flags(&mut flags);
        flags.finish()?;
        Ok(plan)
    }

    /// Reads the arguments of a command without a body.
    pub(crate) async fn flags(&self, context: &Context) -> Flags {
        self.body(&[], context).await.flags
    }

    /// Reads the file of `--input` and the fields into an object.
    pub(super) async fn body(&self, known: &[fields::Field], context: &Context) -> Body {
        let mut body = Body::default();
        let mut stdin = context.stdin();
        if let Some(hint) = self.verb.hint {
            body.flags.help(format!("idempost {hint}"));
        }
        if let Some((flag, name)) = self.input() {
            body.read_input(&format!("--{flag}"), name, &mut stdin);
        }
        for field in self.verb.fields {
            // Settings that can't be read fail the call.
            if let (true, Ok(settings)) = (field.is_sender, context.settings())
                && let Some(from) = &settings.from
            {
                body.json.entry(field.name).or_insert_with(|| from.value.clone().into());
            }
            match field.form {
                Form::Bodies => self.read_bodies(known, &mut body, &mut stdin).await,
                Form::Attachments => self.read_attachments(&mut body, &mut stdin).await,
                _ if field.is_plain() => field.collect(self, known, &mut body),
                _ => {}
            }
        }
        if let Some(fill) = self.verb.fill {
            fill(self, &mut body);
        }
        body
    }

    async fn read_attachments(&self, body: &mut Body, stdin: &mut StdinReaders) {
        let args = InboxArgs::from_arg_matches(self.matches).unwrap_or_default();
        if args.is_empty() {
            return;
        }
        body.touch("attachments");
        body.json.remove("attachments");
        (body.attachments, body.contents) = args.open(&mut body.flags, stdin).await;
    }

    async fn read_bodies(&self, known: &[fields::Field], body: &mut Body, stdin: &mut StdinReaders) {
        // The parser has the arguments: they were added with the same type.
        let args = bodies::Args::from_arg_matches(self.matches).unwrap_or_default();
        let bodies = html_command::bodies(&args, &mut body.flags, stdin).await;
        if known.iter().any(|field| field.name == "html" && field.required) {
            body.flags.field("/html", "--html or --html-file", None);
        }
        body.unread = bodies.unread;
        body.is_touched |= bodies.unread;
        for (name, text) in bodies.texts() {
            body.set(name, text.into());
        }
    }

    /// Applies `--clear`.
    fn clear(&self, body: &mut Body) {
        if self.verb.clear.is_none() {
            return;
        }
        let fields: Vec<_> = self.verb.clearable().collect();
        let set = body.set.clone();
        for (i, word) in self.texts("clear").iter().enumerate() {
            body.is_touched = true;
            match fields.iter().find(|(flag, ..)| flag == word) {
                Some((flag, name, _)) if set.iter().any(|set| set == name) => {
                    let setters = self.verb.fields.iter().filter_map(|field| field.setting(name));
                    let rule = match &setters.map(|field| field.long()).collect::<Vec<_>>()[..] {
                        [] => format!("--{flag} and --clear {flag} can't be used together"),
                        [setter] => format!("--{setter} and --clear {flag} can't be used together"),
                        _ => format!("--clear {flag} can't be used with a new {flag}"),
                    };
                    body.flags.reject_nth("exclusive", rule, "--clear", i + 1, word);
                }
                Some((_, name, value)) => body.set(name, value.clone()),
                None => {
                    let names: Vec<_> = fields.iter().map(|(flag, ..)| flag.as_str()).collect();
                    let one_of = if names.len() == 1 { "" } else { "one of " };
                    let rule = format!("--clear must be {one_of}{}", names.join(", "));
                    body.flags.reject_nth("type", rule, "--clear", i + 1, word);
                }
            }
        }
    }

    /// Builds the input from the flags. Reports all problems together, each at its flag.
    pub(super) async fn plan<I: Input>(
        &self,
        change: Change,
        read: impl FnOnce(&Value, Vec<Attachment>) -> Result<I, Problems>,
        context: &Context,
    ) -> Result<(I, Plan), Fail> {
        let (mut body, plan) = self.draft(I::FIELDS, change, context).await;
        let json = Value::Object(std::mem::take(&mut body.json));
        match read(&json, std::mem::take(&mut body.attachments)) {
            Ok(input) => body.flags.finish().map(|()| (input, plan)),
            Err(problems) => Err(body.reject(change, problems)),
        }
    }

    /// The request without its input. Code that all types of inputs share is compiled once.
    async fn draft(&self, known: &[fields::Field], change: Change, context: &Context) -> (Body, Plan) {
        let mut body = self.body(known, context).await;
        self.clear(&mut body);
        if change == Change::Update && !body.is_touched {
            body.flags.add_missing("a field to change");
        }
        let contents = std::mem::take(&mut body.contents);
        let plan = Plan { contents, ..self.mutation_flags(&mut body.flags) };
        (body, plan)
    }
}

impl Field {
    /// Its value on the command line.
    fn value(&self, given: &Given<'_>) -> String {
        self.argument(given).1.pop().unwrap_or_default()
    }

    /// The argument as the user wrote it, and its values.
    fn argument(&self, given: &Given<'_>) -> (Cow<'static, str>, Vec<String>) {
        let flag = || Cow::from(format!("--{}", self.long()));
        let values = given.texts(self.id);
        match self.form {
            Form::Flag | Form::Bodies | Form::Attachments => (flag(), values),
            Form::PlaceOrFlag if values.is_empty() => match given.texts(&format!("{}_flag", self.id)) {
                none if none.is_empty() => (self.value.into(), none),
                values => (flag(), values),
            },
            _ => (self.value.into(), values),
        }
    }

    /// Reads its values into the request.
    fn collect(&self, given: &Given<'_>, known: &[fields::Field], body: &mut Body) {
        let pointer = format!("/{}", self.name);
        if self.is_switch {
            if given.is_set(self.id) {
                body.set(self.name, true.into());
            }
            return;
        }
        let kind = self.kind(known);
        let (label, values) = self.argument(given);
        if values.is_empty() && self.is_missed(known) {
            body.flags.add_missing(label.as_ref());
        }
        let is_text = matches!(kind, Kind::Text | Kind::List(Kind::Text));
        // An empty filter of a list would match everything.
        if given.verb.table.is_some() && is_text && values.iter().any(String::is_empty) {
            return body.flags.reject("empty", format!("{label} must not be empty"), &label, "");
        }
        if let Kind::List(_) = kind {
            let values = self.map.map_or_else(|| values.clone(), |map| map(values.clone()));
            body.flags.declare_list(&pointer, label.clone(), &values);
            if let (Kind::List(Kind::Choice(choices)), true) = (kind, known.is_empty()) {
                let rule = format!("{label} must be one of {}", choices.join(", "));
                for (i, value) in
                    values.iter().enumerate().filter(|(_, value)| !choices.contains(&value.as_str()))
                {
                    body.flags.reject_nth("type", rule.clone(), &label, i + 1, value);
                }
            }
            if !values.is_empty() {
                body.set(self.name, values.into());
            }
            return;
        }
        let value = values.into_iter().next_back();
        body.flags.field(&pointer, label.clone(), value.as_deref());
        let Some(text) = value else { return };
        let read = match kind {
            Kind::Boolean => text.parse::<bool>().map(Value::from).map_err(|_| "true or false".to_owned()),
            Kind::Number => serde_json::from_str(&text).map(Value::Number).map_err(|_| "a number".to_owned()),
            Kind::Choice(choices)
                if (known.is_empty() || self.name.contains('/')) && !choices.contains(&text.as_str()) =>
            {
                Err(join_or(choices))
            }
            _ => Ok(text.clone().into()),
        };
        match read {
            Ok(value) => body.set(self.name, value),
            Err(rule) => {
                body.is_touched = true;
                let name = self.called.unwrap_or(&label);
                body.flags.reject("type", format!("{name} must be {rule}"), &label, &text);
            }
        }
    }
}

/// `a, b or c`.
fn join_or(choices: &[&str]) -> String {
    match choices {
        [first @ .., last] if !first.is_empty() => format!("{} or {last}", first.join(", ")),
        _ => choices.concat(),
    }
}
