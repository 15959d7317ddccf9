//! Rows from the application.
//!
//! They are copied to a file before the job is planned: a job reads its rows more than once, and a query may return different rows the second time.

use std::{error::Error, io::Write as _, path::Path, pin::pin};

use futures_core::Stream;
use futures_util::StreamExt as _;
use idempost::problem::Problem;
use serde::Serialize;

use super::Input;
use crate::{
    error::{BulkError, Result},
    files::{self, blocking},
};

/// How many bytes are written per write.
const CHUNK: usize = 256 * 1024;

/// Writes rows to a temporary JSON Lines file in `dir`, the folder of jobs.
///
/// # Errors
/// [`BulkError::Rows`] if a row can't be read, [`BulkError::Input`] if a row can't be serialized to JSON, and [`BulkError::Io`].
pub(crate) async fn spool_rows<S, T, E>(rows: S, dir: &Path) -> Result<Input>
where
    S: Stream<Item = Result<T, E>>,
    T: Serialize,
    E: Into<Box<dyn Error + Send + Sync>>,
{
    let dir = dir.to_owned();
    let mut file = blocking(move || {
        files::create_dir(&dir)?;
        let created = tempfile::Builder::new().prefix(".rows-").tempfile_in(&dir);
        created.map_err(BulkError::io("write", dir))
    })
    .await?;
    let mut rows = pin!(rows);
    let mut buffer = Vec::with_capacity(CHUNK + CHUNK / 4);
    let mut row = 0_u64;
    loop {
        let next = rows.next().await.transpose().map_err(|error| BulkError::Rows(error.into()))?;
        let at_end = next.is_none();
        if let Some(next) = next {
            row += 1;
            if let Err(error) = serde_json::to_writer(&mut buffer, &next) {
                let message = format!("row {row} can't be serialized as JSON: {error}");
                return Err(BulkError::Input(vec![Problem::new("", "json", message)]));
            }
            buffer.push(b'\n');
        }
        if buffer.len() >= CHUNK || at_end {
            (file, buffer) = blocking(move || {
                file.write_all(&buffer).map_err(|error| BulkError::io("write", file.path())(error))?;
                buffer.clear();
                Ok((file, buffer))
            })
            .await?;
        }
        if at_end {
            return Ok(Input::from_spool(file.into_temp_path()));
        }
    }
}
