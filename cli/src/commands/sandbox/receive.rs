//! `sandbox receive`: simulates an incoming email.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::Method;
use idempost::received::AuthenticationResult;
use serde_json::{Map, Value, json};

use super::{client, unreachable_failure};
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::flags::{Choices, Flags, Required};
use crate::input::source::StdinReaders;

/// Simulate an incoming email and print its ID for `received get`
///
/// The email comes from a message file (.eml, RFC 5322) or from flags. With a file, --to sets the envelope recipients, which default to those in
/// its headers.
///
/// The sandbox doesn't check senders: --spf, --dkim and --dmarc set the results that `received get` shows.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    idempost sandbox receive mail.eml\n  \
    idempost sandbox receive --from ada@example.com --to support@acme.test --subject Help --text 'It broke' --attach log.txt\n  \
    idempost sandbox receive mail.eml --spf pass --dkim pass --dmarc fail")]
pub(crate) struct Args {
    /// File with the whole message; - reads standard input
    #[arg(value_name = "FILE", conflicts_with_all = ["from", "cc", "reply_to", "subject", "text", "html", "attach"])]
    file: Option<String>,
    /// Sender
    #[arg(long, value_name = "ADDRESS", add = Required)]
    from: Option<String>,
    /// Recipients; several values or repeated flags
    #[arg(long, value_name = "ADDRESS", add = Required, num_args = 1..)]
    to: Vec<String>,
    /// Cc recipients; several values or repeated flags
    #[arg(long, value_name = "ADDRESS", num_args = 1..)]
    cc: Vec<String>,
    /// Reply-to address; repeatable
    #[arg(long, value_name = "ADDRESS")]
    reply_to: Vec<String>,
    /// Subject
    #[arg(long, value_name = "TEXT", add = Required)]
    subject: Option<String>,
    /// Plain-text body
    #[arg(long, value_name = "TEXT")]
    text: Option<String>,
    /// HTML body
    #[arg(long, value_name = "HTML")]
    html: Option<String>,
    /// File to attach; repeatable
    #[arg(long, value_name = "PATH")]
    attach: Vec<String>,
    /// Result of SPF: pass, fail, gray, processing_failed or unknown [default: unknown]
    #[arg(long, value_name = "RESULT", value_parser = Choices(AuthenticationResult::KNOWN), hide_possible_values = true)]
    spf: Option<String>,
    /// Result of DKIM
    #[arg(long, value_name = "RESULT", value_parser = Choices(AuthenticationResult::KNOWN), hide_possible_values = true)]
    dkim: Option<String>,
    /// Result of DMARC
    #[arg(long, value_name = "RESULT", value_parser = Choices(AuthenticationResult::KNOWN), hide_possible_values = true)]
    dmarc: Option<String>,
}

/// Injects the email.
pub(super) async fn run(args: Args, context: &Context) -> Result<(), Fail> {
    let (mut flags, mut stdin) = (Flags::default(), context.stdin());
    let checks = [("spf", args.spf.clone()), ("dkim", args.dkim.clone()), ("dmarc", args.dmarc.clone())];
    let request = || Ok::<_, Fail>(client(context)?.request(Method::POST, "/_/received"));
    let call = if let Some(file) = &args.file {
        let message = flags.take(stdin.bytes("FILE", file));
        flags.finish()?;
        let call = request()?.body("message/rfc822", message.unwrap_or_default());
        args.to.iter().fold(call, |call, to| call.query("to", to))
    } else {
        let fields = read_fields(args, &mut stdin, &mut flags);
        flags.finish()?;
        request()?.json(&Value::Object(fields))
    };
    let checks = checks.into_iter().filter_map(|(name, result)| Some((name, result?)));
    let call = checks.fold(call, |call, (name, result)| call.query(name, result));
    let response = call.await.map_err(unreachable_failure)?;
    let id = response.get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
    context.out.result(&[id], &response)
}

fn read_fields(args: Args, stdin: &mut StdinReaders, flags: &mut Flags) -> Map<String, Value> {
    flags.help("idempost sandbox receive --from ada@example.com --to support@acme.test --subject Help --text 'It broke'");
    for (flag, is_given) in [
        ("--from", args.from.is_some()),
        ("--subject", args.subject.is_some()),
        ("--to", !args.to.is_empty()),
        ("--text or --html", args.text.is_some() || args.html.is_some()),
    ] {
        if !is_given {
            flags.add_missing(flag);
        }
    }
    let mut fields = Map::new();
    for (name, flag, value) in [
        ("from", "--from", args.from),
        ("subject", "--subject", args.subject),
        ("text", "--text", args.text),
        ("html", "--html", args.html),
    ] {
        flags.set(&mut fields, name, flag, value);
    }
    for (name, flag, values) in
        [("to", "--to", args.to), ("cc", "--cc", args.cc), ("reply_to", "--reply-to", args.reply_to)]
    {
        flags.set_list(&mut fields, name, flag, values);
    }
    let attachments: Vec<_> = args
        .attach
        .iter()
        .filter_map(|path| {
            let content = STANDARD.encode(flags.take(stdin.bytes("--attach", path))?);
            let name = std::path::Path::new(path).file_name().map(|name| name.to_string_lossy().into_owned());
            Some(json!({ "filename": name, "content": content }))
        })
        .collect();
    if !attachments.is_empty() {
        fields.insert("attachments".to_owned(), attachments.into());
    }
    fields
}
