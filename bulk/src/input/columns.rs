//! CSV columns and the email fields that they set.

use std::collections::HashMap;

use idempost::{Email, problem::Problem};

use super::cells::Cells;
use crate::{
    message::{Compiled, UsedVariable},
    template::is_name,
};

/// The columns with fixed names.
const FIXED: [(&str, Column); 12] = [
    ("to", Column::To),
    ("cc", Column::Cc),
    ("bcc", Column::Bcc),
    ("reply_to", Column::ReplyTo),
    ("from", Column::From),
    ("subject", Column::Subject),
    ("text", Column::Text),
    ("html", Column::Html),
    ("template", Column::Template),
    ("topic_id", Column::TopicId),
    ("scheduled_at", Column::ScheduledAt),
    ("attachment", Column::Attachment),
];

/// Returns whether this is the name of a JSON Lines field.
pub(crate) fn is_field(name: &str) -> bool {
    let only_json = ["tags", "headers", "attachments", "variables"];
    only_json.contains(&name) || FIXED.iter().any(|(field, _)| *field == name)
}

/// Common names for columns that are named differently here.
const SYNONYMS: [(&str, &str); 9] = [
    ("email", "to"),
    ("e-mail", "to"),
    ("mail", "to"),
    ("recipient", "to"),
    ("address", "to"),
    ("sender", "from"),
    ("body", "html"),
    ("attachments", "attachment"),
    ("template_id", "template"),
];

/// The columns of `invalid.csv` itself, which may be used as input again once its rows are corrected.
pub(crate) const OWN_COLUMNS: [&str; 2] = ["_row", "_problem"];

/// The field that a column sets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Column {
    To,
    Cc,
    Bcc,
    ReplyTo,
    From,
    Subject,
    Text,
    Html,
    Template,
    TopicId,
    ScheduledAt,
    Attachment,
    Variable,
    Tag(String),
    Header(String),
    Ignored,
    /// A column without a name, which must be empty.
    Unnamed,
}

/// A column with a variable.
#[derive(Clone, Debug)]
pub(crate) struct VariableColumn {
    pub(crate) name: String,
    pub(crate) index: usize,
    /// Whether the name has the prefix `var:`, which makes it a variable of stored templates as well.
    pub(crate) prefixed: bool,
}

/// An input's columns.
#[derive(Clone, Debug, Default)]
pub(crate) struct Columns {
    /// The names in the header.
    pub(crate) names: Vec<String>,
    pub(crate) kinds: Vec<Column>,
    pub(crate) variables: Vec<VariableColumn>,
    /// The columns that aren't ignored, sorted by name.
    pub(crate) by_name: Vec<usize>,
    /// The column that contains the row key.
    pub(crate) key: Option<usize>,
}

impl Columns {
    /// Reads the header.
    ///
    /// # Errors
    /// All problems of the header, each naming its column.
    pub(super) fn read(
        header: Cells<'_>,
        message: &Compiled,
        ignored: &[String],
        key: Option<&str>,
    ) -> Result<Self, Vec<Problem>> {
        let mut columns = Self::default();
        let mut problems = Vec::new();
        for (index, name) in header.iter().enumerate() {
            let name = name.trim();
            let place = format!("column {} (`{}`)", index + 1, name.escape_debug());
            let is_key = key == Some(name);
            if is_key {
                columns.key = Some(index);
            }
            let column = match columns.column(index, name, message, ignored) {
                Ok(column) => column,
                // The key column needs no other purpose.
                Err(("unknown", _)) if is_key => Column::Ignored,
                Err((code, rule)) => {
                    problems.push(Problem::new("", code, format!("{place}: {rule}")));
                    Column::Ignored
                }
            };
            columns.names.push(name.to_owned());
            columns.kinds.push(column);
        }
        if !columns.kinds.contains(&Column::To) && problems.is_empty() {
            let rule = "no column is named `to`; every row needs a recipient";
            let found = columns.names.join(", ");
            problems.push(Problem::new("", "required", rule).with_value(found));
        }
        // A misspelled column is probably the missing variable, so report only the misspelling.
        if problems.is_empty() {
            problems.extend(columns.missing_fields(message));
            problems.extend(columns.missing_variables(message));
        }
        if let (Some(key), None) = (key, columns.key) {
            let rule = format!("no column is named `{key}`; the key must be a column");
            problems.push(Problem::new("/key", "unknown", rule).with_value(columns.names.join(", ")));
        }
        let used = |&index: &usize| !matches!(columns.kinds[index], Column::Ignored | Column::Unnamed);
        columns.by_name = (0..columns.names.len()).filter(used).collect();
        columns.by_name.sort_by(|a, b| columns.names[*a].cmp(&columns.names[*b]));
        if problems.is_empty() { Ok(columns) } else { Err(problems) }
    }

    fn column(
        &mut self,
        index: usize,
        name: &str,
        message: &Compiled,
        ignored: &[String],
    ) -> Result<Column, (&'static str, String)> {
        if name.is_empty() {
            return Ok(Column::Unnamed);
        }
        if name.contains('\0') {
            return Err((
                "encoding",
                "the name contains a NUL character; save the file as \"CSV UTF-8\"".to_owned(),
            ));
        }
        if OWN_COLUMNS.contains(&name) || ignored.iter().any(|ignored| ignored == name) {
            return Ok(Column::Ignored);
        }
        let fixed = FIXED.iter().find(|(known, _)| *known == name).map(|(_, column)| column.clone());
        let column = if let Some(column) = fixed {
            column
        } else if let Some(variable) = name.strip_prefix("var:") {
            return self.variable(index, variable.trim(), true, message);
        } else if let Some(tag) = name.strip_prefix("tag:").map(str::trim) {
            check_name(&Email::default().tag(tag, "x"), "/tags")?;
            Column::Tag(tag.to_owned())
        } else if let Some(header) = name.strip_prefix("header:").map(str::trim) {
            check_name(&Email::default().header(header, "x"), "/headers")?;
            Column::Header(header.to_owned())
        } else if message.used_variables().any(|used| used.name == name) {
            return self.variable(index, name, false, message);
        } else {
            return Err(("unknown", describe_unknown(name, message)));
        };
        let same = |known: &Column| match (known, &column) {
            (Column::Header(known), Column::Header(header)) => known.eq_ignore_ascii_case(header),
            (known, column) => known == column,
        };
        match self.kinds.iter().position(same) {
            Some(first) => Err(("repeated", format!("the same as column {}", first + 1))),
            None => Ok(column),
        }
    }

    fn variable(
        &mut self,
        index: usize,
        name: &str,
        prefixed: bool,
        message: &Compiled,
    ) -> Result<Column, (&'static str, String)> {
        if !is_name(name) {
            return Err((
                "charset",
                "a variable name must contain only ASCII letters, digits and `_`".to_owned(),
            ));
        }
        if prefixed && message.message.is_stored() {
            check_name(&Email::from_template("x", "a@b.c").variable(name, "x"), "/template")?;
        }
        if let Some(first) = self.variables.iter().find(|variable| variable.name == name) {
            return Err(("repeated", format!("the same as column {}", first.index + 1)));
        }
        self.variables.push(VariableColumn { name: name.to_owned(), index, prefixed });
        Ok(Column::Variable)
    }

    /// Returns the required fields that no row can set. A stored template may provide them.
    fn missing_fields(&self, message: &Compiled) -> Vec<Problem> {
        if message.message.is_stored() || self.kinds.contains(&Column::Template) {
            return Vec::new();
        }
        let has = |column: &Column| self.kinds.contains(column);
        let fields = [
            ("`from`", message.message.from.is_some() || has(&Column::From)),
            ("`subject`", message.subject.is_some() || has(&Column::Subject)),
            (
                "`html` or `text`",
                message.html.is_some() || message.text.is_some() || has(&Column::Html) || has(&Column::Text),
            ),
        ];
        let problem = |(field, _)| {
            Problem::new("", "required", format!("neither the message nor a column provides {field}"))
        };
        fields.into_iter().filter(|(_, given)| !given).map(problem).collect()
    }

    /// Returns the variables that no row can set. If a template's field is also a column, the template may be unused, so this is checked per row.
    fn missing_variables(&self, message: &Compiled) -> Vec<Problem> {
        let overrides = |field: &str| match field {
            "subject" => self.kinds.contains(&Column::Subject),
            "html" => self.kinds.contains(&Column::Html) || self.kinds.contains(&Column::Template),
            "text" => self.kinds.contains(&Column::Text) || self.kinds.contains(&Column::Template),
            _ => self.kinds.iter().any(|column| {
                matches!(
                    (field, column),
                    ("headers" | "list_unsubscribe", Column::Header(_)) | ("tags", Column::Tag(_))
                )
            }),
        };
        let given = |name: &str| self.variables.iter().any(|variable| variable.name == name);
        let mut fields: HashMap<&str, Vec<&str>> = HashMap::new();
        let mut names = Vec::new();
        let missing = |used: &UsedVariable| used.required && !given(used.name) && !overrides(used.field);
        for UsedVariable { name, field, .. } in message.used_variables().filter(missing) {
            let fields = fields.entry(name).or_default();
            if fields.is_empty() {
                names.push(name);
            }
            if !fields.contains(&field) {
                fields.push(field);
            }
        }
        let problem = |name: &str| {
            let used = fields[name].join("` and `");
            let fix = "add a column, a default or a fallback";
            let hint = if FIXED.iter().any(|(fixed, _)| *fixed == name) {
                format!(
                    "; the column `{name}` is an email field: to use it as a variable, rename it to `var:{name}`"
                )
            } else {
                String::new()
            };
            let rule = format!("no column provides the variable `{name}` used in `{used}`; {fix}{hint}");
            Problem::new("", "required", rule)
        };
        names.into_iter().map(problem).collect()
    }

    /// Returns the name of the column that a problem's JSON pointer refers to; empty for the whole row.
    pub(crate) fn column_name(path: &str, email: &Email) -> String {
        let mut tokens = path.split('/').skip(1);
        let unescaped = |token: &str| token.replace("~1", "/").replace("~0", "~");
        match (tokens.next().unwrap_or_default(), tokens.next(), tokens.next()) {
            ("headers", Some(name), _) => format!("header:{}", unescaped(name)),
            ("tags", Some(index), _) => {
                let tag = index.parse().ok().and_then(|index: usize| email.fields().tags.get(index));
                tag.map_or_else(|| "tags".to_owned(), |tag| format!("tag:{}", tag.name))
            }
            ("template", Some("variables"), Some(name)) => format!("var:{}", unescaped(name)),
            ("attachments", ..) => "attachment".to_owned(),
            (field, ..) => field.to_owned(),
        }
    }
}

/// Checks a column name against the rules of the email field that it sets.
fn check_name(email: &Email, path: &str) -> Result<(), (&'static str, String)> {
    let problems = email.check().err().map(idempost::problem::Problems::into_vec).unwrap_or_default();
    match problems.into_iter().find(|problem| problem.path.starts_with(path)) {
        Some(problem) => Err((problem.code, problem.message)),
        None => Ok(()),
    }
}

/// Describes an unknown column, suggesting a known column with a similar name.
fn describe_unknown(name: &str, message: &Compiled) -> String {
    let lower = name.to_ascii_lowercase();
    let synonym = SYNONYMS.iter().find(|(other, _)| *other == lower).map(|(_, known)| (*known).to_owned());
    let fixed = FIXED.iter().map(|(fixed, _)| *fixed);
    let known = fixed.chain(message.used_variables().map(|used| used.name));
    let prefixed = ["var", "tag", "header"].iter().filter_map(|prefix| {
        let (before, after) = name.split_once([':', '.', '='])?;
        let distance = strsim::damerau_levenshtein(&before.to_ascii_lowercase(), prefix);
        (3 * distance <= prefix.len()).then(|| (1.0, format!("{prefix}:{}", after.trim())))
    });
    let similar =
        known.map(|known| (strsim::jaro_winkler(&lower, &known.to_ascii_lowercase()), known.to_owned()));
    let similar = similar.chain(prefixed).filter(|(likeness, _)| *likeness >= 0.8);
    let similar = similar.max_by(|(a, _), (b, _)| a.total_cmp(b)).map(|(_, known)| known);
    let suggestion = match synonym.or(similar) {
        Some(known) => format!("; did you mean `{known}`?"),
        None if is_name(name) => {
            format!("; name it `var:{name}` to use it as a variable, or ignore the column")
        }
        None => "; rename it, or ignore the column".to_owned(),
    };
    format!("unknown column{suggestion}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Message;

    fn read(header: &[&str], message: &Message, ignored: &[&str]) -> Result<Columns, Vec<String>> {
        let (mut bytes, mut ends) = (String::new(), Vec::new());
        for name in header {
            bytes.push_str(name);
            ends.push(bytes.len());
        }
        let ignored: Vec<_> = ignored.iter().map(|name| (*name).to_owned()).collect();
        let cells = Cells::new(bytes.as_bytes(), &ends).unwrap();
        let mut message = message.clone();
        if !message.is_stored() {
            message = message.from("a@b.c").text("t");
            message.subject.get_or_insert_with(|| "s".to_owned());
        }
        let columns = Columns::read(cells, &message.compile().unwrap(), &ignored, None);
        columns.map_err(|problems| problems.into_iter().map(|problem| problem.to_string()).collect())
    }

    #[test]
    fn every_column_is_recognized() {
        let message = Message::new().html("{{{CITY}}}{{{to|x}}}");
        let names = ["to", " cc ", "attachment", "var:A", "tag:k", "header: X-A", "CITY", "note", "_row", ""];
        let columns = read(&names, &message, &["note"]).unwrap();
        let expected = [
            Column::To,
            Column::Cc,
            Column::Attachment,
            Column::Variable,
            Column::Tag("k".to_owned()),
            Column::Header("X-A".to_owned()),
            Column::Variable,
            Column::Ignored,
            Column::Ignored,
            Column::Unnamed,
        ];
        assert_eq!(columns.kinds, expected);
        let variables: Vec<_> =
            columns.variables.iter().map(|v| (v.name.as_str(), v.index, v.prefixed)).collect();
        assert_eq!(variables, [("A", 3, true), ("CITY", 6, false)]);
    }

    #[test]
    fn all_problems_of_a_header_are_reported_with_suggestions() {
        let message = Message::new().html("{{{FIRST|x}}}");
        let header = [
            "to", "subjct", "E-Mail", "first", "vra:X", "zzz", "to", "var:A", "var:A", "tag:a b", "header:X",
            "header:x",
        ];
        let problems = read(&header, &message, &[]).unwrap_err();
        let expected = [
            "column 2 (`subjct`): unknown column; did you mean `subject`?",
            "column 3 (`E-Mail`): unknown column; did you mean `to`?",
            "column 4 (`first`): unknown column; did you mean `FIRST`?",
            "column 5 (`vra:X`): unknown column; did you mean `var:X`?",
            "column 6 (`zzz`): unknown column; name it `var:zzz` to use it as a variable, or ignore the column",
            "column 7 (`to`): the same as column 1",
            "column 9 (`var:A`): the same as column 8",
            "column 10 (`tag:a b`): a tag name must contain only ASCII letters, digits, `_` and `-`",
            "column 12 (`header:x`): the same as column 11",
        ];
        assert_eq!(problems, expected);
    }

    #[test]
    fn a_header_without_recipients_or_with_a_missing_variable_is_one_problem() {
        let message = Message::new()
            .html("{{{A}}}{{{A}}}{{{B|b}}}{{{C}}}{{{cc}}}")
            .subject("{{{A}}}")
            .variable("C", "c");
        let problems = read(&["cc", "A"], &message, &[]).unwrap_err();
        assert_eq!(problems, ["no column is named `to`; every row needs a recipient (found \"cc, A\")"]);
        let problems = read(&["to", "cc"], &message, &[]).unwrap_err();
        let expected = [
            "no column provides the variable `A` used in `subject` and `html`; add a column, a default or a fallback",
            "no column provides the variable `cc` used in `html`; add a column, a default or a fallback; the column `cc` is an email field: to use it as a variable, rename it to `var:cc`",
        ];
        assert_eq!(problems, expected);
        assert!(read(&["to", "A", "var:cc"], &message, &[]).is_ok());
        // Rows may have their own bodies.
        let problems = read(&["to", "html"], &message, &[]).unwrap_err();
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].contains("`A` used in `subject`;"), "{problems:?}");
    }

    #[test]
    fn a_reserved_variable_of_a_stored_template_is_one_problem() {
        let stored = Message::new().template("welcome");
        let problems = read(&["to", "var:FIRST_NAME"], &stored, &[]).unwrap_err();
        assert_eq!(problems, ["column 2 (`var:FIRST_NAME`): the variable key `FIRST_NAME` is reserved"]);
        let own = Message::new().html("{{{FIRST_NAME}}}");
        assert!(read(&["to", "var:FIRST_NAME"], &own, &[]).is_ok());
    }
}
