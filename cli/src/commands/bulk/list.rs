//! `bulk list`: the jobs on this machine.

use idempost_bulk::{BulkError, Job};
use serde_json::{Value, json};

use super::{job, status};
use crate::actions::pages::Table;
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::output::table::{Column, Kind};

/// List the jobs on this machine, latest first
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Columns: job, name, state, sent, remaining, rejected, unknown, invalid, created_at, rows, requests, input, base_url, profile, folder\n\n\
    Examples:\n  idempost bulk list\n  idempost bulk list --columns job,state,folder"
)]
pub(crate) struct Args {}

const TABLE: Table = Table::new(&[
    Column::new("job", "JOB", Kind::Id),
    Column::new("name", "NAME", Kind::Text),
    Column::new("state", "STATE", Kind::State),
    Column::new("sent", "SENT", Kind::Text),
    Column::new("remaining", "REMAINING", Kind::Text),
    Column::new("rejected", "REJECTED", Kind::Text),
    Column::new("unknown", "UNKNOWN", Kind::Text),
    Column::new("invalid", "INVALID", Kind::Text),
    Column::new("created_at", "PLANNED", Kind::Time),
    Column::new("rows", "ROWS", Kind::Text).optional(),
    Column::new("requests", "REQUESTS", Kind::Text).optional(),
    Column::new("input", "INPUT", Kind::Text).optional(),
    Column::new("base_url", "BASE URL", Kind::Text).optional(),
    Column::new("profile", "PROFILE", Kind::Text).optional(),
    Column::new("folder", "FOLDER", Kind::Text).optional(),
])
.nothing("no jobs yet");

pub(super) async fn run(Args {}: Args, context: &Context) -> Result<(), Fail> {
    let columns = TABLE.columns(context)?;
    let folder = job::folder(context)?;
    let mut rows: Vec<Value> = Vec::new();
    for path in job::list_folders(&folder)? {
        let read = async {
            let job = Job::inspect(&path).await?;
            Ok::<_, BulkError>(status::document(&job, &job.status().await?))
        };
        match read.await {
            Ok(row) => rows.push(row),
            Err(error) => {
                context.out.warn(&crate::output::report::message(&error.into()));
                let job = path.file_name().map(|name| name.to_string_lossy());
                rows.push(json!({ "object": "bulk_job", "job": job, "state": "damaged", "folder": path }));
            }
        }
    }
    TABLE.print(&json!({ "object": "list", "data": rows, "has_more": false }), &columns, context)
}
