//! The output streams: results on standard output, messages on standard error.
//!
//! `println!` isn't used because it panics on a full disk. A closed pipe ends the program silently.

use std::cell::Cell;
use std::io::{self, IsTerminal as _, Write as _};
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::jq::Jq;
use super::pager::Pager;
use super::table::{Column, Columns};
use super::terminal::{Terminal, escape_line, safe_lines};
use super::{color, json, secret, suggestion};
use crate::diagnostics::{Diagnostic, Fail, Origin};
use crate::literal;
use crate::settings::{Form, keys};

/// How often a waiting command checks whether its output is still read.
const CHECK_INTERVAL: Duration = Duration::from_millis(250);

/// The output flags.
#[derive(Debug, Clone, Default)]
pub(crate) struct OutputOptions {
    /// The output format.
    pub(crate) form: Form,
    /// `--json=FIELDS`.
    pub(crate) fields: Vec<String>,
    /// `--jq`.
    pub(crate) jq: Option<String>,
    /// `--columns`.
    pub(crate) columns: Vec<String>,
    /// `--quiet`.
    pub(crate) quiet: bool,
    /// `--output tsv` on this command line.
    pub(crate) tsv_by_flag: bool,
    /// `--json`, with or without fields.
    pub(crate) json_by_flag: bool,
    /// The pager for long tables.
    pub(crate) pager: Option<Pager>,
}

/// The output streams of a command.
#[derive(Debug)]
pub(crate) struct Out {
    /// The properties of the streams.
    pub(crate) terminal: Terminal,
    /// The output format.
    pub(crate) form: Form,
    fields: Vec<String>,
    jq: Option<Jq>,
    columns: Vec<String>,
    /// Whether the command has asked for its columns.
    has_columns: Cell<bool>,
    /// Whether notes are suppressed.
    pub(crate) quiet: bool,
    /// Whether notes, warnings and errors are JSON: only if JSON was requested explicitly. With only a filter, errors stay text.
    pub(crate) messages_are_json: bool,
    pager: Option<Pager>,
}

impl Out {
    /// Applies the options; an invalid jq expression is rejected here, before anything is sent.
    pub(crate) fn new(terminal: Terminal, options: OutputOptions) -> Result<Self, Fail> {
        let jq = options
            .jq
            .as_deref()
            .map(|expression| Jq::compile(expression).map_err(|found| invalid_jq(expression, found)));
        let form = match options.form {
            Form::Human | Form::Tsv if options.jq.is_some() || !options.fields.is_empty() => Form::Json,
            form => form,
        };
        if options.tsv_by_flag && (jq.is_some() || options.json_by_flag) {
            let other = if jq.is_some() { "--jq" } else { "--json" };
            let rule = format!("tsv and {other} can't be used together: {other} prints JSON");
            return Err(Fail::usage("exclusive", rule, Some(Origin::flag("--output", "tsv")))
                .hint("choose columns with --columns NAMES"));
        }
        if let Some(first) = options.columns.first()
            && matches!(form, Form::Json | Form::Ndjson)
        {
            let rule = "--columns applies to tables, but the output is JSON";
            return Err(Fail::usage("exclusive", rule, Some(Origin::flag("--columns", first)))
                .hint("choose fields with --json=FIELDS"));
        }
        let messages_are_json = matches!(options.form, Form::Json | Form::Ndjson);
        let OutputOptions { fields, columns, quiet, pager, .. } = options;
        let pager = pager.filter(|_| std::io::stdout().is_terminal());
        let (jq, has_columns) = (jq.transpose()?, Cell::default());
        Ok(Self { terminal, form, fields, jq, columns, has_columns, quiet, messages_are_json, pager })
    }

    /// Whether results are JSON.
    pub(crate) fn is_json(&self) -> bool {
        matches!(self.form, Form::Json | Form::Ndjson)
    }

    /// Whether `--jq` or fields select a part of each result.
    pub(crate) fn filters(&self) -> bool {
        self.jq.is_some() || !self.fields.is_empty()
    }

    /// Whether items can be written before all have arrived: always except for a JSON document and an aligned table.
    pub(crate) fn streams(&self) -> bool {
        match self.form {
            Form::Json => false,
            Form::Ndjson | Form::Tsv => true,
            Form::Human => !self.terminal.stdout,
        }
    }

    /// The requested columns, or all; fails on an unknown name.
    pub(crate) fn columns(&self, all: &[Column]) -> Result<Columns, Fail> {
        self.has_columns.set(true);
        if self.columns.is_empty() {
            return Ok(Columns::new(all));
        }
        Columns::select(all, &self.columns).map_err(|name| {
            let known: Vec<_> = all.iter().map(|column| column.name).collect();
            let rule = format!("unknown column `{name}`; the columns are: {}", known.join(", "));
            let hint = keys::suggestion_hint(name, known);
            let value = self.columns.join(",");
            let start = value.find(name).unwrap_or(0);
            let origin = Origin::flag_part("--columns", 1, &value, start..start + name.len());
            vec![Diagnostic { hint, ..Diagnostic::new("unknown", rule, Some(origin)) }].into()
        })
    }

    /// Warns if columns were requested of a command that prints no table.
    pub(crate) fn warn_about_columns(&self) {
        if !self.columns.is_empty() && !self.has_columns.get() {
            self.warn("--columns has no effect: the output isn't a table; choose fields with --json=FIELDS");
        }
    }

    /// Prints a list in the service's form: `{"object":"list","data":[…],"has_more":…}`.
    pub(crate) fn list(&self, envelope: &Value, columns: &Columns) -> Result<(), Fail> {
        let rows = envelope.get("data").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        match self.form {
            Form::Json => self.document(envelope),
            Form::Human if self.terminal.stdout => {
                if rows.is_empty() {
                    return Ok(());
                }
                let Terminal { width, color_stdout, .. } = self.terminal;
                let table = columns.render(rows, width, Timestamp::now(), color_stdout) + "\n";
                match &self.pager {
                    Some(pager) if pager.show(&table) => Ok(()),
                    _ => self.bytes(table.as_bytes()),
                }
            }
            Form::Human | Form::Tsv | Form::Ndjson => self.rows(rows, columns),
        }
    }

    /// Prints some items of a list, one per line; only if [`streams`](Self::streams).
    pub(crate) fn rows(&self, rows: &[Value], columns: &Columns) -> Result<(), Fail> {
        if self.form == Form::Ndjson {
            if let (Some(first), false) = (rows.first(), self.fields.is_empty())
                && rows.iter().all(|row| json::project(row, &self.fields).1.len() == self.fields.len())
            {
                return Err(unknown_fields(&self.fields, first));
            }
            for row in rows {
                self.bytes(self.format_document(row, false, false)?.as_bytes())?;
            }
            return Ok(());
        }
        self.lines(rows.iter().map(|row| columns.tsv(row)))
    }

    /// Prints lines of text.
    fn lines(&self, lines: impl Iterator<Item = impl AsRef<str>>) -> Result<(), Fail> {
        let mut text = String::new();
        for line in lines {
            text += &if self.terminal.stdout { safe_lines(line.as_ref()) } else { line.as_ref().into() };
            text.push('\n');
        }
        self.bytes(text.as_bytes())
    }

    /// Prints a result, as lines or JSON.
    pub(crate) fn result(&self, lines: &[String], document: &Value) -> Result<(), Fail> {
        match self.form {
            Form::Json => self.document(document),
            Form::Ndjson => self.print_document(document, false),
            Form::Human | Form::Tsv => self.lines(lines.iter()),
        }
    }

    /// Prints one of many results as it arrives: a line of text or JSON.
    pub(crate) fn item(&self, line: &str, document: &Value) -> Result<(), Fail> {
        self.bytes(self.item_text(line, document)?.as_bytes())
    }

    /// Returns the text for the caller to write.
    pub(crate) fn item_text(&self, line: &str, document: &Value) -> Result<String, Fail> {
        if self.is_json() {
            return self.format_document(document, false, false);
        }
        let line = if self.terminal.stdout { escape_line(line) } else { line.into() };
        Ok(format!("{line}\n"))
    }

    /// Prints a JSON document, with fields selected and filtered as requested.
    pub(crate) fn document(&self, document: &Value) -> Result<(), Fail> {
        self.print_document(document, self.terminal.stdout)
    }

    fn print_document(&self, document: &Value, indented: bool) -> Result<(), Fail> {
        self.bytes(self.format_document(document, indented, true)?.as_bytes())
    }

    /// Formats a JSON document, selected and filtered, with line endings. At least one item must have a selected field.
    fn format_document(&self, document: &Value, indented: bool, is_whole: bool) -> Result<String, Fail> {
        let mut document = std::borrow::Cow::Borrowed(document);
        if !self.fields.is_empty() {
            let (selected, unknown) = json::project(&document, &self.fields);
            if is_whole && unknown.len() == self.fields.len() {
                return Err(unknown_fields(&unknown, &document));
            }
            document = std::borrow::Cow::Owned(selected);
            for field in unknown {
                self.warn(&format!("unknown field `{field}`"));
            }
        }
        let Some(jq) = &self.jq else {
            let mut text = json::text(&document, indented);
            if self.terminal.stdout {
                text = json::escape(&text);
                if self.terminal.color_stdout {
                    text = json::colorize(&text);
                }
            }
            return Ok(text + "\n");
        };
        let lines = jq.run(&document, self.terminal.stdout).map_err(|message| {
            Fail::error(if secret::holds_secret(&document) {
                "the --jq expression failed on this response; the error may quote a secret and isn't shown"
                    .to_owned()
            } else {
                format!("the --jq expression failed on this response: {message}")
            })
            .hint("the request itself succeeded; view the response with `--json`")
        })?;
        Ok(lines.into_iter().fold(String::new(), |text, line| text + line.as_str() + "\n"))
    }

    /// Prints one line on standard output, unchanged.
    pub(crate) fn line(&self, text: &str) -> Result<(), Fail> {
        self.bytes(format!("{text}\n").as_bytes())
    }

    /// Prints bytes from the service or a sender unchanged; on a terminal, with control characters made visible.
    pub(crate) fn print_untrusted(&self, bytes: &[u8]) -> Result<(), Fail> {
        if self.terminal.stdout {
            return write_stdout(safe_lines(&String::from_utf8_lossy(bytes)).as_bytes());
        }
        write_stdout(bytes)
    }

    /// Prints the program's own text on standard output, unchanged.
    #[expect(clippy::unused_self, reason = "part of the output object's interface")]
    pub(crate) fn bytes(&self, bytes: &[u8]) -> Result<(), Fail> {
        write_stdout(bytes)
    }

    /// Prints a note; suppressed by `--quiet`.
    pub(crate) fn note(&self, text: &str) {
        self.note_printer()(text);
    }

    /// Prints a warning; suppressed by `--quiet`.
    pub(crate) fn warn(&self, text: &str) {
        self.warning_printer()(text);
    }

    /// A function that prints notes and may outlive `self`.
    pub(crate) fn note_printer(&self) -> impl Fn(&str) + Send + Sync + use<> {
        self.printer("note", String::new())
    }

    /// A function that prints warnings and may outlive `self`.
    pub(crate) fn warning_printer(&self) -> impl Fn(&str) + Send + Sync + use<> {
        self.printer("warning", color::paint("warning: ", color::WARNING, self.terminal.color_stderr))
    }

    fn printer(&self, kind: &'static str, label: String) -> impl Fn(&str) + Send + Sync + use<> {
        let (quiet, json) = (self.quiet, self.messages_are_json);
        move |text| {
            if quiet {
                return;
            }
            let text = suggestion::complete(text);
            if json {
                return write_stderr_json(&json!({ kind: { "message": text } }));
            }
            let text = text.lines().map(escape_line).collect::<Vec<_>>().join("\n");
            write_stderr(&format!("{label}{text}\n"));
        }
    }

    /// Prints a trace of HTTP messages; shown even with `--quiet` because it was requested explicitly.
    pub(crate) fn trace(&self, lines: &str) {
        self.tracer()(lines);
    }

    /// A function that prints a trace and may outlive `self`.
    pub(crate) fn tracer(&self) -> impl Fn(&str) + Send + Sync + use<> {
        let json = self.messages_are_json;
        move |lines| {
            for line in lines.lines() {
                if json {
                    write_stderr_json(&json!({ "trace": { "message": line } }));
                } else {
                    write_stderr(&format!("{}\n", escape_line(line)));
                }
            }
        }
    }
}

/// Whether standard output was closed when the program started, as with `>&-`: the standard library then opens the null device instead, for
/// reading and writing. Some programs do the same to discard output, so this only triggers a copy of a result that must not be lost.
pub(crate) fn was_stdout_closed() -> bool {
    #[cfg(unix)]
    {
        let stdout = io::stdout();
        let null = || Some(rustix::fs::stat("/dev/null").ok()?.st_rdev);
        let is_null = rustix::fs::fstat(&stdout).is_ok_and(|opened| Some(opened.st_rdev) == null());
        let flags = rustix::fs::fcntl_getfl(&stdout);
        is_null && flags.is_ok_and(|flags| flags & rustix::fs::OFlags::ACCMODE == rustix::fs::OFlags::RDWR)
    }
    #[cfg(not(unix))]
    false
}

/// Waits. Fails once standard output is a pipe that nothing reads any longer, which only the next write would reveal.
pub(crate) async fn sleep_while_read(time: Duration) -> Result<(), Fail> {
    let broken = async {
        while !is_stdout_broken() {
            sleep(CHECK_INTERVAL).await;
        }
    };
    tokio::select! {
        () = sleep(time) => Ok(()),
        () = broken => Err(Fail::BrokenPipe),
    }
}

fn is_stdout_broken() -> bool {
    #[cfg(unix)]
    {
        use rustix::event::{PollFd, PollFlags, poll};
        let stdout = io::stdout();
        let mut polled = [PollFd::new(&stdout, PollFlags::empty())];
        poll(&mut polled, Some(&rustix::time::Timespec::default())).is_ok()
            && polled[0].revents().intersects(PollFlags::ERR | PollFlags::HUP)
    }
    #[cfg(not(unix))]
    false
}

/// Writes bytes to standard output without buffering.
pub(crate) fn write_stdout(bytes: &[u8]) -> Result<(), Fail> {
    // A model reads a tool's result.
    let redacted =
        if literal::is_enabled() { std::str::from_utf8(bytes).ok().map(secret::redact) } else { None };
    let bytes = redacted.as_ref().map_or(bytes, |text| text.as_bytes());
    let mut stdout = io::stdout().lock();
    stdout.write_all(bytes).and_then(|()| stdout.flush()).map_err(write_failure)
}

/// Writes a line of JSON to standard error. Control characters are written as `\u` escapes, which is equivalent JSON.
pub(crate) fn write_stderr_json(line: &Value) {
    write_stderr(&json_line(line));
}

/// Prints a JSON line with a secret that the user asked for to standard error.
pub(crate) fn write_stderr_secret(line: &Value) {
    write_unredacted(&json_line(line));
}

fn json_line(line: &Value) -> String {
    json::escape(&line.to_string()) + "\n"
}

/// Writes text to standard error.
pub(crate) fn write_stderr(text: &str) {
    write_unredacted(&secret::redact(text));
}

fn write_unredacted(text: &str) {
    // If standard error is closed, there is nowhere to report it.
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// None of the requested fields exists, but the request has been sent.
fn unknown_fields(unknown: &[String], document: &Value) -> Fail {
    let item = document.get("data").and_then(|data| data.get(0)).unwrap_or(document);
    let known: Vec<_> = item.as_object().into_iter().flatten().map(|(name, _)| name.as_str()).collect();
    let fields = if unknown.len() == 1 { "field" } else { "fields" };
    let names = unknown.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    Fail::error(format!("unknown {fields} {names}; the fields are: {}", known.join(", ")))
        .hint_if(unknown.first().and_then(|name| keys::suggestion_hint(name, known.iter().copied())))
}

/// A closed pipe isn't an error; a full disk is.
fn write_failure(error: io::Error) -> Fail {
    if error.kind() == io::ErrorKind::BrokenPipe {
        return Fail::BrokenPipe;
    }
    Fail::local("couldn't write to standard output", error)
}

fn invalid_jq(expression: &str, found: Vec<super::jq::Invalid>) -> Fail {
    let found = found.into_iter().map(|invalid| {
        let origin = Origin::flag_part("--jq", 1, expression, invalid.span);
        Diagnostic::new("jq", invalid.message, Some(origin))
    });
    Fail::invalid("invalid --jq expression", found.collect())
}
