//! Planning a job from the flags of `plan` and `send`.

use std::path::{Path, PathBuf};

use idempost::Client;
use idempost_bulk::{Bulk, Format, Input, Job, Message};

use super::message::MessageArgs;
use super::{failure, rows};
use crate::context::Context;
use crate::diagnostics::{Diagnostics, Fail};
use crate::input::flags::{Choices, Flags, Required};
use crate::input::source::Source;

// No doc comment, which would replace the command's own.
#[derive(Debug, clap::Args)]
#[group(skip)]
pub(super) struct PlanArgs {
    /// CSV, TSV or JSON Lines file, optionally with gzip; - reads standard input
    #[arg(value_name = "FILE", add = Required)]
    file: Option<String>,
    #[command(flatten)]
    message: MessageArgs,
    /// Format of FILE: csv, tsv or jsonl [default: by name, or by the first character]
    #[arg(long, value_name = "FORMAT", value_parser = Choices(&["csv", "tsv", "jsonl"]), hide_possible_values = true, help_heading = "Rows")]
    format: Option<String>,
    /// Column to skip; repeatable
    #[arg(long, value_name = "NAME", help_heading = "Rows")]
    ignore_column: Vec<String>,
    /// Send the valid rows even if others are invalid; the exit code is then 10
    #[arg(long, help_heading = "Rows")]
    pub(super) skip_invalid: bool,
    /// Send only the first N valid rows, for a trial
    #[arg(long, value_name = "N", allow_negative_numbers = true, help_heading = "Rows")]
    limit: Option<String>,
    /// Send all emails to this address instead, without Cc and Bcc
    #[arg(long, value_name = "ADDRESS", help_heading = "Rows")]
    test_to: Option<String>,
    /// Send only the corrected rows in this copy of an earlier job's invalid.csv
    ///
    /// Without FILE, the list must be in the folder of its job, and the message of that job is used unless message flags are given. With
    /// FILE and the flags of the earlier job, the list can be anywhere. A row that wasn't invalid in the earlier job is refused: it was sent.
    #[arg(long, value_name = "PATH", help_heading = "Rows")]
    only: Option<PathBuf>,
    /// Folder of the files in the column `attachment` [default: the folder of FILE]
    #[arg(long, value_name = "DIR", help_heading = "Rows")]
    attachments: Option<PathBuf>,
    /// Plan a new job even if there is one with the same rows, message and options
    #[arg(long)]
    again: bool,
}

/// The validated description of a job.
pub(super) struct Described {
    source: Option<Source>,
    format: Option<Format>,
    only: Option<PathBuf>,
    message: Message,
    /// Whether any message flag is given.
    has_message: bool,
    ignored: Vec<String>,
    limit: Option<u64>,
    test_to: Option<String>,
    attachments: Option<PathBuf>,
    profile: Option<String>,
    again: bool,
}

impl PlanArgs {
    /// Validates the flags, and fails with all problems, those in `flags` included.
    pub(super) async fn read(self, mut flags: Flags, context: &Context) -> Result<Described, Fail> {
        let Self {
            file,
            message,
            format,
            ignore_column,
            limit,
            test_to,
            only,
            attachments,
            again,
            skip_invalid: _,
        } = self;
        flags.help("idempost bulk send people.csv --from hi@acme.test --subject Hello --html-file mail.html");
        let mut stdin = context.stdin();
        if file.is_none() && only.is_none() {
            flags.missing("FILE");
        }
        let source = file.as_deref().and_then(|file| match stdin.claim("FILE", file) {
            Ok(source) => Some(source),
            Err(found) => {
                flags.push(*found);
                None
            }
        });
        let format = rows::format(format.as_deref(), &mut flags);
        let limit = limit.as_ref().and_then(|text| {
            let rows = text.parse().ok().filter(|&rows: &u64| rows > 0);
            if rows.is_none() {
                flags.wrong("range", "--limit must be a whole number above 0", "--limit", text);
            }
            rows
        });
        let profile = context.settings()?.profile.as_ref().map(|profile| profile.value.clone());
        let has_message = !message.is_empty();
        let message = message.read(&mut flags, stdin, context).await?;
        flags.finish()?;
        let ignored = ignore_column;
        Ok(Described {
            source,
            format,
            only,
            message,
            has_message,
            ignored,
            limit,
            test_to,
            attachments,
            profile,
            again,
        })
    }
}

impl Described {
    /// Validates all rows and plans the job in the folder of jobs, or opens it if it exists.
    pub(super) async fn plan(&self, client: &Client, jobs: &Path) -> Result<Job, Fail> {
        let bulk = match (&self.source, &self.only) {
            (source, Some(only)) => {
                let earlier = match source {
                    // An existing job is opened, and a new one has the same invalid rows.
                    Some(source) => {
                        let bulk = self.bulk(rows::input(source, self.format), self.message.clone());
                        Some(bulk.plan(client, jobs).await.map_err(failure::of)?)
                    }
                    None => job_of(only).await?,
                };
                let message = match &earlier {
                    Some(earlier) if !self.has_message => earlier.plan().message().clone(),
                    _ => self.message.clone(),
                };
                let invalid = earlier.and_then(|earlier| earlier.plan().invalid_rows());
                self.bulk(rows::corrected(only, invalid.as_deref())?, message)
            }
            (Some(source), None) => self.bulk(rows::input(source, self.format), self.message.clone()),
            (None, None) => return Err(Fail::Usage(Diagnostics::default())),
        };
        let bulk = if self.again { bulk.again() } else { bulk };
        let file = match (&self.only, &self.source) {
            (Some(only), _) => only.display().to_string(),
            (None, Some(Source::File(path))) => path.display().to_string(),
            _ => "-".to_owned(),
        };
        let mut flags = Flags::default();
        flags.field("/test_to", "--test-to", self.test_to.as_deref());
        bulk.plan(client, jobs).await.map_err(|error| failure::of_planning(error, &file, flags))
    }

    fn bulk(&self, input: Input, message: Message) -> Bulk {
        let mut bulk = Bulk::new(input, message);
        bulk = self.ignored.iter().fold(bulk, Bulk::ignore_column);
        bulk = self.limit.into_iter().fold(bulk, Bulk::limit);
        bulk = self.test_to.iter().fold(bulk, Bulk::test_to);
        bulk = self.attachments.iter().fold(bulk, Bulk::attachments);
        self.profile.iter().fold(bulk, Bulk::profile)
    }
}

/// The job whose list of invalid rows this is, if it is in the folder of one.
async fn job_of(list: &Path) -> Result<Option<Job>, Fail> {
    let folder = crate::files::folder(list);
    if !folder.join("job.json").is_file() {
        return Ok(None);
    }
    Job::inspect(folder).await.map(Some).map_err(failure::of)
}
