//! Builds the email from flags and documents, and reports all problems together.

use idempost::{Email, problem::Problems};
use serde_json::{Value, json};

use super::{Args, Message, Plan, wait::DELIVERED};
use crate::actions::{attachments, editor, html_command, mutation::Sending, wait};
use crate::context::Context;
use crate::diagnostics::{Diagnostic, Fail, Missing, Origin};
use crate::input::{
    attach::AttachSpec,
    body_builder::BodyBuilder,
    json,
    pair::{GivenNames, Pair},
    source::{self, StdinReaders},
};

/// Reads the named files, applies the flags to the document, and validates the result.
pub(crate) async fn plan(args: Args, context: &Context) -> Result<Plan, Fail> {
    let mut builder = BodyBuilder::default();
    let mut stdin = context.stdin();
    if let Some(input) = &args.input {
        builder.read("--input", input, &mut stdin);
    }
    let of_profile = match &args.from {
        None if args.template.is_none()
            && !builder.fields().contains_key("from")
            && !builder.fields().contains_key("template") =>
        {
            context.settings()?.from.clone()
        }
        _ => None,
    };
    for (field, flag, value) in [
        ("from", "--from", args.from),
        ("subject", "--subject", args.subject),
        ("topic_id", "--topic-id", args.topic_id),
        ("scheduled_at", "--scheduled-at", args.scheduled_at),
    ] {
        if let Some(value) = value {
            let origin = Origin::flag(flag, &value);
            builder.set(field, value, origin);
        }
    }
    if let Some(from) = of_profile {
        let origin = Origin::flag(format!("`from` ({})", from.source), &from.value);
        builder.set("from", from.value, origin);
    }
    for (field, flag, values) in [
        ("to", "--to", &args.to),
        ("cc", "--cc", &args.cc),
        ("bcc", "--bcc", &args.bcc),
        ("reply_to", "--reply-to", &args.reply_to),
    ] {
        builder.set_all(field, flag, values);
    }
    for (field, body) in html_command::read(&args.bodies, &mut stdin).await {
        match body {
            Ok((text, origin)) => builder.set(field, text, origin),
            Err(found) => report_unreadable(&mut builder, field, *found),
        }
    }
    if let Some(id) = args.template {
        let origin = Origin::flag("--template", &id);
        builder.put_key(&["template"], "id", id.into(), origin);
    }
    let mut names = GivenNames::default();
    for (i, text) in args.var.iter().enumerate() {
        set_variable(&mut builder, &mut names, &mut stdin, i + 1, text);
    }
    for (i, text) in args.var_json.iter().enumerate() {
        set_typed_variable(&mut builder, &mut names, i + 1, text);
    }
    let edited = if args.edit { draft(&mut builder, context)? } else { None };
    let has_body = ["text", "html", "template"].iter().any(|field| builder.fields().contains_key(*field));
    if !has_body && !builder.is_unread() && !args.attach.iter().any(|one| AttachSpec::read(one).target == "-")
    {
        read_pipe(&mut builder, &mut stdin);
    }
    names = GivenNames::default();
    for (i, text) in args.header.iter().enumerate() {
        custom_header(&mut builder, &mut names, i + 1, text);
    }
    if let Some(url) = &args.list_unsubscribe {
        unsubscribe_headers(&mut builder, url);
    }
    names = GivenNames::default();
    for (i, text) in args.tag.iter().enumerate() {
        add_tag(&mut builder, &mut names, i + 1, text);
    }

    let flags = builder.flags();
    let sending = Sending::read(args.idempotency_key.as_deref(), args.dry_run.dry_run.as_deref(), flags);
    let wait = wait::plan(args.wait.as_deref(), &args.timeout.wait_timeout, DELIVERED, flags);

    let (mut email, shape_errors) = Email::read(&builder.value());
    let mut contents = attachments::describe_contents(builder.fields());
    let first = email.fields().attachments.len();
    let mut files = Vec::new();
    for file in attachments::open(&mut stdin, &args.attach, &args.attach_url).await {
        match file {
            Ok(file) => {
                for (field, origin) in &file.origins {
                    let pointer = format!("/attachments/{}{field}", first + files.len());
                    builder.set_origin(pointer, origin.clone());
                }
                files.push(file);
            }
            Err(found) => builder.flags().push(*found),
        }
    }
    let raw = args.no_validate && shape_errors.is_err();
    if raw {
        for file in &files {
            let item = file.wire()?;
            builder.push_or_replace("attachments", item, |_| false);
        }
    }
    for file in files {
        contents.extend(file.content);
        email = email.attach(file.attachment);
    }
    if !args.no_validate
        && let Err(problems) = Problems::merge(shape_errors, email.check())
    {
        builder.add_problems(problems);
    }
    // The client would reject them too, but can't name the flags.
    if let Err(problems) = context.settings()?.recipients.apply(&mut builder.value()) {
        builder.add_further(problems);
    }
    let recipients = ["to", "cc", "bcc"]
        .into_iter()
        .filter_map(|field| builder.fields().get(field))
        .map(|value| value.as_array().map_or(1, Vec::len))
        .sum();
    for warning in email.warnings() {
        context.out.warn(&warning.to_string());
    }
    let message = if raw { Message::Json(builder.value()) } else { Message::Email(Box::new(email)) };
    report(builder)?;
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

/// Returns all problems; missing fields are listed separately, since they have no position.
fn report(builder: BodyBuilder) -> Result<(), Fail> {
    let mut report = builder.into_report();
    for item in std::mem::take(&mut report.found) {
        let needed = match (item.problem.code, item.problem.path.as_str()) {
            ("required", "/from") => "--from (or `from` in the profile)",
            ("required", "/to") => "--to",
            ("required", "/subject") => "--subject (or a --template that has one)",
            ("required", "") => "--text, --html or --template",
            _ => {
                report.found.push(item);
                continue;
            }
        };
        report.missing.push(Missing::new(item.problem.path, needed));
    }
    if report.is_empty() {
        return Ok(());
    }
    let help =
        "idempost emails send --from 'You <you@yours.test>' --to ada@example.com --subject '…' --text '…'";
    report.help = (!report.missing.is_empty()).then(|| help.to_owned());
    Err(Fail::Usage(report))
}

/// The body to edit and its current text; a placeholder replaces a missing one.
fn draft(builder: &mut BodyBuilder, context: &Context) -> Result<Option<(&'static str, String)>, Fail> {
    let origin = Origin::flag("--edit", "--edit");
    let exclusive = if context.settings()?.no_input.value {
        Some("--edit can't be used without prompts (--no-input)")
    } else {
        builder.fields().contains_key("template").then_some("--edit can't be used with a template")
    };
    if let Some(rule) = exclusive {
        builder.flags().reject_at("exclusive", rule, origin);
        return Ok(None);
    }
    let text = |field: &str| builder.fields().get(field).and_then(Value::as_str).map(str::to_owned);
    let (field, draft) = match (text("text"), text("html")) {
        (None, Some(html)) => ("html", html),
        (text, _) => ("text", text.unwrap_or_default()),
    };
    if draft.is_empty() {
        builder.set(field, "stand-in", origin);
    }
    Ok(Some((field, draft)))
}

/// Sets the text from a pipe.
fn read_pipe(builder: &mut BodyBuilder, stdin: &mut StdinReaders) {
    let Some(source) = stdin.take_pipe() else { return };
    let read = source.text();
    let origin = source.origin(read.as_ref().unwrap_or(&"".into()), 0..0);
    let (code, rule) = match read {
        Ok(text) if text.trim().is_empty() => (
            "empty",
            "standard input is empty; pipe the body to it, or pass --text, --html or --template".to_owned(),
        ),
        Ok(text) => return builder.set("text", &*text, origin),
        Err(rule) => ("file", format!("couldn't read {source}: {rule}")),
    };
    report_unreadable(builder, "text", Diagnostic::new(code, rule, Some(origin)));
}

/// Adds a problem with a body, and a placeholder for it.
fn report_unreadable(builder: &mut BodyBuilder, field: &str, found: Diagnostic) {
    if let Some(origin) = &found.origin {
        builder.set(field, "stand-in", origin.clone());
    }
    builder.placeholder(&format!("/{field}"));
    builder.flags().push(found);
}

/// Splits a flag's value into name and value.
fn split_pair<'a>(
    builder: &mut BodyBuilder,
    names: &mut GivenNames,
    (flag, n, text): (&str, usize, &'a str),
    separator: char,
    rule: &str,
) -> Option<Pair<'a>> {
    let Some(pair) = Pair::read(text, separator) else {
        builder.flags().reject_at("type", rule, Origin::nth_flag(flag, n, text));
        return None;
    };
    if let Err(rule) = names.add(pair.name, separator) {
        let origin = Origin::flag_part(flag, n, text, pair.name_range());
        builder.flags().reject_at("repeated", rule, origin);
        return None;
    }
    Some(pair)
}

fn set_variable(
    builder: &mut BodyBuilder,
    names: &mut GivenNames,
    stdin: &mut StdinReaders,
    n: usize,
    text: &str,
) {
    let Some(pair) = split_pair(builder, names, ("--var", n, text), '=', "a variable must be NAME=TEXT")
    else {
        return;
    };
    let value = match source::input_name(pair.value) {
        None => pair.value.to_owned(),
        Some(literal) if literal.starts_with('@') => literal.to_owned(),
        Some(path) => {
            let read = match stdin.claim("--var", path) {
                Ok(source) => source.text().map_err(|rule| format!("couldn't read {source}: {rule}")),
                Err(found) => return builder.flags().push(*found),
            };
            match read {
                Ok(text) => text.to_string(),
                Err(rule) => {
                    let origin = Origin::flag_part("--var", n, text, pair.value_at);
                    let hint = Some("write a leading @ as @@".to_owned());
                    return builder
                        .flags()
                        .push(Diagnostic { hint, ..Diagnostic::new("file", rule, Some(origin)) });
                }
            }
        }
    };
    let origin = Origin::flag_part("--var", n, text, pair.name_range());
    builder.put_key(&["template", "variables"], pair.name, value.into(), origin);
}

fn set_typed_variable(builder: &mut BodyBuilder, names: &mut GivenNames, n: usize, text: &str) {
    let rule = "a variable must be NAME=JSON";
    let Some(pair) = split_pair(builder, names, ("--var-json", n, text), '=', rule) else { return };
    match json::read(pair.value) {
        Ok(document) => {
            let origin = Origin::flag_part("--var-json", n, text, pair.name_range());
            builder.put_key(&["template", "variables"], pair.name, document.value, origin);
        }
        Err(error) => {
            let hint = Some(format!("for text, use --var {}=…", pair.name));
            let origin = Origin::flag_part("--var-json", n, text, pair.value_at.clone());
            builder.flags().push(Diagnostic { hint, ..Diagnostic::new("json", error.message, Some(origin)) });
        }
    }
}

fn custom_header(builder: &mut BodyBuilder, names: &mut GivenNames, n: usize, text: &str) {
    let rule = "a header must be `NAME: VALUE`";
    let Some(pair) = split_pair(builder, names, ("--header", n, text), ':', rule) else { return };
    builder.put_key(&["headers"], pair.name, pair.value.trim().into(), Origin::nth_flag("--header", n, text));
}

/// The headers of `Email::list_unsubscribe`.
fn unsubscribe_headers(builder: &mut BodyBuilder, url: &str) {
    for (name, value) in [
        ("List-Unsubscribe", format!("<{url}>")),
        ("List-Unsubscribe-Post", "List-Unsubscribe=One-Click".into()),
    ] {
        let origin = Origin::flag("--list-unsubscribe", url);
        builder.put_key(&["headers"], name, value.into(), origin);
    }
}

fn add_tag(builder: &mut BodyBuilder, names: &mut GivenNames, n: usize, text: &str) {
    let Some(pair) = split_pair(builder, names, ("--tag", n, text), '=', "a tag must be NAME=VALUE") else {
        return;
    };
    let item = json!({"name": pair.name, "value": pair.value});
    let same = |tag: &Value| tag["name"] == pair.name;
    if let Some(pointer) = builder.push_or_replace("tags", item, same) {
        builder.set_origin(format!("{pointer}/name"), Origin::flag_part("--tag", n, text, pair.name_range()));
        builder.set_origin(format!("{pointer}/value"), Origin::flag_part("--tag", n, text, pair.value_at));
    }
}
