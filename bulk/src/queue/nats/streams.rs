//! The streams and buckets, created if missing.

use std::time::Duration;

use async_nats::jetstream::{
    self, ErrorCode,
    context::{CreateStreamErrorKind, GetStreamErrorKind},
    kv, object_store,
    stream::{Config, DiscardPolicy, RetentionPolicy, StorageType},
};

use super::{CONTROL, FILES, INTENTS, JOBS, RATE, RESULTS};
use crate::queue::{QueueError, Result};

/// How long the server remembers message IDs. Within this time, repeating an interrupted `put` adds no duplicates; later, the ledger makes the second
/// entry harmless.
const DUPLICATE_WINDOW: Duration = Duration::from_mins(10);

/// Creates each missing stream, and rejects existing streams whose settings could lose records.
pub(super) async fn ensure(context: &jetstream::Context, replicas: usize) -> Result<()> {
    let base = Config {
        storage: StorageType::File,
        num_replicas: replicas,
        allow_direct: true,
        ..Config::default()
    };
    let records = |name: &str, subject: &str| Config {
        name: name.to_owned(),
        subjects: vec![subject.to_owned()],
        retention: RetentionPolicy::Limits,
        discard: DiscardPolicy::Old,
        max_messages_per_subject: 1,
        ..base.clone()
    };
    let jobs = Config {
        name: JOBS.to_owned(),
        subjects: vec!["bulk.jobs.*".to_owned()],
        retention: RetentionPolicy::WorkQueue,
        discard: DiscardPolicy::New,
        duplicate_window: DUPLICATE_WINDOW,
        ..base.clone()
    };
    for wanted in [jobs, records(INTENTS, "bulk.intents.*.*"), records(RESULTS, "bulk.results.*.*")] {
        ensure_stream(context, wanted).await?;
    }
    for bucket in [CONTROL, RATE] {
        if !exists(context, &format!("KV_{bucket}")).await? {
            let config = kv::Config {
                bucket: bucket.to_owned(),
                history: 1,
                num_replicas: replicas,
                ..kv::Config::default()
            };
            context
                .create_key_value(config)
                .await
                .map_err(QueueError::unavailable("create a bucket of the queue"))?;
        }
    }
    if !exists(context, &format!("OBJ_{FILES}")).await? {
        let config = object_store::Config {
            bucket: FILES.to_owned(),
            num_replicas: replicas,
            ..object_store::Config::default()
        };
        context
            .create_object_store(config)
            .await
            .map_err(QueueError::unavailable("create the file store of the queue"))?;
    }
    for bucket in [format!("KV_{CONTROL}"), format!("KV_{RATE}"), format!("OBJ_{FILES}")] {
        ensure_replicas(context, &bucket, replicas).await?;
    }
    Ok(())
}

pub(super) async fn exists(context: &jetstream::Context, stream: &str) -> Result<bool> {
    Ok(info(context, stream).await?.is_some())
}

/// Returns the description of a stream, or `None` if it doesn't exist.
pub(super) async fn info(
    context: &jetstream::Context,
    stream: &str,
) -> Result<Option<jetstream::stream::Info>> {
    match context.get_stream(stream).await {
        Ok(stream) => Ok(Some(stream.cached_info().clone())),
        Err(error) => match error.kind() {
            GetStreamErrorKind::JetStream(cause) if cause.error_code() == ErrorCode::STREAM_NOT_FOUND => {
                Ok(None)
            }
            _ => Err(QueueError::Unavailable { action: "look up the queue's streams", source: error.into() }),
        },
    }
}

async fn ensure_stream(context: &jetstream::Context, wanted: Config) -> Result<()> {
    let found = match info(context, &wanted.name).await? {
        Some(found) => found.config,
        None => match context.create_stream(wanted.clone()).await {
            Ok(created) => created.cached_info().config.clone(),
            // Another process has created it in the meantime.
            Err(error) if matches!(error.kind(), CreateStreamErrorKind::JetStream(cause) if cause.error_code() == ErrorCode::STREAM_NAME_EXIST) => {
                info(context, &wanted.name).await?.map_or_else(|| wanted.clone(), |found| found.config)
            }
            Err(error) => {
                let cause = match error.kind() {
                    CreateStreamErrorKind::JetStream(cause) => cause.error_code(),
                    _ => ErrorCode(0),
                };
                let unsupported = [ErrorCode::STREAM_REPLICAS_NOT_SUPPORTED, ErrorCode::CLUSTER_NO_PEERS];
                if unsupported.contains(&cause) {
                    let (stream, replicas) = (wanted.name, wanted.num_replicas);
                    return Err(QueueError::Replicas { stream, replicas, problem: error.to_string() });
                }
                return Err(QueueError::unavailable("create a stream of the queue")(error));
            }
        },
    };
    let has_limits = found.max_messages > 0 || found.max_bytes > 0 || !found.max_age.is_zero();
    let limit_differs = found.max_messages_per_subject.max(0) != wanted.max_messages_per_subject;
    for (is_wrong, problem) in [
        (found.subjects != wanted.subjects, "its subjects differ"),
        (found.retention != wanted.retention, "its retention policy differs"),
        (limit_differs, "its limit per subject differs"),
        (found.storage != StorageType::File, "it isn't stored in files"),
        (has_limits, "it has a limit on messages, bytes or age, beyond which it drops records"),
    ] {
        if is_wrong {
            return Err(QueueError::Incompatible { stream: wanted.name, problem: problem.to_owned() });
        }
    }
    ensure_replicas(context, &wanted.name, wanted.num_replicas).await
}

/// Raises a stream's number of replicas, but never lowers it.
async fn ensure_replicas(context: &jetstream::Context, stream: &str, replicas: usize) -> Result<()> {
    let Some(found) = info(context, stream).await? else { return Ok(()) };
    let before = found.config.num_replicas;
    if before >= replicas {
        return Ok(());
    }
    let raised = Config { num_replicas: replicas, ..found.config };
    context.update_stream(raised).await.map(drop).map_err(|error| match error.kind() {
        CreateStreamErrorKind::JetStream(_) => {
            let problem = format!("it is stored on {before}, and the server rejected the change: {error}");
            QueueError::Replicas { stream: stream.to_owned(), replicas, problem }
        }
        _ => QueueError::Unavailable { action: "store the queue on more servers", source: error.into() },
    })
}
