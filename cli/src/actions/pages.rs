//! `--limit`, `--all`, `--after`, `--before`: one page or several, shown as one result.

use clap::Arg;
use futures_util::TryStreamExt as _;
use idempost::{Client, List, page::Item};
use serde::de::{Deserialize, Deserializer, Error as _};
use serde_json::{Value, json};

use crate::actions::trace;
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::flags::Flags;
use crate::output::table::{Column, Columns, text_at};
use crate::output::terminal::escape_line;
use crate::settings::Form;

/// Maximum items per page.
const PAGE: usize = 100;
/// Items per page without a limit.
const DEFAULT_PAGE: usize = 20;
/// How many pages a filter searches without `--all`.
const MAX_FILTERED: usize = 20;

// The paging flags. No doc comment: it would replace the command's.
#[derive(Debug, Clone, clap::Args)]
#[group(skip)]
pub(crate) struct Args {
    #[command(flatten)]
    older: OlderArgs,
    /// Only items before this ID: newer ones
    #[arg(long, value_name = "ID")]
    before: Option<String>,
}

// The paging flags of a list that only pages toward older items.
#[derive(Debug, Clone, clap::Args)]
#[group(skip)]
pub(crate) struct OlderArgs {
    /// Maximum number of items; above 100, several pages are fetched [default: 20]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    limit: Option<String>,
    /// All items, over all pages
    #[arg(long)]
    all: bool,
    /// Only items after this ID: older ones
    #[arg(long, value_name = "ID")]
    after: Option<String>,
}

/// Describes `--limit` of a list that the service returns completely.
pub(crate) fn complete(limit: Arg) -> Arg {
    limit.help("Maximum number of items; above 100, several pages are fetched [default: all]")
}

impl From<OlderArgs> for Args {
    fn from(older: OlderArgs) -> Self {
        Self { older, before: None }
    }
}

/// A validated part of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ListRange {
    /// Number of items; `None` for the service's default page.
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
    /// Validates the flags and reports all problems.
    pub(crate) fn plan(self, flags: &mut Flags) -> ListRange {
        let Self { older: OlderArgs { limit: text, all, after }, before } = self;
        let limit = text.as_deref().and_then(|text| flags.parse_positive("--limit", text));
        if let (Some(text), true) = (&text, all) {
            flags.reject("exclusive", "--limit and --all can't be used together", "--limit", text);
        }
        if let (Some(_), Some(before)) = (&after, &before) {
            flags.reject("exclusive", "--after and --before can't be used together", "--before", before);
        }
        for (flag, id) in [("--after", &after), ("--before", &before)] {
            if id.as_deref() == Some("") {
                flags.reject("empty", format!("{flag} must not be empty"), flag, "");
            }
        }
        let start = after.map(Start::After).or(before.map(Start::Before));
        ListRange { limit, all, start }
    }
}

/// A filter's verdict on an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Match {
    Yes,
    No,
    /// Neither this item matches nor any older one.
    TooOld,
}

/// Selects items of a list that the service can't filter.
pub(crate) type Filter<'a> = &'a dyn Fn(&Value) -> Match;

/// The part of a list that was shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Shown {
    /// Number of items.
    pub(crate) items: usize,
    /// The flags for the next part: `--after 7be1…`.
    pub(crate) next: Option<String>,
}

/// Fetches and prints the part. With a filter, only matching items count, and at most 20 full pages are read without `--all`.
pub(crate) async fn show(
    list: List<Value>,
    part: &ListRange,
    filter: Option<Filter<'_>>,
    columns: &Columns,
    context: &Context,
) -> Result<Shown, Fail> {
    let list = match &part.start {
        Some(Start::After(id)) => list.after(id),
        Some(Start::Before(id)) => list.before(id),
        None => list,
    };
    let single = !part.all && filter.is_none() && part.limit.is_none_or(|limit| limit <= PAGE);
    if single {
        let limit = part.limit.and_then(|limit| u8::try_from(limit).ok());
        let list = limit.into_iter().fold(list, List::page_size);
        let Envelope(envelope) = trace::execute(context, || list.call().with_response_type()).await?.value;
        context.out.list(&envelope, columns)?;
        let data = envelope.get("data").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let more = has_more(&envelope, part.limit.unwrap_or(DEFAULT_PAGE));
        return Ok(Shown { items: data.len(), next: part.next_page_hint(data, more) });
    }
    fetch_pages(list, part, filter, columns, context).await
}

/// A page as the service sent it. Anything else isn't a list, and must not pass for an empty one.
struct Envelope(Value);

impl<'de> Deserialize<'de> for Envelope {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let page = Value::deserialize(deserializer)?;
        if page.get("data").is_some_and(Value::is_array) {
            return Ok(Self(page));
        }
        Err(D::Error::custom("a list has an array `data`"))
    }
}

/// Whether more items follow a page. Without `has_more`, assume that more items follow a full page.
pub(crate) fn has_more(page: &Value, limit: usize) -> bool {
    let items = page.get("data").and_then(Value::as_array).map_or(0, Vec::len);
    page.get("has_more").and_then(Value::as_bool).unwrap_or(items == limit)
}

async fn fetch_pages(
    list: List<Value>,
    part: &ListRange,
    filter: Option<Filter<'_>>,
    columns: &Columns,
    context: &Context,
) -> Result<Shown, Fail> {
    // With a filter and no limit, as many items as the service's default page.
    let wanted = if part.all { usize::MAX } else { part.limit.unwrap_or(DEFAULT_PAGE) };
    let newer = matches!(part.start, Some(Start::Before(_)));
    let streams = context.out.streams();
    let mut telling = trace::Pages::begin(context, &list);
    let mut pages = list.pages();
    let (mut merged, mut seen, mut count, mut more) = (Vec::new(), Vec::new(), 0, false);
    let (mut read, mut left) = (0, if part.all || filter.is_none() { usize::MAX } else { MAX_FILTERED });
    while let Some(page) = pages.try_next().await? {
        telling.page(page.data.len(), page.has_more);
        let mut has_more = page.has_more;
        let mut rows = page.data;
        if newer {
            // Reads toward newer items, so the oldest of a page come first.
            rows.reverse();
        }
        let mut cut = false;
        let mut matching = Vec::new();
        for row in rows {
            if count == wanted {
                cut = true;
                break;
            }
            seen = vec![row.clone()];
            read += 1;
            match filter.map_or(Match::Yes, |filter| filter(&row)) {
                Match::Yes => {
                    count += 1;
                    matching.push(row);
                }
                Match::TooOld if !newer => {
                    has_more = false;
                    break;
                }
                Match::No | Match::TooOld => {}
            }
        }
        if streams {
            context.out.rows(&matching, columns)?;
        } else {
            merged.extend(matching);
        }
        more = cut || has_more;
        left -= 1;
        if count == wanted || !has_more {
            break;
        }
        if left == 0 {
            context.out.note(&format!("only {read} items were searched; to search all: --all"));
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
    Ok(Shown { items: count, next: part.next_page_hint(&seen, more) })
}

impl ListRange {
    /// The message for no items; `whole` if the part isn't limited by an ID.
    pub(crate) fn nothing(&self, whole: &'static str) -> &'static str {
        match self.start {
            Some(Start::After(_)) => "no older items",
            Some(Start::Before(_)) => "no newer items",
            None => whole,
        }
    }

    fn next_page_hint(&self, data: &[Value], more: bool) -> Option<String> {
        if !more {
            return None;
        }
        let newer = matches!(self.start, Some(Start::Before(_)));
        let edge = if newer { data.first() } else { data.last() };
        let id = edge?.get("id")?.as_str()?;
        Some(format!("{} {id}", if newer { "--before" } else { "--after" }))
    }
}

/// The columns of a list command, and the message for an empty list.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Table {
    pub(crate) columns: &'static [Column],
    /// The message for an empty list: `no templates yet`.
    pub(crate) nothing: &'static str,
}

/// Runs a list command that has only the paging flags.
pub(crate) async fn list<T: Item>(
    args: impl Into<Args>,
    table: &Table,
    context: &Context,
    make: impl FnOnce(&Client) -> List<T>,
) -> Result<(), Fail> {
    let columns = table.columns(context)?;
    let mut flags = Flags::default();
    let part = args.into().plan(&mut flags);
    flags.finish()?;
    let shown = show(make(&context.client()?).as_json(), &part, None, &columns, context).await?;
    print_footer(&shown, part.nothing(table.nothing), context);
    Ok(())
}

/// Prints one item of a followed list: at a terminal, as a line of these fields.
pub(crate) fn print_item(
    row: &Value,
    columns: &Columns,
    fields: &[&str],
    context: &Context,
) -> Result<(), Fail> {
    let out = &context.out;
    match out.form {
        Form::Json => out.document(row),
        Form::Human if out.terminal.stdout && context.global.columns.is_empty() => {
            let line: Vec<_> =
                fields.iter().map(|field| escape_line(&text_at(row, field)).into_owned()).collect();
            out.result(&[line.join("  ")], row)
        }
        _ => out.rows(std::slice::from_ref(row), columns),
    }
}

impl Table {
    pub(crate) const fn new(columns: &'static [Column]) -> Self {
        Self { columns, nothing: "" }
    }

    /// Sets the message for an empty list.
    pub(crate) const fn nothing(self, message: &'static str) -> Self {
        Self { nothing: message, ..self }
    }

    /// The requested columns, or the default ones.
    pub(crate) fn columns(&self, context: &Context) -> Result<Columns, Fail> {
        self.columns_with(None, context)
    }

    /// Prints a complete list, or the message for an empty one.
    pub(crate) fn print(&self, list: &Value, columns: &Columns, context: &Context) -> Result<(), Fail> {
        context.out.list(list, columns)?;
        let items = list["data"].as_array().map_or(0, Vec::len);
        print_footer(&Shown { items, next: None }, self.nothing, context);
        Ok(())
    }

    /// Like [`columns`](Self::columns), with an optional column that a flag makes a default one.
    pub(crate) fn columns_with(&self, also: Option<&str>, context: &Context) -> Result<Columns, Fail> {
        let is_asked = !context.global.columns.is_empty();
        let is_shown = |column: &&Column| is_asked || !column.is_optional || also == Some(column.name);
        context.out.columns(&self.columns.iter().filter(is_shown).copied().collect::<Vec<_>>())
    }
}

/// Prints a note about items that aren't shown.
pub(crate) fn print_footer(shown: &Shown, nothing: &str, context: &Context) {
    if context.out.is_json() {
        return;
    }
    match (&shown.next, shown.items) {
        (Some(next), items) => {
            context.out.note(&format!("{items} shown, more available · next: {next} · all: --all"));
        }
        (None, 0) => context.out.note(nothing),
        (None, _) => {}
    }
}
