//! Composes emails from rows and the message.

use std::{
    fs::{self, File},
    io::{self, Read as _, Write},
    path::{Path, PathBuf},
};

use idempost::{
    Attachment, Email,
    bytes::Bytes,
    emails::EmailFields,
    problem::{Problem, Problems, limits::ATTACHMENTS_ENCODED_BYTES},
    types::RecipientGuard,
};

use serde_json::Value;

use super::{BatchKind, job::JobOptions};
use crate::{
    error::{BulkError, Result},
    input::{Columns, Row, RowProblem, Values},
    message::{Compiled, is_list_unsubscribe},
    template::{Escape, Template},
};

/// How attachments are handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Files {
    /// Leave them out.
    Skip,
    /// Attach them.
    Attach,
}

/// Composes emails from a row's own fields, the defaults of the message, and its rendered templates.
pub(super) struct Composer {
    message: Compiled,
    /// The address of a test, if any.
    test_to: Vec<String>,
    guard: RecipientGuard,
    folder: PathBuf,
}

impl Composer {
    pub(super) fn new(message: Compiled, options: &JobOptions, folder: &Path) -> Result<Self> {
        let folder = fs::canonicalize(folder).map_err(BulkError::io("read", folder))?;
        let test_to = options.test_to.iter().cloned().collect();
        Ok(Self { message, test_to, guard: options.guard.clone(), folder })
    }

    /// Returns the kind of request that a row needs, whether or not the row is valid.
    pub(super) fn kind(&self, row: &Row<'_>) -> BatchKind {
        let fields = row.email.fields();
        let single = !row.attachments.is_empty()
            || !fields.attachments.is_empty()
            || fields.scheduled_at.is_some()
            || self.message.message.scheduled_at.is_some();
        if single { BatchKind::Single } else { BatchKind::Batch }
    }

    /// Composes the email of a row.
    ///
    /// # Errors
    /// All problems in the row.
    pub(super) fn compose(&self, row: Row<'_>, files: Files) -> Result<Email, Vec<RowProblem>> {
        let Row { position, email, attachments, values, shape, mut problems } = row;
        let email = self.with_defaults(email, &values);
        let mut missing = Vec::new();
        let mut email = self.with_templates(email, &values, &mut missing);
        let own =
            email.fields().attachments.iter().filter_map(Attachment::size).map(encoded_len).sum::<u64>();
        let mut files_size = 0;
        if files != Files::Skip {
            for path in &attachments {
                match self.attachment(path, files_size) {
                    Ok((attachment, size)) => {
                        files_size += size;
                        email = email.attach(attachment);
                    }
                    Err(problem) => {
                        problems.push(RowProblem::new(position, "attachment", problem.with_value(path)));
                    }
                }
            }
        }
        let checked = email.check().and_then(|()| self.check_recipients(&email));
        if checked.is_err() || shape.is_err() {
            let found = Problems::merge(shape, checked).err().map(Problems::into_vec).unwrap_or_default();
            let found =
                found.into_iter().filter(|problem| missing.is_empty() || !follows_from_missing(problem));
            problems.extend(found.map(|mut problem| {
                let column = match values {
                    Values::Cells { .. } => Columns::column_name(&problem.path, &email),
                    Values::List(_) => {
                        self.suggest_variables(&mut problem);
                        problem.path.clone()
                    }
                };
                RowProblem::new(position, column, problem)
            }));
        }
        if own + files_size > ATTACHMENTS_ENCODED_BYTES {
            let rule = format!(
                "the attachments must have at most {ATTACHMENTS_ENCODED_BYTES} bytes after Base64 encoding"
            );
            let problem =
                Problem::new("", "size", rule).with_value(format_args!("{} bytes", own + files_size));
            problems.push(RowProblem::new(position, "attachment", problem));
        }
        for (field, name) in missing {
            let column = match values {
                Values::Cells { .. } => format!("var:{name}"),
                Values::List(_) => format!("/variables/{name}"),
            };
            let rule = format!(
                "the variable `{name}` in `{field}` has no value, and its placeholder has no fallback"
            );
            let problem = RowProblem::new(position, column, Problem::new("", "required", rule));
            if !problems.contains(&problem) {
                problems.push(problem);
            }
        }
        if problems.is_empty() { Ok(email) } else { Err(problems) }
    }

    /// Adds where a variable belongs, if an unknown field has the name of a variable that the message uses.
    fn suggest_variables(&self, problem: &mut Problem) {
        let Some(field) = problem.path.strip_prefix('/').filter(|_| problem.code == "unknown") else {
            return;
        };
        if self.message.used_variables().any(|used| used.name == field) {
            problem.message.push_str("; put variables in `variables`");
        }
    }

    /// Sets the fixed fields that the row doesn't set, and the variables of a stored template.
    fn with_defaults(&self, mut email: Email, values: &Values<'_>) -> Email {
        let defaults = &self.message.message;
        if email.fields().from.is_none()
            && let Some(from) = &defaults.from
        {
            email = email.from(from.as_str());
        }
        if email.fields().cc.is_empty() && !defaults.cc.is_empty() {
            email = email.cc(&defaults.cc);
        }
        if email.fields().bcc.is_empty() && !defaults.bcc.is_empty() {
            email = email.bcc(&defaults.bcc);
        }
        if email.fields().reply_to.is_empty() && !defaults.reply_to.is_empty() {
            email = email.reply_to(&defaults.reply_to);
        }
        if email.fields().topic_id.is_none()
            && let Some(topic) = &defaults.topic_id
        {
            email = email.topic_id(topic.as_str());
        }
        if email.fields().scheduled_at.is_none()
            && let Some(time) = &defaults.scheduled_at
        {
            email = email.scheduled_at(time.as_str());
        }
        if email.fields().template.is_none() {
            let has_body = email.fields().html.is_some() || email.fields().text.is_some();
            let Some(template) = defaults.template.as_deref().filter(|_| !has_body) else { return email };
            email = email.template(template);
        }
        let known = |email: &Email, name: &str| {
            email.fields().template.is_some_and(|template| template.variables.contains_key(name))
        };
        for (name, value) in values.to_stored() {
            if !known(&email, name) {
                email = email.variable(name, value);
            }
        }
        for variable in &self.message.variables {
            if !known(&email, &variable.name) {
                email = email.variable(&variable.name, variable.value.clone());
            }
        }
        email
    }

    /// Renders the templates of the fields that the row doesn't set.
    fn with_templates<'t>(
        &'t self,
        mut email: Email,
        values: &Values<'_>,
        missing: &mut Vec<(&'static str, &'t str)>,
    ) -> Email {
        let Compiled { subject, html, text, list_unsubscribe, headers, tags, .. } = &self.message;
        let fields = email.fields();
        let has_subject = fields.subject.is_some();
        let has_html = fields.html.is_some() || fields.template.is_some();
        let has_text = fields.text.is_some() || fields.template.is_some();
        let offers = fields.headers.iter().any(|(name, _)| is_list_unsubscribe(name));
        let headers: Vec<_> = headers
            .iter()
            .filter(|(name, _)| !fields.headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name)))
            .collect();
        let tags: Vec<_> =
            tags.iter().filter(|(name, _)| !fields.tags.iter().any(|tag| tag.name == *name)).collect();
        let mut render = |field, template: &'t Template, escape| {
            let value = |name: &str| {
                values.get(name).filter(|value| !value.is_empty()).or_else(|| self.message.default(name))
            };
            template.render(escape, value, |name| missing.push((field, name)))
        };
        if let (Some(subject), false) = (subject, has_subject) {
            email = email.subject(render("subject", subject, Escape::Plain));
        }
        if let (Some(html), false) = (html, has_html) {
            email = email.html(render("html", html, Escape::Html));
        }
        if let (Some(text), false) = (text, has_text) {
            email = email.text(render("text", text, Escape::Plain));
        }
        if let (Some(url), false) = (list_unsubscribe, offers) {
            email = email.list_unsubscribe(render("list_unsubscribe", url, Escape::Url));
        }
        for (name, value) in headers {
            email = email.header(name.as_str(), render("headers", value, Escape::Plain));
        }
        for (name, value) in tags {
            email = email.tag(name.as_str(), render("tags", value, Escape::Plain));
        }
        email
    }

    /// Returns an attachment and its Base64-encoded size.
    ///
    /// Anyone who can edit the input also chooses the recipients, so files outside the input's folder are rejected.
    fn attachment(&self, path: &str, before: u64) -> Result<(Attachment, u64), Problem> {
        let unreadable =
            |error: io::Error| Problem::new("", "file", format!("couldn't read the attachment: {error}"));
        let absolute = fs::canonicalize(self.folder.join(path)).map_err(unreadable)?;
        if !absolute.starts_with(&self.folder) {
            let folder = self.folder.display();
            return Err(Problem::new(
                "",
                "file",
                format!("an attachment must be a file in or below {folder}"),
            ));
        }
        let metadata = fs::metadata(&absolute).map_err(unreadable)?;
        if !metadata.is_file() {
            return Err(Problem::new("", "file", "an attachment must be a regular file"));
        }
        let size = encoded_len(metadata.len());
        let mut content = Vec::new();
        // A file that is too large is reported by its size and never read.
        if before + size <= ATTACHMENTS_ENCODED_BYTES {
            let file = File::open(&absolute).map_err(unreadable)?;
            file.take(metadata.len()).read_to_end(&mut content).map_err(unreadable)?;
        }
        let name = absolute.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok((Attachment::from_bytes(name, Bytes::from(content)), size))
    }

    /// Checks the recipients. Attachments are left out, since their content can be large.
    fn check_recipients(&self, email: &Email) -> Result<(), Problems> {
        if !self.guard.is_active() {
            return Ok(());
        }
        let mut fields = self.fields(email);
        fields.attachments = &[];
        self.guard.apply(&mut serde_json::to_value(fields).unwrap_or_default())
    }

    /// Returns an email's JSON, redirected if the job redirects its emails.
    pub(super) fn json(&self, email: &Email) -> io::Result<Value> {
        let mut json = serde_json::to_value(self.fields(email))?;
        self.guard.apply(&mut json).map_err(io::Error::other)?;
        Ok(json)
    }

    /// Writes the JSON of an email.
    pub(super) fn write(&self, email: &Email, to: &mut impl Write) -> io::Result<()> {
        if self.guard.is_active() {
            return Ok(serde_json::to_writer(to, &self.json(email)?)?);
        }
        Ok(serde_json::to_writer(to, &self.fields(email))?)
    }

    /// Returns the subject as it is sent.
    pub(super) fn subject(&self, email: &Email) -> io::Result<Option<String>> {
        if self.guard.is_active() {
            return Ok(self.json(email)?["subject"].as_str().map(str::to_owned));
        }
        Ok(self.fields(email).subject.map(str::to_owned))
    }

    /// Returns the fields as they are sent: for a test, addressed only to the test address.
    pub(super) fn fields<'a>(&'a self, email: &'a Email) -> EmailFields<'a> {
        let mut fields = email.fields();
        if !self.test_to.is_empty() {
            (fields.to, fields.cc, fields.bcc) = (&self.test_to, &[], &[]);
        }
        fields
    }
}

/// Returns whether a missing variable may have caused the problem: without it, a body or a tag is empty.
fn follows_from_missing(problem: &Problem) -> bool {
    match problem.code {
        "required" => problem.path.is_empty(),
        "empty" => problem.path.starts_with("/tags/"),
        _ => false,
    }
}

fn encoded_len(len: u64) -> u64 {
    len.div_ceil(3) * 4
}
