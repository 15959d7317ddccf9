//! Rows as emails, without the defaults of the message.

use std::borrow::Cow;

use idempost::{
    Email,
    problem::{Problem, Problems},
    types::Scalar,
};
use serde_json::Value;

use super::{
    Layout, MAX_FIELD, Position, Record, RowProblem,
    cells::Cells,
    columns::{Column, Columns, VariableColumn, is_field},
    json,
};
use crate::message::to_variable;

/// A row with the fields that it sets.
#[derive(Debug)]
pub(crate) struct Row<'a> {
    pub(crate) position: Position,
    pub(crate) email: Email,
    /// The paths of files to attach.
    pub(crate) attachments: Vec<Cow<'a, str>>,
    pub(crate) values: Values<'a>,
    /// Wrong types and unknown fields in JSON.
    pub(crate) shape: Result<(), Problems>,
    /// Other problems.
    pub(crate) problems: Vec<RowProblem>,
}

/// The values of variables.
#[derive(Debug)]
pub(crate) enum Values<'a> {
    Cells { columns: &'a [VariableColumn], cells: Cells<'a> },
    List(Vec<(String, Scalar, String)>),
}

const INEXACT: &str = "a number of this size isn't exact in JSON; write it as a string";

/// Returns whether other integers are read as the same number.
fn is_inexact(value: &Value) -> bool {
    value.is_f64() && value.as_f64().is_some_and(|number| number.abs() >= 9_007_199_254_740_992.0)
}

/// The outcome of reading a row.
#[derive(Debug)]
pub(crate) enum Reading<'a> {
    Row(Box<Row<'a>>),
    /// A row with only empty cells.
    Blank,
    /// A row from which no field can be read.
    Unreadable(RowProblem),
}

impl Values<'_> {
    /// Returns the text of a variable; an empty text may mean that the value is missing.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        match self {
            Self::Cells { columns, cells } => {
                let column = columns.iter().find(|column| column.name == name)?;
                Some(cells.get(column.index))
            }
            Self::List(list) => {
                list.iter().find(|(known, ..)| known == name).map(|(_, _, text)| text.as_str())
            }
        }
    }

    /// Returns the values for a stored template.
    pub(crate) fn to_stored(&self) -> Vec<(&str, Scalar)> {
        match self {
            Self::Cells { columns, cells } => {
                let filled = columns.iter().filter(|column| column.prefixed);
                let filled = filled.map(|column| (column.name.as_str(), cells.get(column.index)));
                filled.filter(|(_, text)| !text.is_empty()).map(|(name, text)| (name, text.into())).collect()
            }
            Self::List(list) => list.iter().map(|(name, value, _)| (name.as_str(), value.clone())).collect(),
        }
    }
}

impl<'a> Row<'a> {
    /// Reads a row.
    pub(crate) fn read(record: Record<'a>, position: Position, layout: &'a Layout) -> Reading<'a> {
        match record {
            Record::Cells(cells) => Self::from_cells(cells, position, &layout.columns),
            Record::Json(line) => Self::from_json(line, position, layout.key.as_deref()),
        }
    }

    fn from_cells(cells: Cells<'a>, position: Position, columns: &'a Columns) -> Reading<'a> {
        if cells.len() != columns.kinds.len() {
            let rule = format!(
                "a row must have {} fields, as many as the header; is a quote missing?",
                columns.kinds.len()
            );
            let problem = Problem::new("", "ragged", rule).with_value(format_args!("{} fields", cells.len()));
            return Reading::Unreadable(RowProblem::new(position, "", problem));
        }
        let (mut email, mut attachments, mut problems) = (Email::default(), Vec::new(), Vec::new());
        let mut blank = true;
        for (index, (column, cell)) in columns.kinds.iter().zip(cells.iter()).enumerate() {
            let word = cell.trim();
            if word.is_empty() {
                continue;
            }
            blank = false;
            if cell.len() > MAX_FIELD {
                let rule = format!("a field must have at most {MAX_FIELD} bytes; is a quote missing?");
                let problem = Problem::new("", "size", rule).with_value(format_args!("{} bytes", cell.len()));
                problems.push(RowProblem::new(position, columns.names[index].as_str(), problem));
                continue;
            }
            email = match column {
                Column::To if !word.contains(';') => email.to(word),
                Column::To => email.to(split_list(word)),
                Column::Cc => email.cc(split_list(word)),
                Column::Bcc => email.bcc(split_list(word)),
                Column::ReplyTo => email.reply_to(split_list(word)),
                Column::From => email.from(word),
                Column::Subject => email.subject(cell),
                Column::Text => email.text(cell),
                Column::Html => email.html(cell),
                Column::Template => email.template(word),
                Column::TopicId => email.topic_id(word),
                Column::ScheduledAt => email.scheduled_at(word),
                Column::Tag(name) => email.tag(name, word),
                Column::Header(name) => email.header(name, word),
                Column::Attachment => {
                    attachments.extend(split_list(word).into_iter().map(Cow::Borrowed));
                    continue;
                }
                Column::Variable | Column::Ignored => continue,
                Column::Unnamed => {
                    let rule = format!("column {} has no name in the header", index + 1);
                    let problem = Problem::new("", "unknown", rule).with_value(word);
                    problems.push(RowProblem::new(position, "", problem));
                    continue;
                }
            };
        }
        if blank {
            return Reading::Blank;
        }
        let values = Values::Cells { columns: &columns.variables, cells };
        Reading::Row(Box::new(Self { position, email, attachments, values, shape: Ok(()), problems }))
    }

    fn from_json(line: &str, position: Position, key: Option<&str>) -> Reading<'a> {
        let mut json = match json::read(line) {
            Ok(json) => json,
            Err(error) => {
                let rule = format!(
                    "the line isn't JSON: {} at column {}",
                    idempost::problem::json_reason(&error),
                    error.column()
                );
                let problem = Problem::new("", "json", rule).with_value(line);
                return Reading::Unreadable(RowProblem::new(position, "", problem));
            }
        };
        let mut problems = Vec::new();
        let mut wrong = |path: String, rule: &str, value: &Value| {
            let problem = Problem::new("", "type", rule).with_value(value);
            problems.push(RowProblem::new(position, path, problem));
        };
        let (mut list, mut attachments) = (Vec::new(), Vec::new());
        if let Some(object) = json.as_object_mut() {
            let key = key.filter(|key| !is_field(key));
            if let Some((key, value)) = key.and_then(|key| Some((key, object.remove(key)?)))
                && is_inexact(&value)
            {
                let mut path = String::new();
                idempost::problem::push_token(&mut path, key);
                wrong(path, INEXACT, &value);
            }
            match object.remove("variables") {
                None | Some(Value::Null) => {}
                Some(Value::Object(variables)) => {
                    for (name, value) in variables.into_iter().filter(|(_, value)| !value.is_null()) {
                        let variable = to_variable(&value);
                        if variable.is_none() || is_inexact(&value) {
                            let mut path = "/variables".to_owned();
                            idempost::problem::push_token(&mut path, &name);
                            let rule = "a variable must be a string or a number";
                            wrong(path, if variable.is_some() { INEXACT } else { rule }, &value);
                        }
                        list.extend(variable.map(|(value, text)| (name, value, text)));
                    }
                }
                Some(other) => wrong("/variables".to_owned(), "`variables` must be a JSON object", &other),
            }
            match object.remove("attachment") {
                None | Some(Value::Null) => {}
                Some(Value::String(path)) => attachments.push(Cow::Owned(path)),
                Some(Value::Array(paths)) if paths.iter().all(Value::is_string) => {
                    attachments.extend(
                        paths.iter().filter_map(Value::as_str).map(|path| Cow::Owned(path.to_owned())),
                    );
                }
                Some(other) => {
                    wrong(
                        "/attachment".to_owned(),
                        "`attachment` must be a path or an array of paths",
                        &other,
                    );
                }
            }
        }
        let (email, shape) = Email::read(&json);
        Reading::Row(Box::new(Self {
            position,
            email,
            attachments,
            values: Values::List(list),
            shape,
            problems,
        }))
    }
}

/// Splits a cell at `;` outside quotes.
fn split_list(cell: &str) -> Vec<&str> {
    let (mut quoted, mut escaped) = (false, false);
    let separator = |c: char| {
        let plain = !std::mem::take(&mut escaped);
        match c {
            '\\' if quoted && plain => escaped = true,
            '"' if plain => quoted = !quoted,
            ';' => return !quoted,
            _ => {}
        }
        false
    };
    cell.split(separator).map(str::trim).filter(|item| !item.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_split_outside_quotes() {
        let cases: [(&str, &[&str]); 5] = [
            ("a@x.test", &["a@x.test"]),
            (" a@x.test ;b@x.test;; ", &["a@x.test", "b@x.test"]),
            ("\"Doe; J\" <a@x.test>; b@x.test", &["\"Doe; J\" <a@x.test>", "b@x.test"]),
            ("\"a\\\";b\" <a@x.test>;c@x.test", &["\"a\\\";b\" <a@x.test>", "c@x.test"]),
            (";", &[]),
        ];
        for (cell, expected) in cases {
            assert_eq!(split_list(cell), expected, "{cell}");
        }
    }
}
