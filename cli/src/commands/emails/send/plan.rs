//! Builds the email from flags and documents, and reports all problems together.

use idempost::Email;
use idempost::problem::{Problem, Problems};
use serde_json::{Map, Value, json};

use super::{Args, Message, Plan, wait::DELIVERED};
use crate::actions::{attachments, editor, html_command, mutation::Sending, wait};
use crate::context::Context;
use crate::diagnostics::{Diagnostic, Fail, Origin};
use crate::input::{
    attach::AttachSpec,
    documents::EMAIL_FIELDS,
    json,
    pair::Pair,
    source::{self, StdinReaders},
};
use crate::rows::given::{Body, Change};

const HELP: &str =
    "idempost emails send --from 'You <you@yours.test>' --to ada@example.com --subject '…' --text '…'";
/// What sets the required fields.
const REQUIRED: [(&str, &str); 4] = [
    ("/from", "--from (or `from` in the profile)"),
    ("/to", "--to"),
    ("/subject", "--subject (or a --template that has one)"),
    ("", "--text, --html or --template"),
];
/// The object with the variables of the template.
const VARIABLES: &str = "template/variables";

/// Reads the named files, applies the flags to the document, and validates the result.
pub(crate) async fn plan(args: Args, context: &Context) -> Result<Plan, Fail> {
    let mut body = Body::default();
    let mut stdin = context.stdin();
    body.flags.help(HELP);
    for (pointer, flags) in REQUIRED {
        body.flags.field(pointer, flags, None);
    }
    for field in EMAIL_FIELDS {
        body.flags.field(&format!("/{field}"), "", None);
    }
    if let Some(input) = &args.input {
        body.read_input("--input", input, &mut stdin);
    }
    let has_sender = ["from", "template"].iter().any(|field| body.json.contains_key(*field));
    if args.from.is_none()
        && args.template.is_none()
        && !has_sender
        && let Some(from) = &context.settings()?.from
    {
        let origin = Origin::flag(format!("`from` ({})", from.source), &from.value);
        body.flags.declare_part("/from".to_owned(), "--from", origin);
        body.set("from", from.value.as_str().into());
    }
    for (field, flag, value) in [
        ("from", "--from", args.from),
        ("subject", "--subject", args.subject),
        ("topic_id", "--topic-id", args.topic_id),
        ("scheduled_at", "--scheduled-at", args.scheduled_at),
    ] {
        body.flags.set(&mut body.json, field, flag, value);
    }
    for (field, flag, values) in [
        ("to", "--to", args.to),
        ("cc", "--cc", args.cc),
        ("bcc", "--bcc", args.bcc),
        ("reply_to", "--reply-to", args.reply_to),
    ] {
        body.flags.set_list(&mut body.json, field, flag, values);
    }
    let bodies = html_command::bodies(&args.bodies, &mut body.flags, &mut stdin).await;
    body.unread = bodies.unread;
    for (field, text) in bodies.texts() {
        body.set(field, text.into());
    }
    if let Some(id) = args.template {
        body.flags.field("/template/id", "--template", Some(&id));
        body.put("template", "id", id.into());
    }
    let variables = read_variables(&args.var, &args.var_json, &mut body, &mut stdin);
    body.put_all(VARIABLES, variables, false);
    let edited = if args.edit { draft(&mut body, context)? } else { None };
    let has_body = ["text", "html", "template"].iter().any(|field| body.json.contains_key(*field));
    let is_attached = args.attach.iter().any(|one| AttachSpec::read(one).target == "-");
    if !has_body && !body.unread && !body.is_unknown && !is_attached {
        read_pipe(&mut body, &mut stdin);
    }
    let mut headers = Map::new();
    body.flags.members("/headers", "--header", "`NAME: VALUE`", &args.header, &mut headers, |pair| {
        Ok(pair.value.trim().into())
    });
    body.put_all("headers", headers, false);
    if let Some(url) = &args.list_unsubscribe {
        unsubscribe_headers(&mut body, url);
    }
    add_tags(&mut body, &args.tag);

    let flags = &mut body.flags;
    let sending = Sending::read(args.idempotency_key.as_deref(), args.dry_run.dry_run.as_deref(), flags);
    let wait = wait::plan(args.wait.as_deref(), &args.timeout.wait_timeout, DELIVERED, flags);

    let (mut email, shape_errors) = Email::read(&Value::Object(body.json.clone()));
    let mut contents = std::mem::take(&mut body.contents);
    let first = email.fields().attachments.len();
    let files = attachments::open(&mut body.flags, &mut stdin, &args.attach, &args.attach_url, first).await;
    let raw = args.no_validate && shape_errors.is_err();
    if raw {
        for file in &files {
            let item = file.wire()?;
            body.list("attachments").into_iter().for_each(|list| list.push(item.clone()));
        }
    }
    for file in files {
        contents.extend(file.content);
        email = email.attach(file.attachment);
    }
    let checked = if args.no_validate { Ok(()) } else { Problems::merge(shape_errors, email.check()) };
    for warning in email.warnings() {
        context.out.warn(&warning.to_string());
    }
    // The client would reject them too, but can't name the flags.
    let guarded = context.settings()?.recipients.apply(&mut Value::Object(body.json.clone()));
    if let Err(problems) = merge(checked, guarded) {
        return Err(body.reject(Change::Create, problems));
    }
    body.flags.finish()?;
    let recipients = ["to", "cc", "bcc"]
        .into_iter()
        .filter_map(|field| body.json.get(field))
        .map(|value| value.as_array().map_or(1, Vec::len))
        .sum();
    let message = if raw { Message::Json(body.json.into()) } else { Message::Email(Box::new(email)) };
    let message = match edited {
        Some((field, draft)) => {
            if sending.dry_run.is_none() {
                // Reports other problems before the user starts writing.
                context.client()?;
            }
            let suffix = if field == "html" { ".html" } else { ".txt" };
            message.with_body(field, editor::edit(&draft, suffix, context).await?)
        }
        None => message,
    };
    Ok(Plan { message, contents, sending, recipients, unchecked: args.no_validate, wait })
}

/// Adds the errors of a further check, except about values already reported.
fn merge(checked: Result<(), Problems>, further: Result<(), Problems>) -> Result<(), Problems> {
    let (Err(known), Err(further)) = (&checked, &further) else { return checked.and(further) };
    let is_new = |problem: &&Problem| known.iter().all(|one| one.path != problem.path);
    let further = Problems::check(further.iter().filter(is_new).cloned());
    Problems::merge(checked, further)
}

/// The body to edit and its current text; a placeholder replaces a missing one.
fn draft(body: &mut Body, context: &Context) -> Result<Option<(&'static str, String)>, Fail> {
    let exclusive = if context.settings()?.no_input.value {
        Some("--edit can't be used without prompts (--no-input)")
    } else {
        body.json.contains_key("template").then_some("--edit can't be used with a template")
    };
    if let Some(rule) = exclusive {
        body.flags.reject("exclusive", rule, "--edit", "--edit");
        return Ok(None);
    }
    let text = |field: &str| body.json.get(field).and_then(Value::as_str).map(str::to_owned);
    let (field, draft) = match (text("text"), text("html")) {
        (None, Some(html)) => ("html", html),
        (text, _) => ("text", text.unwrap_or_default()),
    };
    if draft.is_empty() {
        body.set(field, "stand-in".into());
    }
    Ok(Some((field, draft)))
}

/// Sets the text from a pipe.
fn read_pipe(body: &mut Body, stdin: &mut StdinReaders) {
    let Some(source) = stdin.take_pipe() else { return };
    let read = source.text();
    let origin = source.origin(read.as_ref().unwrap_or(&"".into()), 0..0);
    let (code, rule) = match read {
        Ok(text) if text.trim().is_empty() => (
            "empty",
            "standard input is empty; pipe the body to it, or pass --text, --html or --template".to_owned(),
        ),
        Ok(text) => {
            body.flags.declare_part("/text".to_owned(), "", origin);
            return body.set("text", (*text).into());
        }
        Err(rule) => ("file", format!("couldn't read {source}: {rule}")),
    };
    body.unread = true;
    body.flags.reject_at(code, rule, origin);
}

/// The template variables of `--var` and `--var-json`.
fn read_variables(
    texts: &[String],
    values: &[String],
    body: &mut Body,
    stdin: &mut StdinReaders,
) -> Map<String, Value> {
    let (mut variables, pointer) = (Map::new(), format!("/{VARIABLES}"));
    body.flags.members(&pointer, "--var", "NAME=TEXT", texts, &mut variables, |pair| read_text(pair, stdin));
    body.flags.members(&pointer, "--var-json", "NAME=JSON", values, &mut variables, |pair| {
        json::read(pair.value).map(|document| document.value).map_err(|error| {
            let hint = Some(format!("for text, use --var {}=…", pair.name));
            Diagnostic { hint, ..Diagnostic::new("json", error.message, None) }.into()
        })
    });
    variables
}

/// The value of a variable: text, or the contents of a file.
fn read_text(pair: &Pair<'_>, stdin: &mut StdinReaders) -> Result<Value, Box<Diagnostic>> {
    match source::input_name(pair.value) {
        None => Ok(pair.value.into()),
        Some(literal) if literal.starts_with('@') => Ok(literal.into()),
        Some(path) => {
            let source = stdin.claim("--var", path)?;
            source.text().map(|text| (*text).into()).map_err(|rule| {
                let hint = Some("write a leading @ as @@".to_owned());
                let rule = format!("couldn't read {source}: {rule}");
                Diagnostic { hint, ..Diagnostic::new("file", rule, None) }.into()
            })
        }
    }
}

/// The headers of `Email::list_unsubscribe`.
fn unsubscribe_headers(body: &mut Body, url: &str) {
    for (name, value) in [
        ("List-Unsubscribe", format!("<{url}>")),
        ("List-Unsubscribe-Post", "List-Unsubscribe=One-Click".into()),
    ] {
        body.flags.field(&format!("/headers/{name}"), "--list-unsubscribe", Some(url));
        body.put("headers", name, value.into());
    }
}

/// Adds tags; one replaces that of the same name in the document.
fn add_tags(body: &mut Body, values: &[String]) {
    for pair in body.flags.distinct_pairs("--tag", "NAME=VALUE", values) {
        let Some(tags) = body.list("tags") else { return };
        let at = tags.iter().position(|tag| tag["name"] == pair.name).unwrap_or_else(|| {
            tags.push(Value::Null);
            tags.len() - 1
        });
        tags[at] = json!({"name": pair.name, "value": pair.value});
        body.flags.declare_part(format!("/tags/{at}/name"), "--tag", pair.name_origin());
        body.flags.declare_part(format!("/tags/{at}/value"), "--tag", pair.value_origin());
    }
}
