//! Planning a job from the flags of `plan` and `send`.

use std::path::{Path, PathBuf};

use idempost::Client;
use idempost_bulk::{Bulk, ChangedRows, Input, Job, Message, Schedule};
use tempfile::NamedTempFile;

use super::failure;
use super::job::Jobs;
use super::message::MessageArgs;
use super::rows::{self, Dialect};
use crate::context::Context;
use crate::diagnostics::{Diagnostics, Fail};
use crate::input::addresses::Addresses;
use crate::input::flags::{Choices, Flags, Local, Required};
use crate::input::source::{Source, StdinReaders};

// No doc comment, which would replace the command's own.
#[derive(Debug, clap::Args)]
#[group(skip)]
#[expect(clippy::struct_excessive_bools, reason = "one per flag")]
pub(super) struct PlanArgs {
    /// CSV, TSV or JSON Lines file, optionally with gzip; - reads standard input
    #[arg(value_name = "FILE", add = Required)]
    file: Option<String>,
    /// Command that outputs the rows as CSV or JSON Lines, instead of FILE
    ///
    /// Such as `psql --csv -c 'select …' shop`. If it fails, nothing is planned. Its output differs from run to run, so the job needs a name (--job);
    /// with --key and --add, a repeated command sends the new rows.
    #[arg(long, value_name = "COMMAND", conflicts_with_all = ["file", "only"], requires = "job", help_heading = "Rows", add = Local)]
    from_command: Option<String>,
    #[command(flatten)]
    message: MessageArgs,
    /// Format of FILE: csv, tsv or jsonl [default: by name, or by the first character]
    #[arg(long, value_name = "FORMAT", value_parser = Choices(&["csv", "tsv", "jsonl"]), hide_possible_values = true, help_heading = "Rows")]
    format: Option<String>,
    /// Character between the columns of a CSV file: comma, semicolon, tab, or the character itself [default: detected from the first line]
    #[arg(long, value_name = "CHARACTER", help_heading = "Rows")]
    delimiter: Option<String>,
    /// Column to skip; repeatable
    #[arg(long, value_name = "NAME", help_heading = "Rows")]
    ignore_column: Vec<String>,
    /// Send the valid rows even if others are invalid; the exit code is then 10
    #[arg(long, help_heading = "Rows")]
    pub(super) skip_invalid: bool,
    /// Name of the job [default: the name of FILE]
    #[arg(long, value_name = "NAME", help_heading = "Rows")]
    job: Option<String>,
    /// Column or JSON field that identifies a row, such as an order number [default: all values of a row]
    ///
    /// A row whose key is already in the job is never sent again, even if its other values have changed. Rows with the same key are sent once.
    #[arg(long, value_name = "NAME", help_heading = "Rows")]
    key: Option<String>,
    /// Send only the first row for each recipient
    #[arg(long, conflicts_with = "key", help_heading = "Rows")]
    unique_recipients: bool,
    /// File of addresses to which nothing is sent: CSV with a column email, or one address per line
    ///
    /// Rows with such a recipient are counted and listed in skipped.csv. The formats are those of `suppressions import`.
    #[arg(long, value_name = "PATH", help_heading = "Rows")]
    suppress: Option<String>,
    /// Send nothing to addresses on the account's suppression list
    ///
    /// Reads the list first, with a request per 100 addresses, which needs a credential with full access. Rows whose `to` addresses are all on
    /// it are counted and listed in skipped.csv. The service drops the other suppressed recipients.
    #[arg(long, help_heading = "Rows")]
    pub(super) account_suppressions: bool,
    /// Add rows that aren't in the job yet, instead of stopping if the file or the message has changed
    #[arg(long, conflicts_with = "again", help_heading = "Rows")]
    add: bool,
    /// With --add, what to do with changed rows of known recipients: send or skip
    #[arg(long, value_name = "ACTION", value_parser = Choices(&["send", "skip"]), hide_possible_values = true, requires = "add", help_heading = "Rows")]
    changed: Option<String>,
    /// Maximum size of FILE after decompression, in bytes [default: 1 GiB]
    #[arg(long, value_name = "BYTES", allow_negative_numbers = true, help_heading = "Rows")]
    max_size: Option<String>,
    /// Send only the first N valid rows, as the first part of the job
    #[arg(long, value_name = "N", allow_negative_numbers = true, help_heading = "Rows")]
    limit: Option<String>,
    /// Send all emails to this address instead, without Cc and Bcc
    #[arg(long, value_name = "ADDRESS", help_heading = "Rows")]
    test_to: Option<String>,
    /// Send only the corrected rows in this copy of an earlier job's invalid.csv
    ///
    /// They become part of that job, whose unsent rows are sent first, and a later --add doesn't send them again. Without FILE, the list must be in
    /// the job's folder, and the job's message is used unless you pass message flags. With FILE and the flags of the earlier job, the list can be
    /// anywhere. A row that wasn't invalid in the earlier job is rejected: it was sent.
    #[arg(long, value_name = "PATH", help_heading = "Rows")]
    only: Option<PathBuf>,
    /// Folder that contains the files named in the column `attachment` [default: the folder of FILE]
    #[arg(long, value_name = "DIR", help_heading = "Rows")]
    attachments: Option<PathBuf>,
    /// Plan a new job even if there is one with the same rows, message and options
    #[arg(long, conflicts_with = "only")]
    again: bool,
}

/// The validated description of a job.
pub(super) struct JobInput {
    /// The flags that need no validation.
    args: PlanArgs,
    source: Option<Source>,
    /// The output of a command.
    output: Option<NamedTempFile>,
    dialect: Dialect,
    message: Message,
    /// Whether any message flag is given.
    has_message: bool,
    limit: Option<u64>,
    max_size: Option<u64>,
    /// The maximum number of emails in a request.
    pub(super) batch_size: Option<u64>,
    /// When the job sends.
    pub(super) schedule: Option<Schedule>,
    suppressed: Vec<String>,
    profile: Option<String>,
}

impl PlanArgs {
    /// Validates the flags, and fails with all problems, those in `flags` included.
    pub(super) async fn read(mut self, mut flags: Flags, context: &Context) -> Result<JobInput, Fail> {
        flags.help("idempost bulk send people.csv --from hi@acme.test --subject Hello --html-file mail.html");
        let mut stdin = context.stdin();
        if self.file.is_none() && self.only.is_none() && self.from_command.is_none() {
            flags.add_missing("FILE");
        }
        let source = self.file.as_deref().and_then(|file| flags.take(stdin.claim("FILE", file)));
        let dialect = Dialect::parse(self.format.as_deref(), self.delimiter.as_deref(), &mut flags);
        let limit = self.limit.as_deref().and_then(|text| flags.parse_positive("--limit", text));
        let max_size = self.max_size.as_deref().and_then(|text| flags.parse_positive("--max-size", text));
        let suppressed = match &self.suppress {
            Some(file) => read_addresses(file, &mut stdin, &mut flags, &context.client_for_preview()?),
            None => Vec::new(),
        };
        let profile = context.settings()?.selected_profile().map(str::to_owned);
        let message = std::mem::take(&mut self.message);
        let has_message = !message.is_empty();
        let message = message.read(&mut flags, stdin, context).await?;
        flags.finish()?;
        let output = match &self.from_command {
            Some(command) => Some(rows::run_command(command, max_size).await?),
            None => None,
        };
        Ok(JobInput {
            args: self,
            source,
            output,
            dialect,
            message,
            has_message,
            limit,
            max_size,
            batch_size: None,
            schedule: None,
            suppressed,
            profile,
        })
    }

    /// The column that identifies a row.
    fn key(&self) -> Option<&str> {
        if self.unique_recipients { Some("to") } else { self.key.as_deref() }
    }
}

impl JobInput {
    /// Validates all rows and plans the job in the folder of jobs, or opens it if it exists.
    pub(super) async fn plan(&self, client: &Client, jobs: &Jobs) -> Result<Job, Fail> {
        let folder = jobs.path.as_path();
        let bulk = match (&self.source, &self.args.only, &self.output) {
            (_, _, Some(output)) => {
                self.bulk(rows::spooled_input(output, self.dialect)?, self.message.clone())
            }
            (source, Some(only), None) => {
                let earlier = match source {
                    // An existing job is opened, and a new one has the same invalid rows.
                    Some(source) => {
                        let bulk = self.bulk(rows::open_input(source, self.dialect), self.message.clone());
                        bulk.plan(client, folder).await?
                    }
                    None => find_job(only).await?,
                };
                let earlier = earlier.plan();
                let message = if self.has_message { &self.message } else { earlier.message() };
                let input = rows::corrected_input(only, earlier.invalid_rows().as_deref())?;
                let bulk = self.bulk(input, message.clone());
                // A temporary folder doesn't record which rows were sent.
                if jobs.is_persistent() { bulk.corrections_of(earlier) } else { bulk }
            }
            (Some(source), None, None) => {
                self.bulk(rows::open_input(source, self.dialect), self.message.clone())
            }
            (None, None, None) => return Err(Fail::Usage(Diagnostics::default())),
        };
        let changed = match self.args.changed.as_deref() {
            Some("send") => ChangedRows::Send,
            Some("skip") => ChangedRows::Skip,
            _ => ChangedRows::Reject,
        };
        let bulk = if self.args.add { bulk.add_rows(changed) } else { bulk };
        let bulk = if self.args.again { bulk.new_run() } else { bulk };
        let file = match (&self.args.only, &self.source) {
            (Some(only), _) => only.display().to_string(),
            (None, Some(Source::File(path))) => path.display().to_string(),
            _ => "-".to_owned(),
        };
        let mut flags = Flags::default();
        flags.field("/test_to", "--test-to", self.args.test_to.as_deref());
        flags.field("/key", "--key", self.args.key());
        flags.field("/delimiter", "--delimiter", self.args.delimiter.as_deref());
        let max_size = self.max_size.map_or_else(|| "1 GiB".to_owned(), |bytes| bytes.to_string());
        flags.field("/max_size", "--max-size", Some(&max_size));
        bulk.plan(client, folder).await.map_err(|error| failure::from_planning_error(error, &file, flags))
    }

    fn bulk(&self, input: Input, message: Message) -> Bulk {
        let mut bulk = Bulk::new(input, message);
        bulk = self.args.ignore_column.iter().fold(bulk, Bulk::ignore_column);
        bulk = self.limit.into_iter().fold(bulk, Bulk::limit);
        bulk = self.max_size.into_iter().fold(bulk, Bulk::max_size);
        bulk = self.batch_size.into_iter().fold(bulk, Bulk::batch_size);
        bulk = self.schedule.iter().cloned().fold(bulk, Bulk::schedule);
        bulk = self.args.job.iter().fold(bulk, Bulk::job);
        bulk = self.args.key().into_iter().fold(bulk, Bulk::key).suppress(&self.suppressed);
        bulk = if self.args.account_suppressions { bulk.account_suppressions() } else { bulk };
        bulk = self.args.test_to.iter().fold(bulk, Bulk::test_to);
        bulk = self.args.attachments.iter().fold(bulk, Bulk::attachments);
        self.profile.iter().fold(bulk, Bulk::profile)
    }
}

/// Reads the addresses of `--suppress`. Each row must have one: an address that can't be read would be sent to.
fn read_addresses(file: &str, stdin: &mut StdinReaders, flags: &mut Flags, client: &Client) -> Vec<String> {
    let Some((source, text)) = flags.take(stdin.text("--suppress", file)) else { return Vec::new() };
    let read = Addresses::read(source, &text).and_then(|read| read.check(client).map(|()| read.emails));
    flags.take(read).unwrap_or_default()
}

/// The job in whose folder this list of invalid rows is.
async fn find_job(list: &Path) -> Result<Job, Fail> {
    let folder = crate::files::folder(list);
    if !folder.join("job.json").is_file() {
        let rule = "isn't in a job's folder; also pass the FILE and the flags of its job".to_owned();
        return Err(rows::invalid_file(list, rule));
    }
    Job::inspect(folder).await.map_err(Fail::from)
}
