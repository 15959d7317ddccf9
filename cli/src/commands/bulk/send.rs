//! `bulk send`: plans a job, asks for confirmation, and runs it.

use idempost_bulk::JobState;

use super::job::{self, Jobs};
use super::overview::Overview;
use super::planning::PlanArgs;
use super::running::{self, RunArgs};
use super::words::format_count;
use super::{account, failure};
use crate::actions::confirm;
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::flags::Flags;
use crate::signals::Signals;

/// The examples of `plan` and `send`.
pub(super) const EXAMPLES: &str = "Columns: to, cc, bcc, reply_to, from, subject, text, html, template, topic_id, scheduled_at, \
    attachment, var:NAME, tag:NAME, header:NAME; several addresses in a cell are separated by `;`\n\n\
    Examples:\n  \
    idempost bulk plan people.csv --from hi@acme.test --subject 'Hello {{{NAME|there}}}' --html-file mail.html\n  \
    idempost bulk send people.csv --from hi@acme.test --subject Invoice --html-file mail.html --limit 10 --test-to me@acme.test\n  \
    idempost bulk send people.csv --from hi@acme.test --subject Invoice --html-file mail.html --yes\n  \
    idempost bulk send orders.csv --job receipts --key order --add --from hi@acme.test --subject Receipt --html-file mail.html\n  \
    jq -c '.[]' emails.json | idempost bulk send - --yes\n  \
    idempost bulk send people.csv --only corrected.csv --from hi@acme.test --subject Invoice --html-file mail.html";

/// Send one email per row; no row is ever sent twice
///
/// All rows are validated first; if one is invalid, nothing is sent (see --skip-invalid). Then the rows are sent in batches of up to 100, as
/// fast as the service allows. Columns override the message flags. In the subject, the bodies, and the values of headers and tags, {{{NAME}}}
/// is replaced by the column var:NAME, and {{{NAME|text}}} by the text if the row has no value; values are escaped in HTML.
///
/// A job survives interruptions, crashes and outages: the same command, or `bulk resume`, continues it without sending a row twice. The first
/// Ctrl-C finishes the requests in flight, the second stops immediately. What can't be guaranteed: if requests were in flight during a crash and the
/// job is
/// resumed only after 23 hours, the outcome of at most --concurrency requests is unknown, and their rows are never sent again
/// automatically; and the service must honor idempotency keys (`bulk doctor`). Accepted doesn't mean delivered.
///
/// The same file and message always mean the same job, which is sent once: a second run only reports that it is complete. A job has a name, by
/// default the file's. If the
/// rows or the message of an unfinished job of this name have changed, the command shows the differences and stops: --add sends the rows that the job
/// doesn't have,
/// `bulk resume` continues without them, and --job plans a separate job under a different name. For a mailing that recurs, add --again, or
/// make the runs differ, for example by a date in the subject; then a run that is repeated after a failure still sends nothing twice.
///
/// Exit codes: 0 all sent, 2 invalid rows or flags, 4 credential rejected or of another account, 6 quota exhausted or paused, 7 service
/// unavailable, 9 some outcomes unknown, 10 some rows rejected or skipped, 130 or 143 interrupted. After 4, 6, 7, 130 and 143, the job can be
/// resumed.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    plan: PlanArgs,
    #[command(flatten)]
    run: RunArgs,
}

pub(super) async fn run(args: Args, context: &Context) -> Result<(), Fail> {
    let Args { plan, run } = args;
    let mut signals = Signals::listen()?;
    let mut flags = Flags::default();
    let options = run.read(&mut flags);
    let skip_invalid = plan.skip_invalid;
    let mut described = signals.run_until_next(Box::pin(plan.read(flags, context))).await?;
    described.batch_size = options.batch_size;
    let client = context.client_for_jobs()?;
    let jobs = Jobs::open(false, context)?;
    let job = signals.run_until_next(described.plan(&client, &jobs)).await?;
    if job.plan().counts().invalid > 0 && !skip_invalid {
        return Err(failure::from_invalid_rows(job.plan(), jobs.is_persistent()));
    }
    let checking = account::resolve_job_account(&job, options.same_account, &client, context);
    let account = signals.run_until_next(checking).await?;
    let options = options.for_account(&account);
    let status = job.status().await?;
    let is_open = !matches!(status.state, JobState::Finished | JobState::Canceled);
    if is_open && status.counts.remaining > 0 {
        let overview = Overview::new(job.plan(), options.max_rps, context)?;
        if status.state == JobState::Planned {
            context.out.note(&overview.estimate_line());
            overview.warnings().iter().for_each(|warning| context.out.warn(warning));
            let counts = job.plan().counts();
            if counts.duplicates > 0 {
                let rows = format_count(counts.duplicates, "row");
                context.out.warn(&format!("{rows} for the recipients of an earlier row; they are sent too"));
            }
            if counts.repeated > 0 {
                let rows = format_count(counts.repeated, "row");
                context.out.note(&format!(
                    "{rows} identical to an earlier row, or with the same key; each is sent once"
                ));
            }
        } else {
            let done = status.counts.sent + status.counts.rejected + status.counts.unknown;
            context.out.note(&format!(
                "job {} continues after {}",
                job.plan().id(),
                format_count(done, "row")
            ));
        }
        let question = overview.question(status.counts.remaining);
        signals.run_until_next(confirm::confirm(&question, context)).await?;
    }
    let named = jobs.is_persistent().then(|| job::argument(job.plan(), context));
    running::run(&job, &client, options, named.as_deref(), &mut signals, context).await
}
