//! Small shared values in key-value buckets.
//!
//! A bucket is a stream with one subject per key. Reading and writing that subject directly saves a request for the stream's description, and reads
//! from the stream's leader: after a failed replacement, the worker needs the latest value.

use async_nats::jetstream;
use bytes::Bytes;
use futures_util::TryStreamExt;

use super::{CONTROL, NatsJob, RATE, streams};
use crate::queue::{CellKey, QueueError, Result};

impl NatsJob {
    pub(super) fn bucket_and_key(&self, key: CellKey<'_>) -> (&'static str, String) {
        match key {
            CellKey::Control => (CONTROL, format!("$KV.{CONTROL}.{}", self.job)),
            CellKey::Rate(scope) => (RATE, format!("$KV.{RATE}.{scope}")),
        }
    }
}

/// Returns all values in a bucket; none if the bucket doesn't exist.
pub(super) async fn load_all(
    context: &jetstream::Context,
    bucket: &'static str,
) -> Result<Vec<(String, Bytes)>> {
    let action = "list the jobs of the queue";
    if streams::info(context, &format!("KV_{bucket}")).await?.is_none() {
        return Ok(Vec::new());
    }
    let store = context.get_key_value(bucket).await.map_err(QueueError::unavailable(action))?;
    let keys = store.keys().await.map_err(QueueError::unavailable(action))?;
    let keys: Vec<String> = keys.try_collect().await.map_err(QueueError::unavailable(action))?;
    let mut values = Vec::with_capacity(keys.len());
    for key in keys {
        if let Some(value) = store.get(&key).await.map_err(QueueError::unavailable(action))? {
            values.push((key, value));
        }
    }
    Ok(values)
}
