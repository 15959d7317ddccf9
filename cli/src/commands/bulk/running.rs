//! Running a job: progress, signals, and the exit code.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

use idempost::Client;
use idempost::problem::Problem;
use idempost_bulk::{Account, Ending, Event, Job, JobState, Report, RunOptions, Schedule};
use serde_json::{Value, json};

use super::account::AccountArgs;
use super::job;
use super::metrics::Metrics;
use super::progress::{Figures, JobProgress};
use super::queue::{DistributeArgs, Distribution};
use super::schedule::ScheduleArgs;
use super::words::{describe_canceled, duration, format_count};
use super::{failure, report};
use crate::actions::shell::Shell;
use crate::context::Context;
use crate::diagnostics::{Fail, Kind, Signal};
use crate::input::flags::Flags;
use crate::signals::Signals;

/// The defaults of flags that concern this process's own requests, and so can't be used with `--queue`.
const CONCURRENCY: &str = "16";
const MAX_OUTAGE: &str = "15m";
const MAX_REJECTIONS: &str = "20";
/// The number of rejected or unknown batches that are shown one by one.
const SHOWN_WARNINGS: u32 = 10;
/// The time over which the rate is measured.
const PACE_WINDOW: Duration = Duration::from_secs(10);

// The flags of a run; no doc comment, which would replace the command's own.
#[derive(Debug, clap::Args)]
#[group(skip)]
#[command(next_help_heading = "Run")]
pub(super) struct RunArgs {
    /// Maximum number of requests per second [default: the service's limit, which the job learns]
    #[arg(long, value_name = "N")]
    max_rps: Option<String>,
    /// Maximum number of requests in flight, from 1 to 64
    #[arg(long, value_name = "N", default_value = CONCURRENCY, allow_negative_numbers = true)]
    concurrency: String,
    /// Stop after this time without a response from the service
    #[arg(long, value_name = "DURATION", default_value = MAX_OUTAGE)]
    max_outage: String,
    /// Pause after this number of rejected requests in a row, that no single row explains; 0 never pauses
    #[arg(long, value_name = "N", default_value = MAX_REJECTIONS, allow_negative_numbers = true)]
    max_rejections: String,
    /// Pause when the share of emails with a bad outcome exceeds this: 'bounced>2%', 'complained>0.1%' or 'rejected>1%'; repeatable
    ///
    /// The share is a percentage of the emails whose outcome is known in all runs, and of at least 1,000, or of all rows of a smaller job. What
    /// bounced or
    /// was marked as spam is read from the service's metrics of a sample of up to 5,000 emails, which needs a credential with full access. It
    /// appears minutes after an email was sent: use it with --daily or --max-rps. `bulk resume` without the flag continues.
    #[arg(long, value_name = "RULE")]
    stop_on: Vec<String>,
    /// Serve the job's metrics to Prometheus at http://ADDRESS/metrics while it runs, such as 127.0.0.1:9464
    #[arg(long, value_name = "ADDRESS", hide_short_help = true)]
    metrics_address: Option<String>,
    /// Command to run when the job has ended, paused or stopped, with its report as JSON on standard input
    ///
    /// IDEMPOST_JOB is the job's ID, and IDEMPOST_STATE is finished, paused, stopped, canceled, unavailable, unauthorized or failed. The command
    /// doesn't
    /// run if the job was already complete. If it fails after all rows were sent, the exit code is 1. Its output goes to standard error.
    #[arg(long, value_name = "COMMAND", hide_short_help = true)]
    on_end: Option<String>,
    #[command(flatten)]
    schedule: ScheduleArgs,
    /// Drop the job's schedule and send immediately
    ///
    /// A job keeps its schedule until you set another one.
    #[arg(long, conflicts_with_all = ["daily", "window", "domain_rate", "time_zone"], hide_short_help = true, help_heading = "Schedule")]
    no_schedule: bool,
    #[command(flatten)]
    account: AccountArgs,
    #[command(flatten)]
    queue: DistributeArgs,
}

/// The validated flags of a run.
#[derive(Debug)]
pub(super) struct Options {
    pub(super) max_rps: Option<f64>,
    pub(super) same_account: bool,
    /// The maximum number of emails in a request.
    pub(super) batch_size: Option<u64>,
    /// Where to serve the figures of the job.
    metrics: Option<SocketAddr>,
    /// The command to run at the end.
    on_end: Option<String>,
    run: RunOptions,
    /// The queue of a distributed job.
    distributed: Option<Distribution>,
}

impl RunArgs {
    /// Validates the flags; problems are added to the others of the command line.
    pub(super) fn read(&self, flags: &mut Flags) -> Options {
        let max_rps = max_rps(self.max_rps.as_deref(), flags);
        let concurrency = concurrency(&self.concurrency, flags);
        let max_outage = flags.parse_duration("--max-outage", &self.max_outage).unwrap_or_default();
        // Invalid rows were rejected earlier, or the job is being continued.
        let mut run = RunOptions::default().skip_invalid().max_outage(max_outage);
        run = max_rps.into_iter().fold(run, RunOptions::max_rps);
        run = run.concurrency(concurrency);
        let (given, rule) = (&self.max_rejections, "--max-rejections must be a whole number");
        let max_rejections = flags.accept(given.parse().ok(), "range", rule, "--max-rejections", given);
        run = run.max_rejections(max_rejections.unwrap_or_default());
        for (i, text) in self.stop_on.iter().enumerate() {
            match text.parse() {
                Ok(rule) if !self.queue.is_given() => run = run.stop_on(rule),
                Ok(_) => {
                    let rule = "--stop-on can't be used with --queue";
                    flags.reject_nth("exclusive", rule, "--stop-on", i + 1, text);
                }
                Err(Problem { code, message, .. }) => {
                    flags.reject_nth(code, message, "--stop-on", i + 1, text);
                }
            }
        }
        for (flag, value, default) in [
            ("--concurrency", &self.concurrency, CONCURRENCY),
            ("--max-outage", &self.max_outage, MAX_OUTAGE),
            ("--max-rejections", &self.max_rejections, MAX_REJECTIONS),
        ] {
            if self.queue.is_given() && value != default {
                flags.reject("exclusive", format!("{flag} can't be used with --queue"), flag, value);
            }
        }
        let schedule = self.schedule.read(self.queue.is_given(), flags);
        let schedule = schedule.or_else(|| self.no_schedule.then(Schedule::new));
        run = schedule.iter().cloned().fold(run, RunOptions::schedule);
        let distributed = self.queue.read(max_rps, flags);
        let metrics = self.metrics_address.as_deref().and_then(|address| {
            let rule = "--metrics-address must be an IP address and a port, such as 127.0.0.1:9464";
            flags.accept(address.parse().ok(), "type", rule, "--metrics-address", address)
        });
        let batch_size = schedule.and_then(|schedule| schedule.smallest_cap());
        let same_account = self.account.same_account;
        let on_end = self.on_end.clone();
        Options { max_rps, same_account, batch_size, metrics, on_end, run: moved_clock(run), distributed }
    }
}

impl Options {
    /// Sends from this account.
    pub(super) fn for_account(self, account: &Account) -> Self {
        let run = self.run.account(account.clone());
        let distributed = self.distributed.map(|distribution| distribution.for_account(account));
        Self { run, distributed, ..self }
    }
}

/// Parses `--concurrency`.
pub(super) fn concurrency(given: &str, flags: &mut Flags) -> usize {
    let number = flags.parse_number("--concurrency", given, 1..=64);
    number.and_then(|number| usize::try_from(number).ok()).unwrap_or(1)
}

/// Parses `--max-rps`.
pub(super) fn max_rps(given: Option<&str>, flags: &mut Flags) -> Option<f64> {
    let text = given?;
    let rate = text.parse().ok().filter(|rate: &f64| rate.is_finite() && *rate > 0.0);
    flags.accept(rate, "range", "--max-rps must be a number above 0", "--max-rps", text)
}

/// Moves the job's clock by the seconds in `IDEMPOST_BULK_CLOCK_OFFSET`, in tests. Release builds ignore it.
#[cfg(debug_assertions)]
fn moved_clock(options: RunOptions) -> RunOptions {
    let offset = std::env::var("IDEMPOST_BULK_CLOCK_OFFSET").ok().and_then(|seconds| seconds.parse().ok());
    offset.map(Duration::from_secs).into_iter().fold(options, RunOptions::clock_offset)
}

#[cfg(not(debug_assertions))]
fn moved_clock(options: RunOptions) -> RunOptions {
    options
}

/// Starts or resumes a job, shows its progress, prints its report, and fails unless every row was sent. `named` is the argument that names the job in
/// other commands, if it outlives this one.
pub(super) async fn run(
    job: &Job,
    client: &Client,
    options: Options,
    named: Option<&str>,
    signals: &mut Signals,
    context: &Context,
) -> Result<(), Fail> {
    let distributed = options.distributed.is_some();
    let queue = if distributed { " --queue …" } else { "" };
    let resume = named.map(|named| format!("idempost bulk resume {named}{queue}"));
    let before = job.status().await?;
    let complete_since = (before.state == JobState::Finished).then(|| job::last_changed(job.plan().dir()));
    if complete_since.is_some()
        && let Some(report) = job.report().await?
    {
        context.out.note("to send these rows again, as a new job: `bulk send` with --again");
        report::print(job, &report, false, complete_since, context)?;
        return into_result(job, &report, None, named, resume.as_deref());
    }
    // A job without valid rows is complete even before its first run.
    let complete_since = complete_since.filter(|_| job.plan().counts().valid > 0);
    if before.state == JobState::Canceled && !job.is_distributed() {
        return Err(failure::from_canceled(job.plan()));
    }
    context.out.note(&format!("sending as {}", context.identity()?));
    let metrics = match options.metrics {
        Some(address) => Some(Metrics::serve(address, job.plan().id(), context).await?),
        None => None,
    };
    let mut run = match options.distributed {
        None => job.start(client, options.run)?,
        Some(distribution) => {
            signals.run_until_next(Box::pin(distribution.start(job, client, context))).await?
        }
    };
    let style = context.settings()?.progress.value;
    let progress = JobProgress::new(style, &context.out, job.plan().counts().valid);
    let (mut stopped_by, mut warnings, mut state) = (None, 0, "running".to_owned());
    let mut requested = false;
    let (mut pace, mut left) = (Pace::default(), before.counts.remaining);
    loop {
        tokio::select! {
            event = run.next() => match event {
                Some(Event::Progress(now)) => {
                    // An outcome after a pause shows that the pause is over; a mere request may be a probe.
                    if stopped_by.is_none() && now.counts.remaining < left {
                        "running".clone_into(&mut state);
                    }
                    left = now.counts.remaining;
                    requested |= now.requests > 0;
                    pace.add(now.elapsed, now.requests);
                    let requests_per_second = pace.per_second();
                    let figures = Figures { state: state.clone(), requests_per_second, now };
                    if let Some(metrics) = &metrics {
                        metrics.set(&figures);
                    }
                    progress.set(&figures);
                }
                Some(event) => print_event(&event, &mut state, &mut warnings, &progress, context),
                None => break,
            },
            signal = signals.next() => {
                let note = match stopped_by.replace(signal) {
                    None => {
                        run.stop();
                        "stopping"
                    }
                    Some(first) => {
                        stopped_by = Some(first);
                        run.abort();
                        "stopping immediately"
                    }
                };
                note.clone_into(&mut state);
                let more = match note {
                    "stopping" if distributed => "; the workers continue",
                    "stopping" => " after the requests in flight; interrupt again to stop immediately",
                    _ => "",
                };
                progress.suspend(|| context.out.note(&format!("{note}{more}")));
            }
        }
    }
    drop(progress);
    let mut is_canceled = false;
    let (ended, document) = match run.finish().await {
        Ok(mut report) => {
            let status = job.status().await?;
            is_canceled = status.state == JobState::Canceled && report.ending != Ending::Finished;
            if is_canceled {
                report.counts = status.counts;
            }
            if named.is_none() {
                // The lists are in a temporary folder.
                report.files.clear();
            }
            let ended = match report::print(job, &report, is_canceled, complete_since, context) {
                // The result stands, and the exit code reports it.
                Err(Fail::BrokenPipe) | Ok(()) if is_canceled => Err(canceled(named, &report)),
                Err(Fail::BrokenPipe) | Ok(()) => {
                    into_result(job, &report, stopped_by, named, resume.as_deref())
                }
                failed => failed,
            };
            (ended, report::document(job, &report))
        }
        Err(error) => {
            let (id, folder, why) = (job.plan().id(), job.plan().dir(), error.to_string());
            let document = json!({ "object": "bulk_report", "job": id, "folder": folder, "state": "failed", "reason": why });
            (Err(failure::from_run_error(error, resume.as_deref().zip(named), requested)), document)
        }
    };
    let Some(command) = &options.on_end else { return ended };
    let told = signals.run_until_next(run_on_end(command, job, named, is_canceled, document)).await;
    match (ended, told) {
        (Ok(()), told) => told,
        (Err(fail), Ok(())) => Err(fail),
        (Err(fail), Err(other)) => {
            context.out.warn(&crate::output::report::message(&other));
            Err(fail)
        }
    }
}

/// Runs the command of `--on-end`.
async fn run_on_end(
    command: &str,
    job: &Job,
    named: Option<&str>,
    is_canceled: bool,
    mut report: Value,
) -> Result<(), Fail> {
    if is_canceled {
        report["state"] = "canceled".into();
    }
    let state = report["state"].as_str().unwrap_or_default();
    let variables = [("IDEMPOST_JOB", job.plan().id()), ("IDEMPOST_STATE", state)];
    Shell::run_with_input(command, report.to_string().as_bytes(), &variables).await.map_err(|why| {
        let hint = |named| format!("the emails that were sent are unaffected: idempost bulk report {named}");
        Fail::error(format!("--on-end: {why}")).hint_if(named.map(hint))
    })
}

/// The measured rate of the last seconds.
#[derive(Default)]
struct Pace(VecDeque<(Duration, u64)>);

impl Pace {
    /// Adds the number of requests so far. Each part of a job counts from zero.
    fn add(&mut self, elapsed: Duration, requests: u64) {
        if self.0.back().is_some_and(|(_, before)| requests < *before) {
            self.0.clear();
        }
        self.0.push_back((elapsed, requests));
        while self.0.front().is_some_and(|(first, _)| elapsed.saturating_sub(*first) > PACE_WINDOW) {
            self.0.pop_front();
        }
    }

    fn per_second(&self) -> f64 {
        let (Some((begin, before)), Some((end, now))) = (self.0.front(), self.0.back()) else { return 0.0 };
        let requests = u32::try_from(now - before).unwrap_or(u32::MAX);
        let seconds = end.saturating_sub(*begin).as_secs_f64();
        if seconds > 0.0 { f64::from(requests) / seconds } else { 0.0 }
    }
}

/// Shows an event other than progress.
fn print_event(
    event: &Event,
    state: &mut String,
    warnings: &mut u32,
    progress: &JobProgress,
    context: &Context,
) {
    let (what, first_row, emails, reason) = match event {
        Event::Paused { remaining, reason } => {
            *state = format!("paused: {reason}");
            let note = format!("paused for {}: {reason}", duration(*remaining));
            return progress.suspend(|| context.out.note(&note));
        }
        Event::QueueUnavailable { reason } => {
            "the queue doesn't respond".clone_into(state);
            return progress.suspend(|| context.out.warn(&format!("the queue doesn't respond: {reason}")));
        }
        Event::NoWorkers => {
            "no worker is processing the job".clone_into(state);
            let note = "no worker is processing the job; start one: idempost bulk worker --queue …";
            return progress.suspend(|| context.out.warn(note));
        }
        Event::QueueAvailable => {
            "running".clone_into(state);
            return progress.suspend(|| context.out.note("the queue responds again"));
        }
        Event::Rejected { first_row, emails, reason, .. } => ("rejected", first_row, emails, reason),
        Event::Unknown { first_row, emails, reason, .. } => ("unknown outcome of", first_row, emails, reason),
        _ => return,
    };
    *warnings += 1;
    let text = match *warnings {
        ..=SHOWN_WARNINGS => {
            format!("{what} {} from row {first_row} on: {reason}", format_count(*emails, "email"))
        }
        n if n == SHOWN_WARNINGS + 1 => {
            "more rows are listed in rejected.csv and unknown.csv when the run ends".to_owned()
        }
        _ => return,
    };
    progress.suspend(|| context.out.warn(&text));
}

/// The failure of a run whose job was canceled.
fn canceled(named: Option<&str>, report: &Report) -> Fail {
    let message = format!("the job was canceled; {}", describe_canceled(&report.counts));
    match report.counts.unknown {
        0 => Fail::new(Kind::Partial, message),
        _ => failure::from_unknown_rows(named, message),
    }
}

/// The failure of a run that didn't send every row.
fn into_result(
    job: &Job,
    report: &Report,
    stopped_by: Option<Signal>,
    named: Option<&str>,
    resume: Option<&str>,
) -> Result<(), Fail> {
    let left = format_count(report.counts.remaining, "row");
    let hint = resume.map(|resume| format!("to continue: {resume}"));
    let limited = |message: String| Fail::new(Kind::Limited, format!("{message}; {left} left"));
    let stopped = match &report.ending {
        Ending::Finished => return finished(report, named),
        Ending::Stopped => match stopped_by {
            Some(signal) if job.is_distributed() => {
                let message = format!("interrupted; {left} left, and the workers continue");
                let hint = hint
                    .zip(named)
                    .map(|(hint, id)| format!("{hint}; to pause them: idempost bulk pause {id} --queue …"));
                return Err(Fail::stopped(signal, message).hint_if(hint));
            }
            Some(signal) => Fail::stopped(signal, format!("interrupted; {left} left")),
            None => limited("the job was paused".to_owned()),
        },
        Ending::Paused { until, reason } => {
            let until =
                until.and_then(|until| jiff::Timestamp::from_millisecond(until.try_into().ok()?).ok());
            let until = until.map(|until| format!(" until {until:.0}")).unwrap_or_default();
            limited(format!("paused{until}: {reason}"))
        }
        Ending::Unavailable { reason } => Fail::unavailable(format!("{reason}; {left} left")),
        Ending::Unauthorized { reason } => {
            let advice = if reason.contains("invalid_permission") {
                "sending batches needs full access: idempost auth login --scope full_access"
            } else {
                "fix the cause given above; idempost doctor checks the credential and the connection"
            };
            let hint = resume.map(|resume| format!("{advice}; then continue: {resume}"));
            return Err(Fail::auth(format!("{reason}; {left} left")).hint_if(hint));
        }
        _ => limited("the job stopped".to_owned()),
    };
    Err(stopped.hint_if(hint))
}

/// The failure of a job that ended without sending every row.
fn finished(report: &Report, named: Option<&str>) -> Result<(), Fail> {
    let (unknown, rejected) = (report.counts.unknown, report.counts.rejected);
    let listed = |file| named.map(|_| format!("; they are listed in {file}")).unwrap_or_default();
    if unknown > 0 {
        let rows = format_count(unknown, "row");
        let message = format!("the outcome of {rows} is unknown{}", listed("unknown.csv"));
        return Err(failure::from_unknown_rows(named, message));
    }
    if rejected > 0 {
        let message = format!("{} rejected{}", format_count(rejected, "row"), listed("rejected.csv"));
        let hint = |named| format!("after the cause is fixed: idempost bulk retry --rejected {named}");
        return Err(Fail::new(Kind::Partial, message).hint_if(named.map(hint)));
    }
    if report.invalid > 0 {
        let message = format!("{} invalid and skipped", format_count(report.invalid, "row"));
        let hint = named.map(|_| "correct them in a copy of invalid.csv, and send that with --only");
        return Err(Fail::new(Kind::Partial, message).hint_if(hint));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_that_of_the_last_seconds() {
        let mut pace = Pace::default();
        assert!(pace.per_second().abs() < 1e-9);
        for second in 0..30 {
            pace.add(
                Duration::from_secs(second),
                if second < 15 { second * 100 } else { 1_500 + (second - 15) * 4 },
            );
        }
        assert!((pace.per_second() - 4.0).abs() < 1e-9, "{}", pace.per_second());
        // The next part of the job.
        for second in 30..33 {
            pace.add(Duration::from_secs(second), (second - 30) * 7);
        }
        assert!((pace.per_second() - 7.0).abs() < 1e-9, "{}", pace.per_second());
    }
}
