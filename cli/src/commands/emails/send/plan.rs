//! From what was typed to an email: every flag finds its field, and everything wrong is found at once.

use posthaste::{Email, IdempotencyKey, Problems};
use serde_json::{Value, json};

use super::{Args, Message, Plan, files, wait::DELIVERED};
use crate::actions::shell::Shell;
use crate::actions::wait;
use crate::context::Context;
use crate::diagnostics::{Fail, Missing, Report};
use crate::input::flags::DryRun;
use crate::input::{
    draft::{Draft, flag_origin, flag_span},
    json,
    pair::Pair,
    source::StdinReaders,
};

/// The limit of what `--html-command` writes.
const HTML_LIMIT: u64 = 64 * 1024 * 1024;

/// Reads the named files, lays the flags over the document, and asks the rules.
pub(crate) async fn plan(args: Args, context: &Context) -> Result<Plan, Fail> {
    let mut draft = Draft::default();
    let mut stdin = context.stdin();
    let Args {
        from,
        to,
        subject,
        text,
        text_file,
        html,
        html_file,
        html_command,
        template,
        var,
        var_json,
        attach,
        attach_url,
        cc,
        bcc,
        reply_to,
        header,
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
            Ok(source) => draft.read(source, "--input"),
            Err(found) => draft.push(*found),
        }
    }
    let of_profile = match &from {
        None if template.is_none()
            && !draft.fields().contains_key("from")
            && !draft.fields().contains_key("template") =>
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
            draft.set(field, value, origin);
        }
    }
    if let Some(from) = of_profile {
        let origin = flag_origin(&format!("`from` ({})", from.source), 1, &from.value);
        draft.set("from", from.value, origin);
    }
    for (field, flag, values) in [
        ("to", "--to", &to),
        ("cc", "--cc", &cc),
        ("bcc", "--bcc", &bcc),
        ("reply_to", "--reply-to", &reply_to),
    ] {
        draft.set_all(field, flag, values);
    }
    body(&mut draft, &mut stdin, "text", "--text", text, "--text-file", text_file);
    let html_given = html.is_some() || html_file.is_some();
    body(&mut draft, &mut stdin, "html", "--html", html, "--html-file", html_file);
    if let Some(command) = &html_command {
        html_of(command, html_given, &mut draft).await;
    }
    if let Some(id) = template {
        let origin = flag_origin("--template", 1, &id);
        draft.put_key(&["template"], "id", id.into(), origin);
    }
    for (i, text) in var.iter().enumerate() {
        variable(&mut draft, &mut stdin, i + 1, text);
    }
    for (i, text) in var_json.iter().enumerate() {
        typed_variable(&mut draft, i + 1, text);
    }
    for (i, text) in header.iter().enumerate() {
        custom_header(&mut draft, i + 1, text);
    }
    for (i, text) in tag.iter().enumerate() {
        add_tag(&mut draft, i + 1, text);
    }

    let key = match idempotency_key {
        None => IdempotencyKey::random(),
        Some(given) => IdempotencyKey::new(given.as_str()).unwrap_or_else(|problem| {
            draft.spelling(problem.code, problem.message, flag_origin("--idempotency-key", 1, &given), None);
            IdempotencyKey::random()
        }),
    };
    let wait = wait::plan(wait.as_deref(), &timeout.wait_timeout, DELIVERED).unwrap_or_else(|report| {
        report.found.into_iter().for_each(|found| draft.push(found));
        None
    });
    let dry_run = dry_run.and_then(|form| {
        let read = DryRun::read(&form);
        if read.is_none() {
            let rule = "a dry run is shown as json or curl".to_owned();
            draft.spelling("type", rule, flag_origin("--dry-run", 1, &form), None);
        }
        read
    });

    let (mut email, shape) = Email::read(&draft.value());
    let mut contents = files::contents_of(draft.fields());
    let files =
        files::attachments(&mut draft, &mut stdin, &attach, &attach_url, email.fields().attachments.len())
            .await;
    let raw = no_validate && shape.is_err();
    if raw {
        for file in &files {
            let item = file.wire()?;
            draft.put("attachments", item, |_| false);
        }
    }
    for file in files {
        contents.extend(file.content);
        email = email.attach(file.attachment);
    }
    if !no_validate && let Err(problems) = Problems::merge(shape, email.check()) {
        draft.judge(problems);
    }
    let recipients =
        ["to", "cc", "bcc"].into_iter().filter_map(|field| draft.fields().get(field)).map(addresses).sum();
    for warning in email.warnings() {
        context.out.warn(&warning.to_string());
    }
    let message = if raw { Message::Json(draft.value()) } else { Message::Email(Box::new(email)) };
    report(draft)?;
    Ok(Plan { message, contents, key, recipients, unchecked: no_validate, dry_run, wait })
}

/// Everything that is wrong, with what is missing told apart: nobody looks for a place where nothing stands.
fn report(draft: Draft) -> Result<(), Fail> {
    if draft.is_clean() {
        return Ok(());
    }
    let omitted = draft.omitted();
    let (mut found, mut missing) = (Vec::new(), Vec::new());
    for item in draft.into_found() {
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
        missing.push(Missing::at(item.problem.path, needed));
    }
    let help =
        "posthaste emails send --from 'You <you@yours.test>' --to ada@example.com --subject '…' --text '…'";
    let help = (!missing.is_empty()).then(|| help.to_owned());
    Err(Fail::Usage(Report { found, omitted, missing, help, ..Report::default() }))
}

fn addresses(value: &Value) -> usize {
    value.as_array().map_or(1, Vec::len)
}

fn body(
    draft: &mut Draft,
    stdin: &mut StdinReaders,
    field: &str,
    flag: &str,
    text: Option<String>,
    file_flag: &str,
    file: Option<String>,
) {
    if let (Some(text), Some(_)) = (&text, &file) {
        let rule = format!("{flag} and {file_flag} exclude each other");
        draft.spelling("exclusive", rule, flag_origin(flag, 1, text), None);
        return draft.set(field, text.as_str(), flag_origin(flag, 1, text));
    }
    if let Some(text) = text {
        let origin = flag_origin(flag, 1, &text);
        draft.set(field, text, origin);
    }
    if let Some(path) = file {
        let origin = flag_origin(file_flag, 1, &path);
        match stdin.claim(file_flag, &path) {
            Ok(source) => match source.text() {
                Ok(text) => draft.set(field, &*text, origin),
                Err(rule) => {
                    draft.set(field, "stand-in", origin.clone());
                    draft.stand_in(&format!("/{field}"));
                    draft.spelling("file", format!("{source} can't be read: {rule}"), origin, None);
                }
            },
            Err(found) => draft.push(*found),
        }
    }
}

/// Sets the HTML to what a command writes.
async fn html_of(command: &str, given: bool, draft: &mut Draft) {
    let origin = flag_origin("--html-command", 1, command);
    if given {
        let rule = "--html-command excludes --html and --html-file".to_owned();
        return draft.spelling("exclusive", rule, origin, None);
    }
    match Shell::output(command, HTML_LIMIT).await {
        Ok(html) => draft.set("html", html, origin),
        Err(rule) => {
            draft.set("html", "stand-in", origin.clone());
            draft.stand_in("/html");
            draft.spelling("command", rule, origin, None);
        }
    }
}

fn variable(draft: &mut Draft, stdin: &mut StdinReaders, n: usize, text: &str) {
    let Some(pair) = Pair::read(text, '=') else {
        let rule = "a variable is NAME=TEXT".to_owned();
        return draft.spelling("type", rule, flag_origin("--var", n, text), None);
    };
    let value = match pair.value.strip_prefix('@') {
        None => pair.value.to_owned(),
        Some(literal) if literal.starts_with('@') => literal.to_owned(),
        Some(path) => {
            let read = match stdin.claim("--var", path) {
                Ok(source) => source.text().map_err(|rule| format!("{source} can't be read: {rule}")),
                Err(found) => return draft.push(*found),
            };
            match read {
                Ok(text) => text.to_string(),
                Err(rule) => {
                    let hint = Some("a text that begins with @ is written @@".to_owned());
                    return draft.spelling("file", rule, flag_span("--var", n, text, pair.value_at), hint);
                }
            }
        }
    };
    let origin = flag_span("--var", n, text, pair.name_at());
    draft.put_key(&["template", "variables"], pair.name, value.into(), origin);
}

fn typed_variable(draft: &mut Draft, n: usize, text: &str) {
    let Some(pair) = Pair::read(text, '=') else {
        let rule = "a variable is NAME=JSON".to_owned();
        return draft.spelling("type", rule, flag_origin("--var-json", n, text), None);
    };
    match json::read(pair.value) {
        Ok(document) => {
            let origin = flag_span("--var-json", n, text, pair.name_at());
            draft.put_key(&["template", "variables"], pair.name, document.value, origin);
        }
        Err(error) => {
            let hint = Some(format!("a text is given with --var {}=…", pair.name));
            let origin = flag_span("--var-json", n, text, pair.value_at.clone());
            draft.spelling("json", error.message, origin, hint);
        }
    }
}

fn custom_header(draft: &mut Draft, n: usize, text: &str) {
    let Some(pair) = Pair::read(text, ':') else {
        let rule = "a header is `NAME: VALUE`".to_owned();
        return draft.spelling("type", rule, flag_origin("--header", n, text), None);
    };
    draft.put_key(&["headers"], pair.name, pair.value.trim().into(), flag_origin("--header", n, text));
}

fn add_tag(draft: &mut Draft, n: usize, text: &str) {
    let Some(pair) = Pair::read(text, '=') else {
        let rule = "a tag is NAME=VALUE".to_owned();
        return draft.spelling("type", rule, flag_origin("--tag", n, text), None);
    };
    let item = json!({"name": pair.name, "value": pair.value});
    let same = |tag: &Value| tag["name"] == pair.name;
    if let Some(pointer) = draft.put("tags", item, same) {
        draft.came_from(format!("{pointer}/name"), flag_span("--tag", n, text, pair.name_at()));
        draft.came_from(format!("{pointer}/value"), flag_span("--tag", n, text, pair.value_at));
    }
}
