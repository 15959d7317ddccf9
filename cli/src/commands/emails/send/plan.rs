//! Builds the email from flags and documents, and reports all problems together.

use idempost::{Email, IdempotencyKey, problem::Problems};
use serde_json::{Value, json};

use super::{Args, Message, Plan, wait::DELIVERED};
use crate::actions::{attachments, editor, html_command, wait};
use crate::context::Context;
use crate::diagnostics::{Diagnostics, Fail, Missing, Origin};
use crate::input::flags::DryRun;
use crate::input::{
    attach::AttachSpec,
    body_builder::{BodyBuilder, flag_origin, flag_span},
    json,
    pair::Pair,
    source::{self, StdinReaders},
};

/// Reads the named files, applies the flags to the document, and validates the result.
pub(crate) async fn plan(args: Args, context: &Context) -> Result<Plan, Fail> {
    let mut builder = BodyBuilder::default();
    let mut stdin = context.stdin();
    let Args {
        from,
        to,
        subject,
        text,
        text_file,
        html,
        html_file,
        html_command: renderer,
        edit,
        template,
        var,
        var_json,
        attach,
        attach_url,
        cc,
        bcc,
        reply_to,
        header,
        list_unsubscribe,
        tag,
        topic_id,
        scheduled_at,
        idempotency_key,
        input,
        wait,
        timeout,
        dry_run,
        no_validate,
    } = args;

    if let Some(input) = &input {
        match stdin.claim("--input", input) {
            Ok(source) => builder.read(source, "--input"),
            Err(found) => builder.push(*found),
        }
    }
    let of_profile = match &from {
        None if template.is_none()
            && !builder.fields().contains_key("from")
            && !builder.fields().contains_key("template") =>
        {
            context.settings()?.from.clone()
        }
        _ => None,
    };
    for (field, flag, value) in [
        ("from", "--from", from),
        ("subject", "--subject", subject),
        ("topic_id", "--topic-id", topic_id),
        ("scheduled_at", "--scheduled-at", scheduled_at),
    ] {
        if let Some(value) = value {
            let origin = flag_origin(flag, 1, &value);
            builder.set(field, value, origin);
        }
    }
    if let Some(from) = of_profile {
        let origin = flag_origin(&format!("`from` ({})", from.source), 1, &from.value);
        builder.set("from", from.value, origin);
    }
    for (field, flag, values) in [
        ("to", "--to", &to),
        ("cc", "--cc", &cc),
        ("bcc", "--bcc", &bcc),
        ("reply_to", "--reply-to", &reply_to),
    ] {
        builder.set_all(field, flag, values);
    }
    body(&mut builder, &mut stdin, "text", "--text", text, "--text-file", text_file);
    let html_given = html.is_some() || html_file.is_some();
    body(&mut builder, &mut stdin, "html", "--html", html, "--html-file", html_file);
    if let Some(command) = &renderer {
        html_of(command, html_given, &mut builder).await;
    }
    if let Some(id) = template {
        let origin = flag_origin("--template", 1, &id);
        builder.put_key(&["template"], "id", id.into(), origin);
    }
    for (i, text) in var.iter().enumerate() {
        variable(&mut builder, &mut stdin, i + 1, text);
    }
    for (i, text) in var_json.iter().enumerate() {
        typed_variable(&mut builder, i + 1, text);
    }
    let edited = if edit { draft(&mut builder, context)? } else { None };
    let has_body = ["text", "html", "template"].iter().any(|field| builder.fields().contains_key(*field));
    if !has_body && !builder.is_unread() && !attach.iter().any(|one| AttachSpec::read(one).target == "-") {
        read_pipe(&mut builder, &mut stdin);
    }
    for (i, text) in header.iter().enumerate() {
        custom_header(&mut builder, i + 1, text);
    }
    if let Some(url) = &list_unsubscribe {
        unsubscribe_headers(&mut builder, url);
    }
    for (i, text) in tag.iter().enumerate() {
        add_tag(&mut builder, i + 1, text);
    }

    let key_given = idempotency_key.is_some();
    let key = match idempotency_key {
        None => IdempotencyKey::random(),
        Some(given) => IdempotencyKey::new(given.as_str()).unwrap_or_else(|problem| {
            builder.malformed(
                problem.code,
                problem.message,
                flag_origin("--idempotency-key", 1, &given),
                None,
            );
            IdempotencyKey::random()
        }),
    };
    let wait = wait::plan(wait.as_deref(), &timeout.wait_timeout, DELIVERED).unwrap_or_else(|report| {
        report.found.into_iter().for_each(|found| builder.push(found));
        None
    });
    let dry_run = dry_run.and_then(|form| {
        let read = DryRun::read(&form);
        if read.is_none() {
            let rule = "--dry-run must be json or curl".to_owned();
            builder.malformed("type", rule, flag_origin("--dry-run", 1, &form), None);
        }
        read
    });

    let (mut email, shape_errors) = Email::read(&builder.value());
    let mut contents = attachments::contents_of(builder.fields());
    let first = email.fields().attachments.len();
    let mut files = Vec::new();
    for file in attachments::open(&mut stdin, &attach, &attach_url).await {
        match file {
            Ok(file) => {
                for (field, origin) in &file.origins {
                    let pointer = format!("/attachments/{}{field}", first + files.len());
                    builder.set_origin(pointer, origin.clone());
                }
                files.push(file);
            }
            Err(found) => builder.push(found),
        }
    }
    let raw = no_validate && shape_errors.is_err();
    if raw {
        for file in &files {
            let item = file.wire()?;
            builder.put("attachments", item, |_| false);
        }
    }
    for file in files {
        contents.extend(file.content);
        email = email.attach(file.attachment);
    }
    if !no_validate && let Err(problems) = Problems::merge(shape_errors, email.check()) {
        builder.add_problems(problems);
    }
    // The client would reject them too, but can't name the flags.
    if let Err(problems) = context.settings()?.recipients.apply(&mut builder.value()) {
        builder.add_further(problems);
    }
    let recipients =
        ["to", "cc", "bcc"].into_iter().filter_map(|field| builder.fields().get(field)).map(addresses).sum();
    for warning in email.warnings() {
        context.out.warn(&warning.to_string());
    }
    let message = if raw { Message::Json(builder.value()) } else { Message::Email(Box::new(email)) };
    report(builder)?;
    let message = match edited {
        Some((field, draft)) => {
            if dry_run.is_none() {
                // Reports other problems before the user writes.
                context.client()?;
            }
            let suffix = if field == "html" { ".html" } else { ".txt" };
            message.with_body(field, editor::edit(&draft, suffix, context).await?)
        }
        None => message,
    };
    Ok(Plan { message, contents, key, key_given, recipients, unchecked: no_validate, dry_run, wait })
}

/// Returns all problems; missing fields are listed separately, since they have no position.
fn report(builder: BodyBuilder) -> Result<(), Fail> {
    if builder.is_clean() {
        return Ok(());
    }
    let omitted = builder.omitted();
    let (mut found, mut missing) = (Vec::new(), Vec::new());
    for item in builder.into_diagnostics() {
        let needed = match (item.problem.code, item.problem.path.as_str()) {
            ("required", "/from") => "--from (or `from` in the profile)",
            ("required", "/to") => "--to",
            ("required", "/subject") => "--subject (or a --template that has one)",
            ("required", "") => "--text, --html or --template",
            _ => {
                found.push(item);
                continue;
            }
        };
        missing.push(Missing::new(item.problem.path, needed));
    }
    let help =
        "idempost emails send --from 'You <you@yours.test>' --to ada@example.com --subject '…' --text '…'";
    let help = (!missing.is_empty()).then(|| help.to_owned());
    Err(Fail::Usage(Diagnostics { found, omitted, missing, help, ..Diagnostics::default() }))
}

fn addresses(value: &Value) -> usize {
    value.as_array().map_or(1, Vec::len)
}

fn body(
    builder: &mut BodyBuilder,
    stdin: &mut StdinReaders,
    field: &str,
    flag: &str,
    text: Option<String>,
    file_flag: &str,
    file: Option<String>,
) {
    if let (Some(text), Some(_)) = (&text, &file) {
        let rule = format!("{flag} and {file_flag} can't be used together");
        builder.malformed("exclusive", rule, flag_origin(flag, 1, text), None);
        return builder.set(field, text.as_str(), flag_origin(flag, 1, text));
    }
    let (flag, path) = match (text, file) {
        (Some(text), _) if source::is_stdin(&text) => (flag, text),
        (Some(text), _) => {
            let origin = flag_origin(flag, 1, &text);
            return builder.set(field, text, origin);
        }
        (None, Some(path)) => (file_flag, path),
        (None, None) => return,
    };
    let origin = flag_origin(flag, 1, &path);
    match stdin.claim(flag, &path) {
        Ok(source) => match source.text() {
            Ok(text) => builder.set(field, &*text, origin),
            Err(rule) => {
                unread(builder, field, "file", format!("couldn't read {source}: {rule}"), origin);
            }
        },
        Err(found) => builder.push(*found),
    }
}

/// The body to edit and its current text; a placeholder replaces a missing one.
fn draft(builder: &mut BodyBuilder, context: &Context) -> Result<Option<(&'static str, String)>, Fail> {
    let origin = flag_origin("--edit", 1, "--edit");
    let exclusive = if context.settings()?.no_input.value {
        Some("--edit can't be used without prompts (--no-input)")
    } else {
        builder.fields().contains_key("template").then_some("--edit can't be used with a template")
    };
    if let Some(rule) = exclusive {
        builder.malformed("exclusive", rule.to_owned(), origin, None);
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
    match read {
        Ok(text) if text.trim().is_empty() => {
            let rule = "standard input is empty; give the body there, or with --text, --html or --template";
            unread(builder, "text", "empty", rule.to_owned(), origin);
        }
        Ok(text) => builder.set("text", &*text, origin),
        Err(rule) => unread(builder, "text", "file", format!("couldn't read {source}: {rule}"), origin),
    }
}

/// Adds a problem with a body, and a placeholder for it.
fn unread(builder: &mut BodyBuilder, field: &str, code: &'static str, rule: String, origin: Origin) {
    builder.set(field, "stand-in", origin.clone());
    builder.placeholder(&format!("/{field}"));
    builder.malformed(code, rule, origin, None);
}

/// Sets the HTML to a command's output.
async fn html_of(command: &str, given: bool, builder: &mut BodyBuilder) {
    let origin = flag_origin("--html-command", 1, command);
    if given {
        let rule = "--html-command can't be used with --html or --html-file".to_owned();
        return builder.malformed("exclusive", rule, origin, None);
    }
    match html_command::output(command).await {
        Ok(html) => builder.set("html", html, origin),
        Err(rule) => unread(builder, "html", "command", rule, origin),
    }
}

fn variable(builder: &mut BodyBuilder, stdin: &mut StdinReaders, n: usize, text: &str) {
    let Some(pair) = Pair::read(text, '=') else {
        let rule = "a variable must be NAME=TEXT".to_owned();
        return builder.malformed("type", rule, flag_origin("--var", n, text), None);
    };
    let value = match source::named_in(pair.value) {
        None => pair.value.to_owned(),
        Some(literal) if literal.starts_with('@') => literal.to_owned(),
        Some(path) => {
            let read = match stdin.claim("--var", path) {
                Ok(source) => source.text().map_err(|rule| format!("couldn't read {source}: {rule}")),
                Err(found) => return builder.push(*found),
            };
            match read {
                Ok(text) => text.to_string(),
                Err(rule) => {
                    let hint = Some("write a leading @ as @@".to_owned());
                    return builder.malformed("file", rule, flag_span("--var", n, text, pair.value_at), hint);
                }
            }
        }
    };
    let origin = flag_span("--var", n, text, pair.name_at());
    builder.put_key(&["template", "variables"], pair.name, value.into(), origin);
}

fn typed_variable(builder: &mut BodyBuilder, n: usize, text: &str) {
    let Some(pair) = Pair::read(text, '=') else {
        let rule = "a variable must be NAME=JSON".to_owned();
        return builder.malformed("type", rule, flag_origin("--var-json", n, text), None);
    };
    match json::read(pair.value) {
        Ok(document) => {
            let origin = flag_span("--var-json", n, text, pair.name_at());
            builder.put_key(&["template", "variables"], pair.name, document.value, origin);
        }
        Err(error) => {
            let hint = Some(format!("for text, use --var {}=…", pair.name));
            let origin = flag_span("--var-json", n, text, pair.value_at.clone());
            builder.malformed("json", error.message, origin, hint);
        }
    }
}

fn custom_header(builder: &mut BodyBuilder, n: usize, text: &str) {
    let Some(pair) = Pair::read(text, ':') else {
        let rule = "a header must be `NAME: VALUE`".to_owned();
        return builder.malformed("type", rule, flag_origin("--header", n, text), None);
    };
    builder.put_key(&["headers"], pair.name, pair.value.trim().into(), flag_origin("--header", n, text));
}

/// The headers of `Email::list_unsubscribe`.
fn unsubscribe_headers(builder: &mut BodyBuilder, url: &str) {
    for (name, value) in [
        ("List-Unsubscribe", format!("<{url}>")),
        ("List-Unsubscribe-Post", "List-Unsubscribe=One-Click".into()),
    ] {
        let origin = flag_origin("--list-unsubscribe", 1, url);
        builder.put_key(&["headers"], name, value.into(), origin);
    }
}

fn add_tag(builder: &mut BodyBuilder, n: usize, text: &str) {
    let Some(pair) = Pair::read(text, '=') else {
        let rule = "a tag must be NAME=VALUE".to_owned();
        return builder.malformed("type", rule, flag_origin("--tag", n, text), None);
    };
    let item = json!({"name": pair.name, "value": pair.value});
    let same = |tag: &Value| tag["name"] == pair.name;
    if let Some(pointer) = builder.put("tags", item, same) {
        builder.set_origin(format!("{pointer}/name"), flag_span("--tag", n, text, pair.name_at()));
        builder.set_origin(format!("{pointer}/value"), flag_span("--tag", n, text, pair.value_at));
    }
}
