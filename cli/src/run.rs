//! From arguments to exit code: parses, runs one command, reports its failure. The only place that turns a failure into an exit code.

use std::ffi::OsString;
use std::io;
use std::process::ExitCode;
use std::time::Duration;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use futures_util::FutureExt as _;
use serde_json::json;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;

use crate::actions::repeat::{Repeat, quote_argument};
use crate::cli::{self, Cli};
use crate::commands;
use crate::context::Context;
use crate::credentials::helper;
use crate::diagnostics::{Diagnostic, Fail, InFlight, Origin, Signal};
use crate::global::Global;
use crate::literal;
use crate::output::{
    Terminal, hidden, jq, report, suggestion, write_stderr, write_stderr_json, write_stdout,
};
use crate::rows::{Command, Property};
use crate::settings::{ColorChoice, env::Env};
use crate::signals::{self, Signals};

/// Stack size of the command's thread, independent of `ulimit -s`; the nesting limits of jq and JSON fit it.
const STACK: usize = 8 * 1024 * 1024;

/// The grace period after a signal, for commands that block on standard input or a disk.
const GRACE: Duration = Duration::from_millis(200);

/// A command's result, and whether its settings select JSON; or why it wasn't run.
type RunResult = Result<(Result<(), Fail>, bool), Fail>;

/// Runs the program.
pub(crate) fn main(arguments: Vec<OsString>) -> ExitCode {
    let env = Env::process();
    if commands::completions::answer::run(&arguments, &env, cli::command_tree) {
        return ExitCode::SUCCESS;
    }
    // Without arguments, print the overview.
    let arguments = if arguments.len() > 1 { arguments } else { vec!["idempost".into(), "-h".into()] };
    if let Some(code) = jq::process::serve(&arguments).or_else(|| helper::run(&arguments, &env)) {
        return ExitCode::from(code);
    }
    let arguments = match literal::enable(env.get(literal::VARIABLE), arguments) {
        Ok(arguments) => arguments,
        Err(error) => {
            write_stderr(&format!("error: couldn't read the arguments: {error}\n"));
            return ExitCode::FAILURE;
        }
    };
    let json = wants_json(&arguments, &env);
    report_panics(json);
    let outcome = std::panic::catch_unwind(|| run(arguments, &env, json));
    ExitCode::from(outcome.unwrap_or(1))
}

fn run(arguments: Vec<OsString>, env: &Env, json: bool) -> u8 {
    // Handled first: scripts and package managers use it, and it needs no parser.
    if let [_, version] = arguments.as_slice()
        && (version == "--version" || version == "-V")
    {
        return print(concat!("idempost ", env!("CARGO_PKG_VERSION"), "\n"), env);
    }
    let (arguments, alias) = match cli::expand_alias(arguments, env) {
        Ok(expanded) => expanded,
        Err(fail) if json => {
            write_stderr_json(&report::json(&fail, None, None));
            return fail.exit_code();
        }
        Err(fail) => return explain(&fail, env),
    };
    let json = wants_json(&arguments, env);
    let mut cli = match cli::parse(&arguments) {
        Ok(cli) => cli,
        Err(error) => return report_parse_error(&error, &arguments, env, json),
    };
    cli.global.alias = alias;
    cli.global.makes_profile = cli.command.has(Property::MakesProfile);
    suggestion::set_account(account_flags(&cli.global));
    let (color, verbose) = (cli.global.color_choice(), cli.global.verbose > 0);
    let is_local = cli.command.has(Property::Local);
    let key_from_stdin = cli.global.api_key_file.as_deref() == Some("-");
    let repeat =
        cli.key_flag().map(|key_flag| Repeat { arguments: arguments.clone(), key_flag, key_from_stdin });
    let in_flight = InFlight::default();
    // The configuration file may also select JSON.
    let (result, json) = execute(cli, env, &in_flight).unwrap_or_else(|fail| (Err(fail), json));
    // A signal may have interrupted the prompt for a secret.
    hidden::show();
    let Err(mut fail) = result else { return 0 };
    if let Fail::Usage(report) = &mut fail
        && (is_local || cli::is_read_only(&arguments))
    {
        report.summary.get_or_insert(report::headline(report));
    }
    let in_flight = in_flight.unreported_operation();
    let next = repeat.and_then(|repeat| repeat.next(&fail, in_flight.as_ref()));
    match (&fail, &in_flight) {
        (Fail::BrokenPipe, Some(operation)) => report::report_in_flight(operation, json),
        (Fail::BrokenPipe, None) => {}
        (Fail::Child { message: None, .. }, _) if json => {}
        _ if json => write_stderr_json(&report::json(&fail, in_flight.as_ref(), next.as_ref())),
        _ => {
            let terminal = Terminal::detect(env, color.unwrap_or_default());
            write_stderr(&report::render_text(&fail, in_flight.as_ref(), next.as_ref(), &terminal, verbose));
        }
    }
    fail.exit_code()
}

/// The flags that select the account, for the commands that messages suggest.
fn account_flags(global: &Global) -> suggestion::Account {
    let flag = |name: &str, value: &Option<String>| match value.as_deref() {
        // Standard input can't be read again.
        None | Some("-") => String::new(),
        Some(value) => format!("{name} {} ", quote_argument(value)),
    };
    suggestion::Account {
        service: flag("--profile", &global.profile) + &flag("--base-url", &global.base_url),
        key: flag("--api-key-file", &global.api_key_file),
    }
}

/// Runs the command; without a runtime if it needs no network.
fn execute(cli: Cli, env: &Env, in_flight: &InFlight) -> RunResult {
    let Cli { global, command } = cli;
    let (env, in_flight) = (env.clone(), in_flight.clone());
    let context = move || Context::new(global, env, in_flight, cli::command_tree);
    if command.has(Property::Direct) {
        let context = context()?;
        let ended = command.run(&context).now_or_never();
        let waited = || Err(Fail::error("the command waits, which its row doesn't allow"));
        return Ok((ended.unwrap_or_else(waited), context.out.messages_are_json));
    }
    raise_file_limit()?;
    let runtime =
        runtime(&command).map_err(|error| Fail::local("couldn't start the async runtime", error))?;
    let ended = runtime.block_on(run_until_signal(command, context));
    // Threads blocked on a lock or resolver don't delay the exit.
    runtime.shutdown_background();
    ended
}

/// One thread is enough for a client; the sandbox and jobs need several.
fn runtime(command: &Command) -> io::Result<Runtime> {
    let is_concurrent = command.has(Property::Concurrent);
    let mut builder = if is_concurrent { Builder::new_multi_thread() } else { Builder::new_current_thread() };
    builder.enable_all().build()
}

/// Raises the limit of open files if needed; fails if it stays too low.
#[cfg(unix)]
fn raise_file_limit() -> Result<(), Fail> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    const NEEDED: u64 = 64;
    let Rlimit { current: Some(allowed), maximum } = getrlimit(Resource::Nofile) else { return Ok(()) };
    let wanted = Rlimit { current: Some(NEEDED), maximum };
    if allowed >= NEEDED || setrlimit(Resource::Nofile, wanted).is_ok() {
        return Ok(());
    }
    let message =
        format!("the open-file limit is {allowed}, but {NEEDED} files are needed; nothing was done");
    Err(Fail::error(message).hint(format!("raise the limit: ulimit -n {NEEDED}")))
}

#[cfg(not(unix))]
fn raise_file_limit() -> Result<(), Fail> {
    Ok(())
}

/// Runs the command on its own thread, so that a signal ends it even while it blocks on standard input or a slow disk. A second signal exits
/// immediately.
async fn run_until_signal(
    command: Command,
    context: impl FnOnce() -> Result<Context, Fail> + Send + 'static,
) -> RunResult {
    let ends_by_signal = command.has(Property::UntilSignal);
    let mut signals = (!command.has(Property::HandlesSignals)).then(Signals::listen).transpose()?;
    let (stop, stopped) = oneshot::channel::<Signal>();
    let (end, mut ended) = oneshot::channel();
    let runtime = tokio::runtime::Handle::current();
    let interrupted = move |signal| if ends_by_signal { Ok(()) } else { Err(Fail::interrupted(signal)) };
    let started = std::thread::Builder::new().name("command".to_owned()).stack_size(STACK).spawn(move || {
        let _entered = runtime.enter();
        end.send(context().map(|context| {
            let json = context.out.messages_are_json;
            let result = runtime.block_on(async {
                tokio::select! {
                    result = with_service(command, context) => result,
                    Ok(signal) = stopped => interrupted(signal),
                }
            });
            (result, json)
        }))
    });
    started.map_err(|error| Fail::local("couldn't start a thread", error))?;
    // The panic hook has already reported it.
    let panicked = |_| Err(Fail::Child { code: 1, message: None });
    let abandoned = |signal| interrupted(signal).map(|()| (Ok(()), false));
    let Some(signals) = &mut signals else { return ended.await.unwrap_or_else(panicked) };
    let result = tokio::select! {
        result = &mut ended => result.unwrap_or_else(panicked),
        signal = signals.next() => {
            signals::begin_stopping();
            // Not awaited: the command has just ended.
            let _ = stop.send(signal);
            tokio::select! {
                result = &mut ended => result.unwrap_or_else(panicked),
                () = tokio::time::sleep(GRACE) => abandoned(signal),
                _ = signals.next() => return abandoned(signal),
            }
        }
    };
    // The tokens of a new login may not be stored yet.
    signals.wait_released().await;
    result
}

/// With `--sandbox`, starts a service for the command and lists the captured emails at the end.
async fn with_service(
    command: Command,
    #[cfg_attr(not(feature = "sandbox"), expect(unused_mut))] mut context: Context,
) -> Result<(), Fail> {
    #[cfg(feature = "sandbox")]
    if context.global.sandbox {
        if command.has(Property::NeedsRunningService) {
            let rule = "--sandbox can't be used with this command: it starts a sandbox for one command only";
            return Err(Fail::usage("exclusive", rule, Some(Origin::flag("--sandbox", "")))
                .hint("idempost sandbox serve, and this command in another terminal"));
        }
        let embedded = crate::context::embedded::Embedded::start().await?;
        context.use_service(embedded.service.clone());
        let result = run_networked(command, &context).await;
        embedded.finish(&context.out).await;
        return result;
    }
    run_networked(command, &context).await
}

async fn run_networked(command: Command, context: &Context) -> Result<(), Fail> {
    if !command.has(Property::ReportsSettings) {
        context.warn_about_settings();
    }
    if let Some(alias) = &context.global.alias {
        context.out.note(alias);
    }
    command.run(context).await
}

/// Prints help or the version.
fn print(text: &str, env: &Env) -> u8 {
    let Err(fail) = write_stdout(text.as_bytes()) else { return 0 };
    explain(&fail, env)
}

/// Reports a failure before the command line is parsed.
fn explain(fail: &Fail, env: &Env) -> u8 {
    write_stderr(&report::render_text(fail, None, None, &Terminal::detect(env, ColorChoice::Auto), false));
    fail.exit_code()
}

/// Handles help, version, and invalid command lines.
fn report_parse_error(error: &clap::Error, arguments: &[OsString], env: &Env, json: bool) -> u8 {
    let terminal = Terminal::detect(env, ColorChoice::Auto);
    let rendered = error.render();
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        let text = if terminal.color_stdout { rendered.ansi().to_string() } else { rendered.to_string() };
        return print(&text, env);
    }
    // A noun without a command: its help.
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand && !json {
        write_stderr(&if terminal.color_stderr { rendered.ansi().to_string() } else { rendered.to_string() });
        return 2;
    }
    if json {
        write_stderr_json(&report::json(&usage(error, arguments), None, None));
    } else {
        write_stderr(&report::render_text(&usage(error, arguments), None, None, &terminal, false));
    }
    2
}

/// The flag in the parser's `--port <N>` or `--http [<PORT>]`, or the name in `<ID>`.
fn flag_name(argument: &str) -> &str {
    argument.split(' ').next().unwrap_or(argument).trim_matches(['<', '>'])
}

/// The argument as the value of the flag before it, if that requires `=`: `--json=id,to`.
fn with_equals_sign(argument: &str, arguments: &[OsString]) -> Option<String> {
    let flag = arguments.windows(2).find(|pair| pair[1] == argument)?[0].to_str()?;
    let takes_value = matches!(flag, "--json" | "--dry-run")
        || flag.starts_with("--") && matches!(argument, "true" | "false");
    takes_value.then(|| format!("{flag}={argument}"))
}

/// The rule that a value breaks, without the parser library's wording.
fn value_rule(error: &clap::Error) -> String {
    if let Some(ContextValue::Strings(allowed)) = error.get(ContextKind::ValidValue)
        && !allowed.is_empty()
    {
        return format!("must be one of {}", allowed.join(", "));
    }
    match std::error::Error::source(error) {
        Some(number) if number.is::<std::num::ParseIntError>() => "must be a whole number".to_owned(),
        Some(address) if address.is::<std::net::AddrParseError>() => "must be an IP address".to_owned(),
        Some(rule) => match rule.to_string().rsplit_once(" is not in ") {
            Some((_, range)) => format!("must be in the range {}", range.replace("..=", " to ")),
            None => rule.to_string(),
        },
        None => "must not be empty".to_owned(),
    }
}

/// Names the first argument that isn't UTF-8.
fn invalid_utf8(arguments: &[OsString]) -> String {
    let invalid = arguments.iter().find(|argument| argument.to_str().is_none());
    let invalid = invalid.map_or_else(String::new, |argument| argument.to_string_lossy().into_owned());
    format!("the argument `{invalid}` isn't valid UTF-8")
}

/// Converts the parser's error to the common format.
fn usage(error: &clap::Error, arguments: &[OsString]) -> Fail {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        // Clap lists the best suggestion last.
        Some(ContextValue::Strings(texts)) => {
            Some(texts.iter().rev().map(String::as_str).collect::<Vec<_>>().join("` or `"))
        }
        _ => None,
    };
    let rendered = error.render().to_string();
    let sentence = match (error.kind(), error.get(ContextKind::InvalidArg)) {
        (ErrorKind::InvalidUtf8, _) => invalid_utf8(arguments),
        (ErrorKind::UnknownArgument, Some(ContextValue::String(argument))) => {
            format!("unknown argument `{argument}`")
        }
        (ErrorKind::InvalidSubcommand, _) => {
            format!("unknown command `{}`", text(ContextKind::InvalidSubcommand).unwrap_or_default())
        }
        (ErrorKind::MissingRequiredArgument, Some(ContextValue::Strings(missing))) => {
            format!("required input is missing: {}", missing.join(", "))
        }
        (ErrorKind::ValueValidation | ErrorKind::InvalidValue, Some(ContextValue::String(argument))) => {
            format!("{} {}", flag_name(argument), value_rule(error))
        }
        _ => {
            let first = rendered.lines().next().unwrap_or_default().trim_start_matches("error: ");
            first.replace('\'', "`").replace("cannot", "can't")
        }
    };
    // `Usage: idempost emails send [OPTIONS] …`
    let command = rendered.lines().find_map(|line| line.strip_prefix("Usage: ")).map(|usage| {
        let words = usage.split(' ').take_while(|word| !word.starts_with(['[', '<', '-']));
        words.collect::<Vec<_>>().join(" ")
    });
    let unknown = match error.kind() {
        ErrorKind::UnknownArgument => text(ContextKind::InvalidArg),
        ErrorKind::InvalidSubcommand => text(ContextKind::InvalidSubcommand),
        _ => None,
    };
    if let (Some(command), Some(unknown)) = (&command, &unknown)
        && let path = command.split_once(' ').map_or("", |(_program, path)| path)
        && let Some(feature) = cli::missing_feature(path, flag_name(unknown))
    {
        return Fail::missing_feature(&format!("`{}`", flag_name(unknown)), feature);
    }
    let flag = text(ContextKind::InvalidArg)
        .map(|name| Origin::flag(flag_name(&name), text(ContextKind::InvalidValue).unwrap_or_default()));
    let hint = [ContextKind::SuggestedArg, ContextKind::SuggestedSubcommand, ContextKind::SuggestedValue]
        .into_iter()
        .find_map(text)
        .or_else(|| with_equals_sign(&text(ContextKind::InvalidArg)?, arguments))
        .map(|meant| format!("did you mean `{meant}`?"));
    let found = Diagnostic { hint, ..Diagnostic::new("usage", sentence.as_str(), flag) };
    Fail::invalid(sentence, vec![found]).hint_if(command.map(|command| format!("{command} --help")))
}

/// Whether to report errors as JSON, even about an invalid command line: decided before parsing.
fn wants_json(arguments: &[OsString], env: &Env) -> bool {
    let is_json = |form: &str| matches!(form, "json" | "ndjson");
    let mut wants = env.get("IDEMPOST_OUTPUT").is_some_and(is_json);
    let mut arguments = arguments.iter().skip(1).map(|argument| argument.to_string_lossy());
    while let Some(argument) = arguments.next() {
        if argument == "--" {
            break;
        } else if argument.split('=').next() == Some("--json") {
            wants = true;
        } else if argument == "--output" {
            wants = arguments.next().is_some_and(|form| is_json(&form));
        } else if let Some(form) = argument.strip_prefix("--output=") {
            wants = is_json(form);
        } else if let Some((switches, form)) =
            argument.strip_prefix('-').and_then(|rest| rest.split_once('o'))
            && switches.chars().all(|switch| matches!(switch, 'q' | 'v' | 'y'))
        {
            let form = form.trim_start_matches('=');
            let next = form.is_empty().then(|| arguments.next()).flatten();
            wants = is_json(next.as_deref().unwrap_or(form));
        }
    }
    wants
}

/// Reports a panic as a bug.
fn report_panics(json: bool) {
    std::panic::set_hook(Box::new(move |panic| {
        #[cfg(feature = "sandbox")]
        if idempost_sandbox::persistence::catches_panic() {
            return;
        }
        let place = panic.location().map(|place| format!(" at {}:{}", place.file(), place.line()));
        let what = panic.payload_as_str().unwrap_or("no message");
        let sentence = format!(
            "this is a bug in idempost {}: {what}{}",
            env!("CARGO_PKG_VERSION"),
            place.unwrap_or_default()
        );
        write_stderr(&if json {
            let error = json!({"kind": "error", "exit_code": 1, "message": sentence, "outcome": null, "retryable": false});
            format!("{}\n", json!({ "error": error }))
        } else {
            format!("error: {sentence}\nhelp: please report it with the command and its output with -v\n")
        });
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wants(arguments: &[&str], env: &[(&str, &str)]) -> bool {
        let arguments: Vec<_> =
            std::iter::once("idempost").chain(arguments.iter().copied()).map(Into::into).collect();
        wants_json(&arguments, &Env::from_pairs(env))
    }

    #[test]
    fn json_is_detected_before_the_command_line_is_parsed() {
        // G-06
        for yes in [
            &["--json"][..],
            &["x", "--json=id"],
            &["-o", "ndjson"],
            &["-ojson"],
            &["-qojson"],
            &["-vo", "json"],
            &["-qvo=json"],
            &["--output=json"],
        ] {
            assert!(wants(yes, &[]), "{yes:?}");
        }
        for no in [&[][..], &["-o", "human"], &["--", "--json"], &["--jq", "."], &["--jsonx"]] {
            assert!(!wants(no, &[]), "{no:?}");
        }
        assert!(wants(&[], &[("IDEMPOST_OUTPUT", "json")]));
        assert!(!wants(&["-o", "tsv"], &[("IDEMPOST_OUTPUT", "json")]));
    }
}
