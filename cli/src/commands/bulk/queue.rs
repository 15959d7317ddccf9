//! The queue of a distributed job: flags, connection, durability. `no_queue.rs` replaces this file in a program without the feature `nats`.

use std::path::PathBuf;

use idempost::Client;
use idempost_bulk::queue::{
    ControlState, NatsJob, NatsQueue, Priority, QueueAuth, QueueError, QueueOptions, set_state,
};
use idempost_bulk::{Account, BulkError, DistributeOptions, Event, Job, Run};

use super::job;
use crate::context::Context;
use crate::diagnostics::{Diagnostic, Fail, Origin, Problem};
use crate::input::flags::Flags;
use crate::output::report::error_chain;

// The flags of a queue; no doc comment, which would replace the command's own.
#[derive(Debug, clap::Args)]
#[group(skip)]
#[command(next_help_heading = "Queue")]
pub(super) struct QueueArgs {
    /// NATS JetStream queue, nats://HOST:PORT or tls://HOST:PORT; separate the servers of a cluster with commas
    ///
    /// Workers send the job (`bulk worker`), and this command collects the results. The address may contain user:password@ or token@; set
    /// IDEMPOST_QUEUE instead of the flag to keep them out of the process list. Needs NATS 2.12 or later with `sync_interval: always`.
    #[arg(long, value_name = "URL", env = "IDEMPOST_QUEUE", hide_env_values = true)]
    queue: Option<String>,
    /// Credentials file of the queue (.creds)
    #[arg(long, value_name = "PATH", hide_short_help = true)]
    queue_creds: Option<PathBuf>,
    /// CA certificates to trust for the queue (PEM), instead of the system's
    #[arg(long, value_name = "PATH", hide_short_help = true)]
    queue_ca: Option<PathBuf>,
    /// Client certificate for the queue (PEM)
    #[arg(long, value_name = "PATH", hide_short_help = true)]
    queue_cert: Option<PathBuf>,
    /// Private key of the client certificate (PEM)
    #[arg(long, value_name = "PATH", hide_short_help = true)]
    queue_key: Option<PathBuf>,
    /// Number of servers in a cluster that store each record, from 1 to 5
    #[arg(
        long,
        value_name = "N",
        default_value = "1",
        allow_negative_numbers = true,
        hide_short_help = true
    )]
    queue_replicas: String,
    /// Monitoring address of the queue, http://HOST:PORT, to verify that it syncs each record to disk
    #[arg(long, value_name = "URL", hide_short_help = true)]
    queue_monitoring: Option<String>,
}

// The flags of a run that distributes its job; no doc comment, which would replace the command's own.
#[derive(Debug, clap::Args)]
#[group(skip)]
#[command(next_help_heading = "Queue")]
pub(super) struct DistributeArgs {
    #[command(flatten)]
    queue: QueueArgs,
    /// Which of the jobs in the queue the workers send first: low, normal or high [default: normal, which share the workers equally]
    #[arg(long, value_name = "PRIORITY", hide_short_help = true)]
    priority: Option<String>,
}

impl DistributeArgs {
    /// Whether a queue is named.
    pub(super) fn is_given(&self) -> bool {
        self.queue.is_given()
    }

    /// Validates the flags; problems are added to the others of the command line. `None` without a queue.
    pub(super) fn read(&self, max_rps: Option<f64>, flags: &mut Flags) -> Option<Distribution> {
        let priority = match self.priority.as_deref() {
            Some("low") => Priority::Low,
            Some("high") => Priority::High,
            Some(other) if other != "normal" => {
                flags.reject("enum", "--priority must be low, normal or high", "--priority", other);
                Priority::Normal
            }
            _ => Priority::Normal,
        };
        if let Some(given) = self.priority.as_deref().filter(|_| !self.is_given()) {
            flags.reject("required", "--priority requires --queue", "--priority", given);
        }
        let queue = self.queue.read(flags)?;
        // Invalid rows were rejected earlier, or the job is being continued.
        let options = DistributeOptions::default().skip_invalid().priority(priority);
        let options = max_rps.into_iter().fold(options, DistributeOptions::max_rps);
        Some(Distribution { queue, options })
    }
}

/// The queue of a job, with the options that apply to it.
#[derive(Debug)]
pub(super) struct Distribution {
    queue: QueueOptions,
    options: DistributeOptions,
}

impl Distribution {
    /// Sends from this account.
    pub(super) fn for_account(self, account: &Account) -> Self {
        Self { options: self.options.account(account.clone()), ..self }
    }

    /// Starts or resumes a job: workers send it.
    pub(super) async fn start(self, job: &Job, client: &Client, context: &Context) -> Result<Run, Fail> {
        let backend = open_job(&connect(self.queue, context).await?, job.plan().id())?;
        job.distribute(client, backend, self.options).map_err(Fail::from)
    }
}

/// The workers of a part of a job, whose results no process collects.
pub(super) struct Workers(QueueOptions, Job);

impl Workers {
    /// Pauses them.
    pub(super) async fn pause(self, context: &Context) -> Result<(), Fail> {
        let backend = open_job(&connect(self.0, context).await?, self.1.plan().id())?;
        set_state(&backend, ControlState::Paused).await.map_err(from_queue_error)
    }

    /// Cancels the job, waits until they have stopped, and collects their results.
    pub(super) async fn cancel(self, job: &Job, client: &Client, context: &Context) -> Result<(), Fail> {
        // Connects first: otherwise, the workers would continue with a job that is marked as canceled.
        let backend = open_job(&connect(self.0, context).await?, self.1.plan().id())?;
        job.cancel().await?;
        let options = DistributeOptions::default().skip_invalid();
        let mut run = self.1.distribute(client, backend, options)?;
        while let Some(event) = run.next().await {
            match event {
                Event::QueueUnavailable { reason } => {
                    context.out.warn(&format!("the queue doesn't respond: {reason}"));
                }
                Event::QueueAvailable => context.out.note("the queue responds again"),
                _ => {}
            }
        }
        run.finish().await.map_err(Fail::from).map(drop)
    }
}

impl QueueArgs {
    /// Whether a queue is named.
    pub(super) fn is_given(&self) -> bool {
        self.address().is_some()
    }

    /// The address of the queue; an empty variable counts as unset.
    fn address(&self) -> Option<&str> {
        self.queue.as_deref().filter(|address| !address.is_empty())
    }

    /// Validates the flags; problems are added to the others of the command line. `None` without a queue.
    pub(super) fn read(&self, flags: &mut Flags) -> Option<QueueOptions> {
        for (flag, path) in [
            ("--queue-creds", &self.queue_creds),
            ("--queue-ca", &self.queue_ca),
            ("--queue-cert", &self.queue_cert),
            ("--queue-key", &self.queue_key),
        ] {
            let Some(path) = path else { continue };
            if !path.is_file() {
                flags.reject("file", format!("{flag} must name a file"), flag, &path.display().to_string());
            }
            if !self.is_given() {
                let rule = format!("{flag} requires --queue");
                flags.reject("required", rule, flag, &path.display().to_string());
            }
        }
        if self.queue_cert.is_some() != self.queue_key.is_some() {
            flags.add_missing("--queue-cert and --queue-key together");
        }
        let mut valid = |checked: Result<QueueOptions, QueueError>, flag, value: &str| {
            let problem = |error: QueueError| Problem::new("", "type", format!("{flag}: {error}"));
            // The address can contain a password, so the problem doesn't show it.
            let origin = (flag != "--queue").then(|| Origin::flag(flag, value));
            checked
                .map_err(|error| flags.push(Diagnostic { problem: problem(error), origin, hint: None }))
                .ok()
        };
        let address = self.address()?;
        let mut options = valid(QueueOptions::new(address), "--queue", address)?;
        let Ok(replicas) = self.queue_replicas.parse() else {
            let rule = "--queue-replicas must be a whole number from 1 to 5";
            flags.reject("range", rule, "--queue-replicas", &self.queue_replicas);
            return None;
        };
        options = valid(options.replicas(replicas), "--queue-replicas", &self.queue_replicas)?;
        if let Some(monitoring) = &self.queue_monitoring {
            options = valid(options.monitoring(monitoring), "--queue-monitoring", monitoring)?;
        }
        let creds = self.queue_creds.iter().cloned().map(QueueAuth::CredentialsFile);
        options = creds.fold(options, QueueOptions::auth);
        options = self.queue_ca.iter().fold(options, QueueOptions::ca_file);
        if let (Some(certificate), Some(key)) = (&self.queue_cert, &self.queue_key) {
            options = options.client_certificate(certificate, key);
        }
        Some(options)
    }

    /// The workers that still send a job although no process collects their results; `None` if there are none to stop. The flags must name their
    /// queue.
    pub(super) async fn workers(
        &self,
        job: &Job,
        command: &str,
        context: &Context,
    ) -> Result<Option<Workers>, Fail> {
        let mut flags = Flags::default();
        let options = self.read(&mut flags);
        let part = job::part_with_only_workers(job).await?;
        if let Some(part) = part.as_ref().filter(|_| !self.is_given()) {
            let (id, named) = (part.plan().id(), job::argument(part.plan(), context));
            flags.add_missing("--queue");
            flags.help(format!(
                "workers may be sending job {id}: idempost bulk {command} {named} --queue nats://HOST:PORT"
            ));
        }
        flags.finish()?;
        Ok(options.zip(part).map(|(options, part)| Workers(options, part)))
    }
}

/// Connects to the queue, and warns unless it syncs each record to disk.
pub(super) async fn connect(options: QueueOptions, context: &Context) -> Result<NatsQueue, Fail> {
    if context.global.sandbox {
        let rule = "--queue and IDEMPOST_QUEUE can't be used with --sandbox: workers send elsewhere";
        return Err(Fail::usage("exclusive", rule, None)
            .hint("run `idempost sandbox serve`, and set its base URL for the workers too"));
    }
    let queue = NatsQueue::connect(options).await.map_err(from_queue_error)?;
    let durability = queue.durability().await;
    if !durability.is_always() {
        context.out.warn(&durability.to_string());
    }
    Ok(queue)
}

/// The failure of a call to the queue. A queue that doesn't respond counts as an unavailable service.
pub(super) fn from_queue_error(error: QueueError) -> Fail {
    match error {
        QueueError::Connect { .. } | QueueError::Unavailable { .. } => {
            let hint = "you can resume the job and restart workers at any time";
            Fail::unavailable(error_chain(&error)).hint(hint)
        }
        error => BulkError::from(error).into(),
    }
}

/// The storage of a job in the queue.
pub(super) fn open_job(queue: &NatsQueue, id: &str) -> Result<NatsJob, Fail> {
    queue.job(id).map_err(from_queue_error)
}
