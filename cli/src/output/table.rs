//! Lists for terminals (aligned, fitted to the width) and pipes (tab-separated, complete).
//!
//! Implemented here because it is small and differs from table crates in three ways: one line per row, one designated column that
//! shrinks first, and colors applied after the widths are known.

use jiff::Timestamp;
use serde_json::Value;
use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

use super::terminal::escape_line;
use super::{color, time};

/// The space between two columns.
const GAP: &str = "  ";
/// Minimum width of a shortened column.
const MIN_WIDTH: usize = 8;
/// Maximum length of a bar.
const BAR: usize = 24;
/// Wider than any legitimate ID.
const ID_WIDTH: usize = 80;
/// Longer than any legitimate grapheme cluster, in bytes; floods of combining marks are longer.
const CLUSTER_BYTES: usize = 64;

/// A column of a list.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Column {
    /// The name for `--columns`: stable.
    pub(crate) name: &'static str,
    /// The heading on a terminal: not stable.
    pub(crate) header: &'static str,
    /// The format of the cells on a terminal.
    kind: Kind,
    text: Text,
    /// Shown only on request.
    pub(crate) is_optional: bool,
}

/// The source of a cell's text.
#[derive(Debug, Clone, Copy)]
enum Text {
    /// The field with the column's name.
    Field,
    /// The value at a JSON pointer.
    At(&'static str),
    /// Computed from the row.
    Of(fn(&Value) -> String),
}

impl Column {
    /// A column for the field with the same name.
    pub(crate) const fn new(name: &'static str, header: &'static str, kind: Kind) -> Self {
        Self { name, header, kind, text: Text::Field, is_optional: false }
    }

    /// Takes the value at this JSON pointer instead.
    pub(crate) const fn pointer(self, pointer: &'static str) -> Self {
        Self { text: Text::At(pointer), ..self }
    }

    /// Computes the text from the row instead.
    pub(crate) const fn format_with(self, text: fn(&Value) -> String) -> Self {
        Self { text: Text::Of(text), ..self }
    }

    /// Shows the column only on request.
    pub(crate) const fn optional(self) -> Self {
        Self { is_optional: true, ..self }
    }

    /// The same values as bars; for the last column.
    pub(crate) const fn bars(self) -> Self {
        Self { header: "", kind: Kind::Bar, ..self }
    }

    /// The complete text.
    fn text(&self, row: &Value) -> String {
        match self.text {
            Text::Field => row.get(self.name).map(format_value).unwrap_or_default(),
            Text::At(pointer) => text_at(row, pointer),
            Text::Of(text) => text(row),
        }
    }
}

/// The format of a cell on a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Plain text; shortened with `…` only if shortening the `Shrinks` columns isn't enough.
    Text,
    /// Plain text; shortened first on a narrow terminal.
    Shrinks,
    /// Never shortened: a truncated ID couldn't be pasted.
    Id,
    /// A time, relative to now.
    Time,
    /// A state, colored.
    State,
    /// A number as a bar, in proportion to the largest. Doesn't shorten other columns.
    Bar,
}

/// The columns of a list, all or the requested ones.
#[derive(Debug, Clone)]
pub(crate) struct Columns(Vec<Column>);

impl Columns {
    /// The default columns of a command.
    pub(crate) fn new(columns: &[Column]) -> Self {
        Self(columns.to_vec())
    }

    /// The named columns, in this order.
    ///
    /// # Errors
    /// Returns the first unknown name.
    pub(crate) fn select<'a>(columns: &[Column], names: &'a [String]) -> Result<Self, &'a str> {
        names
            .iter()
            .map(|name| columns.iter().find(|column| column.name == name).copied().ok_or(name.as_str()))
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// One row for a pipe: complete IDs, RFC 3339 times, tab-separated, no heading.
    pub(crate) fn tsv(&self, row: &Value) -> String {
        let cells = self.0.iter().map(|column| {
            let text = column.text(row);
            let text = if column.kind == Kind::Time { time::to_rfc3339(&text) } else { text };
            text.replace('\\', "\\\\").replace('\t', "\\t").replace('\n', "\\n").replace('\r', "\\r")
        });
        cells.collect::<Vec<_>>().join("\t")
    }

    /// Heading and rows with nothing shortened: a truncated value couldn't be copied. Without rows, nothing.
    pub(crate) fn lines(&self, rows: &Value) -> Vec<String> {
        /// Wide enough for any DNS record and any readable configuration.
        const WIDTH: usize = 1_000;
        match rows.as_array() {
            Some(rows) if !rows.is_empty() => {
                self.render(rows, WIDTH, Timestamp::now(), false).lines().map(str::to_owned).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Heading and rows for a terminal of this width, one line each.
    pub(crate) fn render(&self, rows: &[Value], width: usize, now: Timestamp, colored: bool) -> String {
        let mut cells: Vec<Vec<String>> = rows
            .iter()
            .map(|row| {
                let cell = |column: &Column| {
                    let text = column.text(row);
                    let text =
                        if column.kind == Kind::Time { time::format_relative(&text, now) } else { text };
                    // An ID is complete even on a narrower terminal.
                    let width = if column.kind == Kind::Id { width.max(ID_WIDTH) } else { width };
                    // Escapes only the visible part, so that a cell of 10 MB costs no more than a line.
                    truncate_to_width(&escape_line(prefix(&text, (width + 1) * CLUSTER_BYTES)), width)
                };
                self.0.iter().map(cell).collect()
            })
            .collect();
        let widths = self.widths(&cells, width);
        self.draw_bars(&mut cells, &widths);
        let heading = self.0.iter().map(|column| column.header.to_owned()).collect::<Vec<_>>();
        let mut text = self.line(&heading, &widths, |_, _| Some(color::HEADING), colored);
        for row in &cells {
            text.push('\n');
            text += &self.line(
                row,
                &widths,
                |column, cell| (column.kind == Kind::State).then(|| color::state_style(cell)).flatten(),
                colored,
            );
        }
        text
    }

    /// The width of each column on a terminal; rightmost columns are dropped if there is no space for them.
    fn widths(&self, cells: &[Vec<String>], terminal: usize) -> Vec<usize> {
        let widest = |(index, column): (usize, &Column)| {
            cells.iter().map(|row| row[index].width()).chain([column.header.width()]).max().unwrap_or(0)
        };
        let mut widths: Vec<usize> = self.0.iter().enumerate().map(widest).collect();
        let over = |widths: &[usize]| {
            (widths.iter().sum::<usize>() + GAP.len() * widths.len().saturating_sub(1))
                .saturating_sub(terminal)
        };
        if self.0.last().is_some_and(|column| column.kind == Kind::Bar) {
            widths.pop();
            let free = terminal.saturating_sub(widths.iter().map(|width| width + GAP.len()).sum());
            if free >= MIN_WIDTH {
                widths.push(free.min(BAR));
            }
        }
        for kind in [Kind::Shrinks, Kind::Text] {
            let wide = |widths: &[usize]| {
                let columns = widths
                    .iter()
                    .enumerate()
                    .filter(|&(index, &width)| self.0[index].kind == kind && width > MIN_WIDTH);
                columns.max_by_key(|&(_, &width)| width).map(|(index, _)| index)
            };
            while over(&widths) > 0
                && let Some(index) = wide(&widths)
            {
                widths[index] -= 1;
            }
        }
        while over(&widths) > 0 && widths.len() > 1 {
            widths.pop();
        }
        widths
    }

    /// Replaces the numbers in a column of bars, if there is space for them.
    fn draw_bars(&self, cells: &mut [Vec<String>], widths: &[usize]) {
        for (index, (column, &width)) in self.0.iter().zip(widths).enumerate() {
            if column.kind != Kind::Bar {
                continue;
            }
            let value = |row: &Vec<String>| row[index].parse().unwrap_or_default();
            let max = cells.iter().map(value).fold(0.0, f64::max);
            for row in &mut *cells {
                row[index] = render_bar(value(row), max, width);
            }
        }
    }

    fn line(
        &self,
        cells: &[String],
        widths: &[usize],
        style: impl Fn(&Column, &str) -> Option<anstyle::Style>,
        colored: bool,
    ) -> String {
        let mut line = String::new();
        for (index, (column, &width)) in self.0.iter().zip(widths).enumerate() {
            let cell = if column.kind == Kind::Id {
                cells[index].clone()
            } else {
                truncate_to_width(&cells[index], width)
            };
            let padding = width.saturating_sub(cell.width());
            line += &match style(column, &cell) {
                Some(style) => color::paint(&cell, style, colored),
                None => cell,
            };
            if index + 1 < widths.len() {
                line.extend(std::iter::repeat_n(' ', padding));
                line += GAP;
            }
        }
        line.truncate(line.trim_end().len());
        line
    }
}

/// A bar of up to `width` characters, exact to an eighth of one.
fn render_bar(value: f64, max: f64, width: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    if max <= 0.0 {
        return String::new();
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "the result is at most 8 * width"
    )]
    let eighths = (value / max * (8 * width) as f64).round() as usize;
    "█".repeat(eighths / 8) + EIGHTHS[eighths % 8]
}

/// Shortens the text to a number of columns, at a grapheme boundary, with `…` at the end.
pub(crate) fn truncate_to_width(text: &str, width: usize) -> String {
    let (mut fitted, mut used, mut cut) = (String::new(), 0, 0);
    for cluster in text.graphemes(true) {
        let cluster = prefix(cluster, CLUSTER_BYTES);
        used += cluster.width();
        if used > width {
            fitted.truncate(cut);
            if width > 0 {
                fitted.push('…');
            }
            return fitted;
        }
        fitted += cluster;
        if used < width {
            cut = fitted.len();
        }
    }
    fitted
}

/// The first `bytes` bytes of the text, in whole characters.
fn prefix(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

/// The text at a JSON pointer, formatted by [`format_value`].
pub(crate) fn text_at(row: &Value, pointer: &str) -> String {
    row.pointer(pointer).map(format_value).unwrap_or_default()
}

/// Strings unchanged, lists comma-separated, null as an empty text.
fn format_value(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(items) => {
            let text = |item: &Value| item.as_str().map_or_else(|| item.to_string(), str::to_owned);
            items.iter().map(text).collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    const COLUMNS: &[Column] = &[
        Column::new("id", "ID", Kind::Id),
        Column::new("to", "TO", Kind::Text),
        Column::new("subject", "SUBJECT", Kind::Shrinks),
        Column::new("last_event", "LAST EVENT", Kind::State),
        Column::new("created_at", "SENT", Kind::Time),
    ];

    fn email(subject: &str) -> Value {
        json!({"id": "49a3999c-0ce1-4ea6-ab68-afcd6dc2e794", "to": ["ada@example.com"], "subject": subject,
               "last_event": "delivered", "created_at": "2026-03-01T11:59:56Z"})
    }

    fn human(rows: &[Value], width: usize) -> String {
        Columns::new(COLUMNS).render(rows, width, "2026-03-01T12:00:00Z".parse().unwrap(), false)
    }

    #[test]
    fn a_wide_terminal_shows_everything() {
        assert_eq!(
            human(&[email("Hello")], 120),
            "ID                                    TO               SUBJECT  LAST EVENT  SENT\n\
             49a3999c-0ce1-4ea6-ab68-afcd6dc2e794  ada@example.com  Hello    delivered   4s ago"
        );
    }

    #[test]
    fn a_narrow_terminal_shortens_texts_but_never_an_id() {
        let rows = [email("Your invoice for the month of March is ready")];
        assert_eq!(
            human(&rows, 94),
            "ID                                    TO               SUBJECT              LAST EVENT  SENT\n\
             49a3999c-0ce1-4ea6-ab68-afcd6dc2e794  ada@example.com  Your invoice for t…  delivered   4s ago"
        );
        assert_eq!(
            human(&rows, 76),
            "ID                                    TO        SUBJECT   LAST EVENT  SENT\n\
             49a3999c-0ce1-4ea6-ab68-afcd6dc2e794  ada@exa…  Your in…  delivered   4s ago"
        );
        let tiny = human(&rows, 10);
        assert_eq!(tiny.lines().nth(1), Some("49a3999c-0ce1-4ea6-ab68-afcd6dc2e794"));
        let narrow = human(&rows, 50);
        assert!(
            narrow.contains("49a3999c-0ce1-4ea6-ab68-afcd6dc2e794  ada@exa…") && !narrow.contains("SENT"),
            "{narrow}"
        );
    }

    #[test]
    fn twenty_recipients_fit_a_terminal_of_80_columns() {
        let mut row = email("Hello");
        row["to"] = (0..20).map(|n| format!("person{n}@example.com")).collect::<Vec<_>>().into();
        let table = human(&[row], 80);
        assert!(table.lines().count() > 1 && table.lines().all(|line| line.width() <= 80), "{table}");
    }

    #[test]
    fn a_row_is_one_line_whatever_the_cell_contains() {
        // G-03, G-04
        let rows = [
            email("two\nlines\u{1b}[2J"),
            email(&"é\u{301}".repeat(100_000)),
            email(&"x".repeat(10_000_000)),
        ];
        let text = human(&rows, 96);
        assert_eq!(text.lines().count(), 4);
        assert!(text.contains("two\\u{a}li"));
        assert!(text.lines().all(|line| line.width() <= 96), "{text}");
    }

    #[test]
    fn a_pipe_gets_complete_values_with_tabs_and_line_feeds_escaped() {
        assert_eq!(
            Columns::new(COLUMNS).tsv(&email("a\tb\nc\\")),
            "49a3999c-0ce1-4ea6-ab68-afcd6dc2e794\tada@example.com\ta\\tb\\nc\\\\\tdelivered\t2026-03-01T11:59:56Z"
        );
    }

    #[test]
    fn columns_are_selected_by_name_and_in_order() {
        let names = ["subject".to_owned(), "id".to_owned()];
        let columns = Columns::select(COLUMNS, &names).unwrap();
        assert_eq!(columns.tsv(&email("Hi")), "Hi\t49a3999c-0ce1-4ea6-ab68-afcd6dc2e794");
        assert_eq!(Columns::select(COLUMNS, &["sbject".to_owned()]).unwrap_err(), "sbject");
    }

    #[test]
    fn bars_are_proportional_to_the_largest_value_at_every_width() {
        assert_eq!(render_bar(10.0, 10.0, BAR), "█".repeat(BAR));
        assert_eq!(render_bar(5.0, 10.0, BAR), "█".repeat(BAR / 2));
        assert_eq!(render_bar(0.1, 10.0, BAR), "▎");
        assert_eq!((render_bar(0.0, 10.0, BAR), render_bar(0.0, 0.0, BAR)), (String::new(), String::new()));

        let sent = Column::new("sent", "SENT", Kind::Text);
        let columns = Columns::new(&[sent, Column::new("delivered", "DELIVERED", Kind::Text), sent.bars()]);
        let rows = [json!({"sent": 100, "delivered": 9}), json!({"sent": 50, "delivered": 5}), json!({})];
        let shown = |width| columns.render(&rows, width, Timestamp::UNIX_EPOCH, false);
        for (width, bar) in [(80, BAR), (41, BAR), (31, 14), (25, 8)] {
            let (full, half) = ("█".repeat(bar), "█".repeat(bar / 2));
            assert_eq!(
                shown(width),
                format!("SENT  DELIVERED\n100   9          {full}\n50    5          {half}\n")
            );
        }
        assert_eq!(shown(24), "SENT  DELIVERED\n100   9\n50    5\n");
    }

    #[test]
    fn text_is_cut_at_grapheme_boundaries() {
        // G-03, G-07
        assert_eq!(truncate_to_width("漢字漢字", 5), "漢字…");
        assert_eq!(truncate_to_width("漢字漢字", 4), "漢…");
        assert_eq!(truncate_to_width("a👩🏽‍🚀bcd", 4), "a👩🏽‍🚀…");
        assert_eq!(truncate_to_width("abc", 3), "abc");
        assert_eq!(
            (truncate_to_width("abc", 1), truncate_to_width("abc", 0)),
            ("…".to_owned(), String::new())
        );
    }

    #[test]
    fn a_colored_state_is_still_its_word() {
        let now = "2026-03-01T12:00:00Z".parse().unwrap();
        let text = Columns::new(COLUMNS).render(&[email("Hi")], 80, now, true);
        assert!(text.contains("\u{1b}[32mdelivered\u{1b}[0m"), "{text:?}");
    }

    proptest! {
        #[test]
        fn no_text_is_wider_than_its_column(text in any::<String>(), width in 0_usize..40) {
            // G-03, G-07
            let fitted = truncate_to_width(&escape_line(&text), width);
            prop_assert!(fitted.width() <= width, "{fitted:?}");
        }
    }
}
