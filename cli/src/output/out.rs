//! The two streams: results on standard output, everything said to a person on standard error.
//!
//! Nothing is printed with `println!`, which panics on a full disk. A reader that went away ends the program quietly.

use std::io::{self, IsTerminal as _, Write as _};

use jiff::Timestamp;
use serde_json::{Value, json};

use super::jq::Jq;
use super::pager::Pager;
use super::table::{Column, Columns};
use super::terminal::{Terminal, safe, safe_lines};
use super::{color, json, secret};
use crate::diagnostics::{Fail, Found, Origin, Problem, Report};
use crate::settings::{Form, keys};

/// What the command line said about output.
#[derive(Debug, Clone, Default)]
pub(crate) struct Wishes {
    /// The form of results.
    pub(crate) form: Form,
    /// `--json=FIELDS`.
    pub(crate) fields: Vec<String>,
    /// `--jq`.
    pub(crate) jq: Option<String>,
    /// `--columns`.
    pub(crate) columns: Vec<String>,
    /// `--quiet`.
    pub(crate) quiet: bool,
    /// `--output tsv`, said on this command line.
    pub(crate) tsv_by_flag: bool,
    /// What shows long tables.
    pub(crate) pager: Option<Pager>,
}

/// Where a command writes.
#[derive(Debug)]
pub(crate) struct Out {
    /// The streams' facts.
    pub(crate) terminal: Terminal,
    form: Form,
    fields: Vec<String>,
    jq: Option<Jq>,
    columns: Vec<String>,
    quiet: bool,
    says_json: bool,
    pager: Option<Pager>,
}

impl Out {
    /// Reads the wishes; an expression that is no filter is refused here, before anything is sent.
    pub(crate) fn new(terminal: Terminal, wishes: Wishes) -> Result<Self, Fail> {
        let jq = wishes
            .jq
            .as_deref()
            .map(|expression| Jq::compile(expression).map_err(|found| invalid_jq(expression, found)));
        let form = match wishes.form {
            Form::Human | Form::Tsv if wishes.jq.is_some() || !wishes.fields.is_empty() => Form::Json,
            form => form,
        };
        if wishes.tsv_by_flag && (jq.is_some() || !wishes.fields.is_empty()) {
            let other = if jq.is_some() { "--jq" } else { "--json" };
            let origin =
                Origin::Flag { name: "--output".to_owned(), n: 1, value: "tsv".to_owned(), span: None };
            let rule = format!("tsv and {other} exclude each other: {other} makes JSON");
            let report = Report::one(Problem::new("", "exclusive", rule), Some(origin));
            return Err(Fail::Usage(Report {
                help: Some("choose columns with --columns NAMES".to_owned()),
                ..report
            }));
        }
        let says_json = matches!(wishes.form, Form::Json | Form::Ndjson);
        let Wishes { fields, columns, quiet, pager, .. } = wishes;
        let pager = pager.filter(|_| std::io::stdout().is_terminal());
        Ok(Self { terminal, form, fields, jq: jq.transpose()?, columns, quiet, says_json, pager })
    }

    /// Whether results are JSON.
    pub(crate) fn is_json(&self) -> bool {
        matches!(self.form, Form::Json | Form::Ndjson)
    }

    /// Whether only a part of each result was asked for, by `--jq` or by fields.
    pub(crate) fn filters(&self) -> bool {
        self.jq.is_some() || !self.fields.is_empty()
    }

    /// Whether notes, warnings and errors are JSON: where JSON was asked for by name. A filter alone asks for a result in
    /// another form, and who types one wants to read what is wrong with it.
    pub(crate) fn says_json(&self) -> bool {
        self.says_json
    }

    /// How results are written.
    pub(crate) fn form(&self) -> Form {
        self.form
    }

    /// Whether notes are unwanted.
    pub(crate) fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Whether items can be written while more are on their way: everything but one JSON document and an aligned table.
    pub(crate) fn streams(&self) -> bool {
        match self.form {
            Form::Json => false,
            Form::Ndjson | Form::Tsv => true,
            Form::Human => !self.terminal.stdout,
        }
    }

    /// The columns that were asked for, or all; a name that is none of them is refused.
    pub(crate) fn columns(&self, all: &[Column]) -> Result<Columns, Fail> {
        if self.columns.is_empty() {
            return Ok(Columns::all(all));
        }
        Columns::named(all, &self.columns).map_err(|name| {
            let known: Vec<_> = all.iter().map(|column| column.name).collect();
            let rule = format!("there is no column `{name}`; there are: {}", known.join(", "));
            let hint = keys::nearest(name, known).map(|meant| format!("did you mean `{meant}`?"));
            let value = self.columns.join(",");
            let start = value.find(name).unwrap_or(0);
            let span = Some(start..start + name.len());
            let origin = Some(Origin::Flag { name: "--columns".to_owned(), n: 1, value, span });
            Fail::Usage(Report {
                found: vec![Found { problem: Problem::new("", "unknown", rule), origin, hint }],
                ..Report::default()
            })
        })
    }

    /// A list as the service sent it: `{"object":"list","data":[…],"has_more":…}`.
    pub(crate) fn list(&self, envelope: &Value, columns: &Columns) -> Result<(), Fail> {
        let rows = envelope.get("data").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        match self.form {
            Form::Json => self.document(envelope),
            Form::Human if self.terminal.stdout => {
                if rows.is_empty() {
                    return Ok(());
                }
                let Terminal { width, color_stdout, .. } = self.terminal;
                let table = columns.human(rows, width, Timestamp::now(), color_stdout) + "\n";
                match &self.pager {
                    Some(pager) if pager.show(&table) => Ok(()),
                    _ => self.bytes(table.as_bytes()),
                }
            }
            Form::Human | Form::Tsv | Form::Ndjson => self.rows(rows, columns),
        }
    }

    /// Some items of a list, a line each; only where [`streams`](Self::streams) says so.
    pub(crate) fn rows(&self, rows: &[Value], columns: &Columns) -> Result<(), Fail> {
        if self.form == Form::Ndjson {
            for row in rows {
                self.document_in(row, false)?;
            }
            return Ok(());
        }
        let mut text = String::new();
        for row in rows {
            let line = columns.tsv(row);
            text += &if self.terminal.stdout { safe_lines(&line) } else { line.into() };
            text.push('\n');
        }
        self.bytes(text.as_bytes())
    }

    /// A result that people see as lines of text and programs as JSON.
    pub(crate) fn result(&self, lines: &[String], document: &Value) -> Result<(), Fail> {
        match self.form {
            Form::Json => self.document(document),
            Form::Ndjson => self.document_in(document, false),
            Form::Human | Form::Tsv => {
                let mut text = String::new();
                for line in lines {
                    text += &if self.terminal.stdout { safe_lines(line) } else { line.as_str().into() };
                    text.push('\n');
                }
                self.bytes(text.as_bytes())
            }
        }
    }

    /// One of many results that come as they happen: a line for people, a line of JSON for programs.
    pub(crate) fn item(&self, line: &str, document: &Value) -> Result<(), Fail> {
        self.bytes(self.item_text(line, document)?.as_bytes())
    }

    /// The same, for somebody who writes it himself.
    pub(crate) fn item_text(&self, line: &str, document: &Value) -> Result<String, Fail> {
        if self.is_json() {
            return self.text_of(document, false);
        }
        let line = if self.terminal.stdout { safe(line) } else { line.into() };
        Ok(format!("{line}\n"))
    }

    /// A JSON document, projected and filtered as was wished.
    pub(crate) fn document(&self, document: &Value) -> Result<(), Fail> {
        self.document_in(document, self.terminal.stdout)
    }

    fn document_in(&self, document: &Value, indented: bool) -> Result<(), Fail> {
        self.bytes(self.text_of(document, indented)?.as_bytes())
    }

    /// A JSON document, projected and filtered, with its line ends.
    fn text_of(&self, document: &Value, indented: bool) -> Result<String, Fail> {
        let mut document = std::borrow::Cow::Borrowed(document);
        if !self.fields.is_empty() {
            let (kept, unknown) = json::project(&document, &self.fields);
            document = std::borrow::Cow::Owned(kept);
            for field in unknown {
                self.warn(&format!("there is no field `{field}`"));
            }
        }
        let Some(jq) = &self.jq else {
            let mut text = json::text(&document, indented);
            if self.terminal.stdout {
                text = json::escape(&text);
                if self.terminal.color_stdout {
                    text = json::color(&text);
                }
            }
            return Ok(text + "\n");
        };
        let lines = jq.run(&document, self.terminal.stdout).map_err(|message| Fail::Local {
            message: if secret::holds_secret(&document) {
                "the --jq expression failed on this answer; the reason may quote a secret and is not shown"
                    .to_owned()
            } else {
                format!("the --jq expression failed on this answer: {message}")
            },
            source: None,
            hint: Some("the request itself succeeded; look at the answer with `--json`".to_owned()),
        })?;
        Ok(lines.into_iter().fold(String::new(), |text, line| text + line.as_str() + "\n"))
    }

    /// One line on standard output, as it is.
    pub(crate) fn line(&self, text: &str) -> Result<(), Fail> {
        self.bytes(format!("{text}\n").as_bytes())
    }

    /// What the service or a sender wrote, as it is; on a terminal with what that would obey made visible.
    pub(crate) fn foreign(&self, bytes: &[u8]) -> Result<(), Fail> {
        if self.terminal.stdout {
            return write_stdout(safe_lines(&String::from_utf8_lossy(bytes)).as_bytes());
        }
        write_stdout(bytes)
    }

    /// Text of the program's own on standard output, as it is.
    #[expect(
        clippy::unused_self,
        reason = "where a command writes is an object, whatever it needs to know today"
    )]
    pub(crate) fn bytes(&self, bytes: &[u8]) -> Result<(), Fail> {
        write_stdout(bytes)
    }

    /// Something that helps a person and that no program needs; silent with `--quiet`.
    pub(crate) fn note(&self, text: &str) {
        if !self.quiet {
            self.say("note", text, None);
        }
    }

    /// Says notes for somebody who lives longer than this: a listener of the client.
    pub(crate) fn noter(&self) -> impl Fn(&str) + Send + Sync + use<> {
        let (quiet, json) = (self.quiet, self.says_json);
        move |text| {
            if quiet {
                return;
            }
            if json {
                return write_stderr_json(&json!({ "note": { "message": text } }));
            }
            write_stderr(&format!("{}\n", safe(text)));
        }
    }

    /// Says warnings for somebody who lives longer than this.
    pub(crate) fn warner(&self) -> impl Fn(&str) + Send + Sync + use<> {
        let (quiet, json, color) = (self.quiet, self.says_json, self.terminal.color_stderr);
        move |text| {
            if quiet {
                return;
            }
            if json {
                return write_stderr_json(&json!({ "warning": { "message": text } }));
            }
            write_stderr(&format!("{}{}\n", color::paint("warning: ", color::DOUBTFUL, color), safe(text)));
        }
    }

    /// What went over the wire, line by line; it was asked for, so not even `--quiet` keeps it back.
    pub(crate) fn trace(&self, lines: &str) {
        for line in lines.lines() {
            if self.says_json() {
                write_stderr_json(&json!({ "trace": { "message": line } }));
            } else {
                write_stderr(&format!("{}\n", safe(line)));
            }
        }
    }

    /// Something that may be a mistake.
    pub(crate) fn warn(&self, text: &str) {
        if !self.quiet {
            self.say("warning", text, Some("warning: "));
        }
    }

    fn say(&self, kind: &str, text: &str, label: Option<&str>) {
        if self.says_json {
            return write_stderr_json(&json!({ kind: { "message": text } }));
        }
        let label = label.map(|label| color::paint(label, color::DOUBTFUL, self.terminal.color_stderr));
        let text = text.lines().map(safe).collect::<Vec<_>>().join("\n");
        write_stderr(&format!("{}{text}\n", label.unwrap_or_default()));
    }
}

/// Bytes on standard output, at once.
pub(crate) fn write_stdout(bytes: &[u8]) -> Result<(), Fail> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(bytes).and_then(|()| stdout.flush()).map_err(lost)
}

/// A line of JSON on standard error. What a terminal would obey is written as `\u` escapes, which is the same JSON.
pub(crate) fn write_stderr_json(line: &Value) {
    write_stderr(&(json::escape(&line.to_string()) + "\n"));
}

/// Text on standard error.
pub(crate) fn write_stderr(text: &str) {
    // There is nobody left to tell that standard error is gone.
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// A reader that went away is no failure; a full disk is.
fn lost(error: io::Error) -> Fail {
    if error.kind() == io::ErrorKind::BrokenPipe {
        return Fail::BrokenPipe;
    }
    Fail::Local {
        message: "standard output cannot be written".to_owned(),
        source: Some(Box::new(error)),
        hint: None,
    }
}

fn invalid_jq(expression: &str, found: Vec<super::jq::Invalid>) -> Fail {
    let found = found.into_iter().map(|invalid| Found {
        problem: Problem::new("", "jq", invalid.message),
        origin: Some(Origin::Flag {
            name: "--jq".to_owned(),
            n: 1,
            value: expression.to_owned(),
            span: Some(invalid.span),
        }),
        hint: None,
    });
    Fail::Usage(Report {
        summary: Some("the --jq expression is not valid".to_owned()),
        found: found.collect(),
        ..Report::default()
    })
}
