//! `--limit`, `--all`, `--after`, `--before`: one page, or page after page, as one result.

use futures_util::TryStreamExt as _;
use posthaste::{Client, List, page::Item};
use serde_json::{Value, json};

use crate::actions::trace;
use crate::context::Context;
use crate::diagnostics::{Fail, Found, Problem, Report};
use crate::input::draft::flag_origin;
use crate::output::table::{Column, Columns, at};
use crate::output::terminal::safe;
use crate::settings::Form;

/// The most items of one page.
const PAGE: usize = 100;

// Which part of a list; no doc comment, which would take the place of a command's own.
#[derive(Debug, Clone, clap::Args)]
#[group(skip)]
pub(crate) struct Args {
    #[command(flatten)]
    older: OlderArgs,
    /// Only what precedes this one: newer
    #[arg(long, value_name = "ID")]
    before: Option<String>,
}

// Which part of a list that knows no newer items.
#[derive(Debug, Clone, clap::Args)]
#[group(skip)]
pub(crate) struct OlderArgs {
    /// How many; above 100 several pages are asked for [default: 20]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    limit: Option<String>,
    /// Everything, page after page
    #[arg(long)]
    all: bool,
    /// Only what follows this one: older
    #[arg(long, value_name = "ID")]
    after: Option<String>,
}

impl From<OlderArgs> for Args {
    fn from(older: OlderArgs) -> Self {
        Self { older, before: None }
    }
}

/// A part of a list that makes sense.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Part {
    /// How many items; none is the service's own idea of a page.
    limit: Option<usize>,
    all: bool,
    start: Option<Start>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Start {
    After(String),
    Before(String),
}

impl Args {
    /// Everything that is wrong is said at once.
    pub(crate) fn plan(self) -> Result<Part, Report> {
        let Self { older: OlderArgs { limit, all, after }, before } = self;
        let mut found = Vec::new();
        let mut wrong = |code, rule: &str, flag: &str, value: &str| {
            let origin = Some(flag_origin(flag, 1, value));
            found.push(Found { problem: Problem::new("", code, rule), origin, hint: None });
        };
        let number = limit.as_deref().and_then(|text| {
            let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            let number = text.parse().ok().filter(|&number: &usize| digits && number > 0);
            if number.is_none() {
                wrong("range", "--limit is a whole number above 0", "--limit", text);
            }
            number
        });
        if let (Some(text), true) = (&limit, all) {
            wrong("exclusive", "--limit and --all exclude each other", "--limit", text);
        }
        if let (Some(_), Some(before)) = (&after, &before) {
            wrong("exclusive", "--after and --before exclude each other", "--before", before);
        }
        for (flag, id) in [("--after", &after), ("--before", &before)] {
            if id.as_deref() == Some("") {
                wrong("empty", &format!("{flag} is the id of an item"), flag, "");
            }
        }
        if !found.is_empty() {
            return Err(Report { found, ..Report::default() });
        }
        let start = after.map(Start::After).or(before.map(Start::Before));
        Ok(Part { limit: number, all, start })
    }
}

/// What was shown of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Shown {
    /// How many items.
    pub(crate) items: usize,
    /// What goes on behind them, as flags: `--after 7be1…`.
    pub(crate) next: Option<String>,
}

/// Asks for the part and writes it. With `keep`, only such items count.
pub(crate) async fn show<T: Item>(
    list: List<T>,
    part: &Part,
    keep: Option<&dyn Fn(&Value) -> bool>,
    columns: &Columns,
    context: &Context,
) -> Result<Shown, Fail> {
    let list = match &part.start {
        Some(Start::After(id)) => list.after(id),
        Some(Start::Before(id)) => list.before(id),
        None => list,
    };
    let single = !part.all && keep.is_none() && part.limit.is_none_or(|limit| limit <= PAGE);
    if single {
        let list = match part.limit.and_then(|limit| u8::try_from(limit).ok()) {
            Some(limit) => list.page_size(limit),
            None => list,
        };
        let envelope = trace::carry_out(context, || list.call().typed::<Value>()).await?.value;
        context.out.list(&envelope, columns)?;
        let data = envelope.get("data").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let more = envelope.get("has_more").and_then(Value::as_bool).unwrap_or_default();
        return Ok(Shown { items: data.len(), next: part.next(data, more) });
    }
    walk(list.as_json(), part, keep, columns, context).await
}

async fn walk(
    list: List<Value>,
    part: &Part,
    keep: Option<&dyn Fn(&Value) -> bool>,
    columns: &Columns,
    context: &Context,
) -> Result<Shown, Fail> {
    // With a filter and no limit, as many as the service would show on a page of its own.
    let wanted = if part.all { usize::MAX } else { part.limit.unwrap_or(20) };
    let newer = matches!(part.start, Some(Start::Before(_)));
    let streams = context.out.streams();
    let mut telling = trace::Pages::begin(context, &list);
    let mut pages = list.pages();
    let (mut merged, mut seen, mut count, mut more) = (Vec::new(), Vec::new(), 0, false);
    while let Some(page) = pages.try_next().await? {
        telling.page(page.data.len(), page.has_more);
        let has_more = page.has_more;
        let mut rows = page.data;
        if newer {
            // The walk goes towards newer items, so the oldest of a page come first.
            rows.reverse();
        }
        let mut cut = false;
        let mut kept = Vec::new();
        for row in rows {
            if count == wanted {
                cut = true;
                break;
            }
            seen = vec![row.clone()];
            if keep.is_none_or(|keep| keep(&row)) {
                count += 1;
                kept.push(row);
            }
        }
        if streams {
            context.out.rows(&kept, columns)?;
        } else {
            merged.extend(kept);
        }
        more = cut || has_more;
        if count == wanted {
            break;
        }
    }
    if !streams {
        if newer {
            merged.reverse();
        }
        let envelope = json!({"object": "list", "data": merged, "has_more": more});
        context.out.list(&envelope, columns)?;
    }
    Ok(Shown { items: count, next: part.next(&seen, more) })
}

impl Part {
    fn next(&self, data: &[Value], more: bool) -> Option<String> {
        if !more {
            return None;
        }
        let newer = matches!(self.start, Some(Start::Before(_)));
        let edge = if newer { data.first() } else { data.last() };
        let id = edge?.get("id")?.as_str()?;
        Some(format!("{} {id}", if newer { "--before" } else { "--after" }))
    }
}

/// What a list command shows: the columns that it has, how many of them by itself, and what to say when there is nothing.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Table {
    /// All columns; the first ones are shown by themselves.
    pub(crate) columns: &'static [Column],
    /// How many are shown by themselves.
    pub(crate) shown: usize,
    /// `no templates yet`.
    pub(crate) nothing: &'static str,
}

/// A whole list command that has no flags but those of paging.
pub(crate) async fn list<T: Item>(
    args: Args,
    table: &Table,
    context: &Context,
    make: impl FnOnce(&Client) -> List<T>,
) -> Result<(), Fail> {
    let columns = table.columns(context)?;
    let part = args.plan()?;
    let shown = show(make(&context.client()?), &part, None, &columns, context).await?;
    footer(&shown, table.nothing, context);
    Ok(())
}

/// One item of a list that is followed: at a terminal a line of these fields.
pub(crate) fn item(row: &Value, columns: &Columns, fields: &[&str], context: &Context) -> Result<(), Fail> {
    let out = &context.out;
    match out.form() {
        Form::Json => out.document(row),
        Form::Human if out.terminal.stdout && context.global.columns.is_empty() => {
            let line: Vec<_> = fields.iter().map(|field| safe(&at(row, field)).into_owned()).collect();
            out.result(&[line.join("  ")], row)
        }
        _ => out.rows(std::slice::from_ref(row), columns),
    }
}

impl Table {
    /// The columns that were asked for, or those that are shown by themselves.
    pub(crate) fn columns(&self, context: &Context) -> Result<Columns, Fail> {
        let by_themselves = context.global.columns.is_empty();
        context.out.columns(if by_themselves { &self.columns[..self.shown] } else { self.columns })
    }
}

/// Says below a list what it doesn't show.
pub(crate) fn footer(shown: &Shown, nothing: &str, context: &Context) {
    if context.out.is_json() {
        return;
    }
    match (&shown.next, shown.items) {
        (Some(next), items) => {
            context.out.note(&format!("{items} shown, more exist · next: {next} · everything: --all"));
        }
        (None, 0) => context.out.note(nothing),
        (None, _) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(limit: Option<&str>, all: bool, after: Option<&str>, before: Option<&str>) -> Args {
        let text = |text: Option<&str>| text.map(str::to_owned);
        let older = OlderArgs { limit: text(limit), all, after: text(after) };
        Args { older, before: text(before) }
    }

    #[test]
    fn a_limit_is_a_whole_number_above_zero() {
        // 5.1.31
        for wrong in ["0", "-1", "5abc", "1e2", "+5", "", " 5", "1.5", "99999999999999999999999"] {
            let report = args(Some(wrong), false, None, None).plan().unwrap_err();
            assert_eq!(report.found[0].problem.code, "range", "{wrong}");
        }
        for right in ["1", "100", "101", "250"] {
            assert_eq!(args(Some(right), false, None, None).plan().unwrap().limit, right.parse().ok());
        }
    }

    #[test]
    fn both_cursors_are_refused_and_everything_wrong_is_said_at_once() {
        // LIST-09, 5.1.32
        let report = args(Some("0"), true, Some("a"), Some("b")).plan().unwrap_err();
        let codes: Vec<_> = report.found.iter().map(|found| found.problem.code).collect();
        assert_eq!(codes, ["range", "exclusive", "exclusive"]);
        assert_eq!(report.found[2].problem.message, "--after and --before exclude each other");
    }
}
