//! Small shared values in key-value buckets.
//!
//! A bucket is a stream with one subject per key. Reading and writing that subject directly saves a request for the stream's description, and reads
//! from the stream's leader: after a failed replacement, the worker needs the latest value.

use super::{CONTROL, NatsJob, RATE};
use crate::queue::CellKey;

impl NatsJob {
    pub(super) fn bucket_and_key(&self, key: CellKey<'_>) -> (&'static str, String) {
        match key {
            CellKey::Control => (CONTROL, format!("$KV.{CONTROL}.{}", self.job)),
            CellKey::Rate(scope) => (RATE, format!("$KV.{RATE}.{scope}")),
        }
    }
}
