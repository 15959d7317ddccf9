//! The input for a contact import: a file and the meaning of its columns.

use std::{collections::BTreeMap, io};
#[cfg(not(target_family = "wasm"))]
use std::{path::PathBuf, sync::Arc};

use bytes::Bytes;
use futures_core::Stream;
use serde::Serialize;

#[cfg(not(target_family = "wasm"))]
use crate::{
    body::FileSource,
    error::{Error, FileError},
};
use crate::{
    body::{Body, Source},
    problem::{Validator, limits},
    resources::shared::{Choice, Memberships, Subscription},
    types::{SegmentId, TopicId},
};

open_enum! {
    /// How to handle a row whose address already belongs to a contact.
    ImportConflict {
        /// Set the row's values.
        Upsert = "upsert",
        /// Leave the contact unchanged.
        Skip = "skip",
    }
}

open_enum! {
    /// The type of an imported contact property.
    ImportPropertyType {
        /// A string.
        String = "string",
        /// A number.
        Number = "number",
        /// A boolean.
        Boolean = "boolean",
    }
}

/// A CSV file to import with [`ContactImports::create`](super::ContactImports::create), at most 200 MB.
///
/// The first row contains the column names. Fields are read from the columns `email`, `first_name`, `last_name` and `unsubscribed`, with exactly
/// these names; only `email` is required. Once a setter names a column, only the named columns and `email` are imported.
///
/// ```
/// use idempost::contact_imports::{ImportConflict, ImportPropertyType, NewContactImport};
///
/// let people = NewContactImport::from_bytes("E-Mail,Town\nada@example.com,London\n")
///     .email_column("E-Mail")
///     .property_column("city", "Town", ImportPropertyType::String)
///     .on_conflict(ImportConflict::Skip)
///     .segment("78261eea-8f8b-4381-83c6-79fa7120f1cf");
/// assert!(people.check().is_ok());
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct NewContactImport {
    file: Source,
    columns: ColumnMap,
    on_conflict: Option<ImportConflict>,
    segments: Memberships,
    topics: Vec<Choice>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
struct ColumnMap {
    #[serde(skip_serializing_if = "Option::is_none")]
    email: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unsubscribed: Option<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    properties: BTreeMap<String, PropertyColumn>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct PropertyColumn {
    column: String,
    #[serde(rename = "type")]
    kind: ImportPropertyType,
}

impl NewContactImport {
    fn new(file: Source) -> Self {
        let (segments, topics) = (Memberships::default(), Vec::new());
        Self { file, columns: ColumnMap::default(), on_conflict: None, segments, topics }
    }

    /// Imports a file, which is read while it is sent, so its size doesn't affect memory use.
    ///
    /// # Errors
    /// [`Error::File`] if it is missing, unreadable or not a regular file. If the file changes before the call completes, the call fails and
    /// nothing is imported.
    #[cfg(not(target_family = "wasm"))]
    pub async fn from_file(path: impl Into<PathBuf>) -> Result<Self, Error> {
        let path = path.into();
        match FileSource::inspect(path.clone()).await {
            Ok(source) => Ok(Self::new(Source::File(Arc::new(source)))),
            Err(source) => Err(Error::File(FileError { path, source })),
        }
    }

    /// Imports CSV content from memory.
    pub fn from_bytes(content: impl Into<Bytes>) -> Self {
        Self::new(Source::Bytes(content.into()))
    }

    /// Imports a stream of `length` bytes. `open` is called for each attempt and must return the same content, from its start.
    ///
    /// If the stream has a different length, the call fails with [`Error::File`], and nothing is imported.
    ///
    /// ```
    /// # async fn example(client: &idempost::Client, rows: Vec<bytes::Bytes>) -> idempost::Result<()> {
    /// use idempost::contact_imports::NewContactImport;
    ///
    /// let length = rows.iter().map(|row| row.len() as u64).sum();
    /// let people = NewContactImport::from_stream(length, move || futures_util::stream::iter(rows.clone().into_iter().map(Ok)));
    /// client.contact_imports().create(&people).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn from_stream<S>(length: u64, open: impl Fn() -> S + Send + Sync + 'static) -> Self
    where
        S: Stream<Item = io::Result<Bytes>> + Send + 'static,
    {
        Self::new(Source::stream(length, open))
    }

    setters! {
        /// Sets the name of the column that contains the addresses.
        email_column: String => columns.email;
        /// Sets the name of the column that contains the first names.
        first_name_column: String => columns.first_name;
        /// Sets the name of the column that contains the last names.
        last_name_column: String => columns.last_name;
        /// Sets the name of the column that says whether a contact has unsubscribed from all broadcasts.
        unsubscribed_column: String => columns.unsubscribed;
        /// Sets how to handle rows whose address already belongs to a contact. Resend's descriptions differ on the default; the sandbox's is
        /// [`ImportConflict::Upsert`].
        on_conflict: ImportConflict;
        /// Adds the contacts to a segment.
        segment += SegmentId => segments;
    }

    /// Fills an existing contact property, identified by its key, from a column.
    pub fn property_column(
        mut self,
        key: impl Into<String>,
        column: impl Into<String>,
        kind: ImportPropertyType,
    ) -> Self {
        self.columns.properties.insert(key.into(), PropertyColumn { column: column.into(), kind });
        self
    }

    /// Sets the contacts' subscription to a topic.
    pub fn topic(mut self, topic: impl Into<TopicId>, subscription: Subscription) -> Self {
        self.topics.push(Choice { id: topic.into(), subscription });
        self
    }

    /// Returns the size of the file in bytes.
    pub fn size(&self) -> u64 {
        self.file.len()
    }

    /// Returns the boundary and the body. The boundary is random, so that no content contains it.
    pub(super) fn form(&self) -> (String, Body) {
        let boundary = format!("idempost-{:032x}", rand::random::<u128>());
        let mut text = String::new();
        let mut part = |name: &str, content: &str| {
            let head = format!("--{boundary}\r\ncontent-disposition: form-data; name=\"{name}\"\r\n\r\n");
            text.extend([&head, content, "\r\n"]);
        };
        let json = |value: Result<String, serde_json::Error>| value.unwrap_or_default();
        if self.columns != ColumnMap::default() {
            part("column_map", &json(serde_json::to_string(&self.columns)));
        }
        if let Some(conflict) = &self.on_conflict {
            part("on_conflict", conflict.as_str());
        }
        if !self.segments.is_empty() {
            part("segments", &json(serde_json::to_string(&self.segments)));
        }
        if !self.topics.is_empty() {
            part("topics", &json(serde_json::to_string(&self.topics)));
        }
        let file = "\r\ncontent-disposition: form-data; name=\"file\"; filename=\"contacts.csv\"\r\ncontent-type: text/csv\r\n\r\n";
        text.extend(["--", &boundary, file]);
        let body = Body::default().with_bytes(text).with_source(self.file.clone());
        let end = format!("\r\n--{boundary}--\r\n");
        (boundary, body.with_bytes(end))
    }

    fn validate(&self, v: &mut Validator) {
        let size = self.size();
        if size == 0 {
            v.report_at("file", "empty", "`file` must not be empty");
        } else if size > limits::IMPORT_FILE_BYTES {
            let rule = "`file` must have at most 200 MB";
            v.field("file", |v| v.report_found("size", rule, format_args!("{size} bytes")));
        }
        let ColumnMap { email, first_name, last_name, unsubscribed, properties } = &self.columns;
        v.field("column_map", |v| {
            for (field, column) in [
                ("email", email),
                ("first_name", first_name),
                ("last_name", last_name),
                ("unsubscribed", unsubscribed),
            ] {
                v.not_empty(field, column.as_deref());
            }
            v.field("properties", |v| {
                for (key, PropertyColumn { column, kind }) in properties {
                    v.field(key, |v| {
                        if key.is_empty() {
                            v.report("empty", "a property key must not be empty");
                        }
                        v.not_empty("column", Some(column));
                        v.check_known("type", ImportPropertyType::KNOWN, Some(kind.as_str()));
                    });
                }
            });
        });
        let on_conflict = self.on_conflict.as_ref().map(ImportConflict::as_str);
        v.check_known("on_conflict", ImportConflict::KNOWN, on_conflict);
        self.segments.validate(v);
        v.for_each_item("topics", &self.topics, |v, topic| topic.validate(v));
    }
}

validate!(NewContactImport);

#[cfg(test)]
mod tests {
    use futures_util::{TryStreamExt as _, stream};

    use super::*;
    use crate::problem::codes;

    async fn text(import: &NewContactImport) -> String {
        let (boundary, body) = import.form();
        let pieces: Vec<Bytes> = body.stream().try_collect().await.unwrap();
        String::from_utf8(pieces.concat()).unwrap().replace(&boundary, "b")
    }

    #[tokio::test]
    async fn only_parts_that_were_set_are_sent() {
        let file = "--b\r\ncontent-disposition: form-data; name=\"file\"; filename=\"contacts.csv\"\r\ncontent-type: text/csv\r\n\r\n\
            email\n\r\n--b--\r\n";
        assert_eq!(text(&NewContactImport::from_bytes("email\n")).await, file);
        let open = || stream::iter([Ok(Bytes::from("ema")), Ok(Bytes::from("il\n"))]);
        let all = NewContactImport::from_stream(6, open)
            .email_column("E-Mail")
            .property_column("città", "Ort \"x\"", ImportPropertyType::Number)
            .on_conflict(ImportConflict::Upsert)
            .segment("s1")
            .topic("t1", Subscription::OptOut);
        assert!(all.check().is_ok());
        let part = |name: &str, text: &str| {
            format!("--b\r\ncontent-disposition: form-data; name=\"{name}\"\r\n\r\n{text}\r\n")
        };
        let expected = [
            part(
                "column_map",
                r#"{"email":"E-Mail","properties":{"città":{"column":"Ort \"x\"","type":"number"}}}"#,
            ),
            part("on_conflict", "upsert"),
            part("segments", r#"[{"id":"s1"}]"#),
            part("topics", r#"[{"id":"t1","subscription":"opt_out"}]"#),
            file.to_owned(),
        ];
        assert_eq!(text(&all).await, expected.concat());
    }

    #[test]
    fn all_problems_are_reported_at_once() {
        let wrong = NewContactImport::from_bytes("")
            .email_column("")
            .property_column("", "", ImportPropertyType::from("date"))
            .on_conflict(ImportConflict::from("replace"))
            .segment("")
            .topic("", Subscription::from("maybe"));
        let expected = [
            "empty /file",
            "empty /column_map/email",
            "empty /column_map/properties/",
            "empty /column_map/properties//column",
            "type /column_map/properties//type",
            "type /on_conflict",
            "empty /segments/0/id",
            "empty /topics/0/id",
            "type /topics/0/subscription",
        ];
        assert_eq!(codes(wrong.check()), expected.join(", "));
        let large = NewContactImport::from_stream(limits::IMPORT_FILE_BYTES + 1, stream::empty);
        assert_eq!(large.check().unwrap_err()[0].code, "size");
    }
}
