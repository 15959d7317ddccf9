//! The failures of jobs.

use std::io::ErrorKind;

use idempost_bulk::{AccountError, BulkError, Differences, Plan, RowProblem};

use super::words::{format_count, format_number};
use crate::actions::repeat::quote_argument;
use crate::diagnostics::{Diagnostic, Diagnostics, Fail, Kind, Problem};
use crate::input::flags::Flags;

/// The failure of a library call.
impl From<BulkError> for Fail {
    fn from(error: BulkError) -> Self {
        match error {
            BulkError::Input(problems) => {
                problems.into_iter().map(Diagnostic::from).collect::<Vec<_>>().into()
            }
            BulkError::Client(error) => Self::Sdk(error),
            BulkError::Account(error) => {
                let hint = match error {
                    AccountError::OtherAccount { .. } => Some(
                        "if both belong to the same account, such as after replacing an API key, add --same-account; to plan a \
                     new job: `bulk send` with --again",
                    ),
                    AccountError::OtherService { .. } => Some(
                        "to send the rows there too, as a separate job: `bulk send --job NAME`; if both URLs are the same service, \
                     they would be sent twice",
                    ),
                    AccountError::Missing { .. } => {
                        Some("if this account started the job, add --same-account")
                    }
                    _ => None,
                };
                Self::auth(error.to_string()).hint_if(hint)
            }
            BulkError::Io { action, path, source } => {
                Self::local(format!("couldn't {action} {}", path.display()), source)
            }
            BulkError::JournalDamaged { ref path, .. } | BulkError::JournalMissing { ref path } => {
                let folder = quote_argument(&crate::files::folder(path).to_string_lossy());
                let hint = format!("to recover the readable records: idempost bulk salvage {folder}");
                Self::error(error.to_string()).hint(hint)
            }
            error => Self::error(error.to_string()),
        }
    }
}

/// The failure of a run, with the command that continues the job if that can help: the `resume` command, and the job's argument.
/// `requested` is whether the run may have sent a request.
pub(super) fn from_run_error(error: BulkError, resume: Option<(&str, &str)>, requested: bool) -> Fail {
    let full = |source: &std::io::Error| {
        matches!(source.kind(), ErrorKind::StorageFull | ErrorKind::FileTooLarge | ErrorKind::QuotaExceeded)
    };
    let hint = match (&error, resume) {
        (BulkError::Io { source, .. }, Some((resume, _))) if full(source) => {
            Some(format!("free disk space, then continue: {resume}"))
        }
        (BulkError::Io { .. }, Some((resume, _))) => {
            Some(format!("after the cause is fixed, continue: {resume}"))
        }
        (BulkError::PlanChanged(_), Some((resume, job))) => Some(format!(
            "restore what changed, then continue: {resume}; or send the unsent rows with the current files: idempost bulk \
             cancel {job}, then `bulk send` with --add"
        )),
        _ => None,
    };
    let error = match error {
        BulkError::NotRunnable(why) if !requested => {
            BulkError::NotRunnable(format!("{why}; nothing was sent"))
        }
        error => error,
    };
    Fail::from(error).hint_if(hint)
}

/// The failure of a command that leaves the outcome of rows unknown. `job` is the job's argument, if the job is kept.
pub(super) fn from_unknown_rows(job: Option<&str>, message: String) -> Fail {
    let command =
        |job| format!("to look for them in the service's list of emails: idempost bulk reconcile {job}");
    Fail::new(Kind::Unknown, message).hint_if(job.map(command))
}

/// The failure of running a canceled job.
pub(super) fn from_canceled(job: &Plan) -> Fail {
    Fail::error(format!("job {} was canceled; nothing was sent", job.id()))
        .hint("to send the rows that it didn't send: `bulk send` with --add")
}

/// The failure of planning; its problems may concern flags or the input's name.
pub(super) fn from_planning_error(error: BulkError, file: &str, mut flags: Flags) -> Fail {
    let message = error.to_string();
    match error {
        BulkError::Input(problems) => {
            let columns = problems.iter().any(|problem| problem.code == "unknown");
            flags.add_problems(idempost::problem::Problems::check(problems));
            Fail::Usage(flags.into_report()).hint_if(columns.then_some("--ignore-column NAME skips a column; --delimiter splits rows at another character"))
        }
        BulkError::Io { action: "read", source, .. } if file != "-" => {
            flags.reject("file", format!("couldn't read {file}: {source}"), "FILE", file);
            Fail::Usage(flags.into_report())
        }
        BulkError::Differs(differences) => from_differences(&differences),
        BulkError::BeyondLimit { job, limit, .. } => Fail::invalid(message, Vec::new()).hint(format!(
            "to send them: idempost bulk resume {job}; to send only the first {}: idempost bulk cancel {job}, then this \
             command with --add --limit {limit}",
            format_count(limit, "row")
        )),
        BulkError::Io { action, path, source } => {
            Fail::error(format!("couldn't {action} {}: {source}; nothing was sent", path.display()))
        }
        BulkError::NotStarted { .. } => Fail::error(format!("{message}; nothing was sent"))
            .hint("first send its valid rows with --skip-invalid, or correct its input"),
        BulkError::PlanChanged(_) | BulkError::NotRunnable(_) => {
            Fail::error(format!("{message}; nothing was sent"))
        }
        error => error.into(),
    }
}

/// The failure for a job of the same name with other rows or another message: the differences, and the options.
fn from_differences(differences: &Differences) -> Fail {
    let Differences { name, job, remaining, known, new, changed, first_changed, missing, .. } = differences;
    let (in_job, left) = (format_number(*known), format_count(*remaining, "row"));
    let mut lines = vec![
        format!("{in_job} of these rows are already in the job, which has {left} left to send"),
        format_count(*new, "new row"),
    ];
    if *changed > 0 {
        let rows =
            first_changed.iter().map(|(row, to)| format!("row {row}, {to}")).collect::<Vec<_>>().join("; ");
        lines.push(format!(
            "of these, {} for recipients already in the job ({rows}): corrected rows, or additional emails?",
            format_number(*changed)
        ));
    }
    if *missing > 0 {
        let unsent = if *remaining > 0 { ", which still sends the unsent ones" } else { "" };
        lines.push(format!("{} only in the job{unsent}", format_count(*missing, "row")));
    }
    let found = lines.into_iter().map(|line| Diagnostic::new("job", line, None));
    let add = match changed {
        0 => "--add sends the new rows".to_owned(),
        _ => {
            "--add --changed send sends the new and the changed rows, --add --changed skip only the new ones"
                .to_owned()
        }
    };
    let unsent = match remaining {
        0 => String::new(),
        _ => format!(
            "; to continue without them: idempost bulk resume {job}; to also send what isn't sent yet: idempost bulk \
             cancel {job}, then this command with --add"
        ),
    };
    let what = differences.what();
    let headline = format!("the job `{name}` ({job}) exists and differs in: {what}; nothing was sent");
    Fail::invalid(headline, found.collect())
        .hint(format!("{add}{unsent}; to send all rows as a separate job: --job NAME"))
}

/// The failure for invalid rows: the first problems, and the location of the others if the job's folder is kept.
pub(super) fn from_invalid_rows(plan: &Plan, is_kept: bool) -> Fail {
    let counts = plan.counts();
    let found = plan.problems().iter().map(diagnostic).collect::<Vec<_>>();
    let list = plan.invalid_rows().filter(|_| is_kept);
    let list = list.map(|file| format!("all invalid rows are in {}; ", file.display())).unwrap_or_default();
    let are = if counts.invalid == 1 { "is" } else { "are" };
    let summary = format!(
        "{} of {} {are} invalid; nothing was sent",
        format_number(counts.invalid),
        format_count(counts.rows, "row")
    );
    Fail::Usage(Diagnostics {
        summary: Some(summary),
        omitted: usize::try_from(counts.problems).unwrap_or(usize::MAX).saturating_sub(found.len()),
        found,
        help: Some(format!("{list}correct the input, or send the other rows with --skip-invalid")),
        ..Diagnostics::default()
    })
}

/// A problem of a row, with its position in the message.
fn diagnostic(problem: &RowProblem) -> Diagnostic {
    let RowProblem { row, line, column, message, found, .. } = problem;
    let place = column.as_deref().map(|column| format!(", {column}")).unwrap_or_default();
    let mut shown = Problem::new("", "row", format!("row {row} (line {line}){place}: {message}"));
    shown.found.clone_from(found);
    shown.into()
}
