//! A job's storage as a whole.

use std::{path::Path, time::Duration};

use bytes::Bytes;

use super::{INTENTS, JOBS, NatsJob, RESULTS, entries::LEASE, ledger::Written, streams};
use crate::queue::{Cell, CellKey, Identity, JobFile, QueueError, Result, Storage};

impl Storage for NatsJob {
    fn job(&self) -> &str {
        &self.job
    }

    fn lease_time(&self) -> Duration {
        self.queue.options.lease.unwrap_or(LEASE)
    }

    async fn load(&self, key: CellKey<'_>) -> Result<Option<Cell>> {
        let (bucket, subject) = self.bucket_and_key(key);
        let message = self.last(&format!("KV_{bucket}"), &subject, "read a shared value").await?;
        Ok(message.map(|message| Cell { value: message.payload, revision: message.sequence }))
    }

    async fn store(&self, key: CellKey<'_>, value: Bytes, expected: Option<u64>) -> Result<Option<u64>> {
        let (_, subject) = self.bucket_and_key(key);
        match self.write(subject, value, expected.unwrap_or(0), "write a shared value").await? {
            Written::At(revision) => Ok(Some(revision)),
            Written::Conflict => Ok(None),
        }
    }

    async fn upload(&self, file: &JobFile, from: &Path) -> Result<()> {
        self.upload_file(file, from).await
    }

    async fn download(&self, file: &JobFile, to: &Path) -> Result<()> {
        self.download_file(file, to).await
    }

    async fn restore(&self, generation: &str) -> Result<()> {
        streams::ensure(self.context(), self.queue.options.replicas).await?;
        // A work queue rejects a second consumer for the same subject.
        self.delete_other_consumers(generation).await?;
        self.use_generation(generation);
        self.ensure_consumer().await
    }

    fn use_generation(&self, generation: &str) {
        generation.clone_into(&mut self.generation.lock());
    }

    async fn identity(&self) -> Result<Option<Identity>> {
        let (Some(intents), Some(results), Some(jobs)) = (
            streams::info(self.context(), INTENTS).await?,
            streams::info(self.context(), RESULTS).await?,
            streams::info(self.context(), JOBS).await?,
        ) else {
            return Ok(None);
        };
        let Some(consumer) = self.consumer_info("look up the job's consumer").await? else {
            return Ok(None);
        };
        Ok(Some(Identity {
            intents: intents.created.to_string(),
            last_intent: intents.state.last_sequence,
            results: results.created.to_string(),
            last_result: results.state.last_sequence,
            entries: format!("{} {}", jobs.created, consumer.created),
        }))
    }

    async fn drop_entries(&self) -> Result<()> {
        self.purge(JOBS, self.jobs_subject()).await
    }

    async fn clear(&self) -> Result<()> {
        self.drop_entries().await?;
        if streams::exists(self.context(), JOBS).await? {
            self.delete_other_consumers("").await?;
        }
        self.purge(INTENTS, format!("bulk.intents.{}.*", self.job)).await?;
        self.purge(RESULTS, format!("bulk.results.{}.*", self.job)).await?;
        self.delete_files().await
    }
}

impl NatsJob {
    async fn purge(&self, stream: &str, filter: String) -> Result<()> {
        let action = "remove the records of the job";
        if !streams::exists(self.context(), stream).await? {
            return Ok(());
        }
        let stream =
            self.context().get_stream_no_info(stream).await.map_err(QueueError::unavailable(action))?;
        stream.purge().filter(filter).await.map(drop).map_err(QueueError::unavailable(action))
    }

    /// Deletes the job's consumers from other generations.
    async fn delete_other_consumers(&self, generation: &str) -> Result<()> {
        use futures_util::TryStreamExt;

        let action = "look up the job's consumer";
        let stream = self.context().get_stream(JOBS).await.map_err(QueueError::unavailable(action))?;
        let names: Vec<String> =
            stream.consumer_names().try_collect().await.map_err(QueueError::unavailable(action))?;
        let current = format!("{}-{generation}", self.job);
        for name in names {
            // The generation is hexadecimal, so the prefix identifies the job even if another job's name starts with this job's name.
            let of_this_job = name.rsplit_once('-').is_some_and(|(job, _)| job == &*self.job);
            if of_this_job && name != current {
                stream.delete_consumer(&name).await.map_err(QueueError::unavailable(action))?;
            }
        }
        Ok(())
    }
}
