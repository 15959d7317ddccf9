//! The jobs on this machine, and the `JOB` argument of commands.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use idempost_bulk::{Job, JobState, Plan};
use jiff::Timestamp;
use tempfile::TempDir;

use crate::actions::repeat::quote_argument;
use crate::context::Context;
use crate::diagnostics::{Fail, Origin};
use crate::files::if_found;
use crate::settings::paths;

// The argument that names a job; no doc comment, which would replace the command's own.
#[derive(Debug, clap::Args)]
#[group(skip)]
pub(super) struct JobArg {
    /// Job name, ID, start of the ID, or folder [default: the latest job]
    #[arg(value_name = "JOB")]
    pub(super) job: Option<String>,
}

/// The folder that contains a folder per job.
pub(super) struct Jobs {
    pub(super) path: PathBuf,
    /// Removes the folder at the end, for jobs whose service ends with the command.
    temporary: Option<TempDir>,
}

impl Jobs {
    /// A folder for new jobs: a temporary one if the service ends with this command, or `temporary` is set.
    pub(super) fn open(temporary: bool, context: &Context) -> Result<Self, Fail> {
        if !temporary && !context.global.sandbox {
            return Ok(Self { path: folder(context)?, temporary: None });
        }
        let made = tempfile::Builder::new().prefix("idempost-bulk-").tempdir();
        let made = made.map_err(|error| Fail::local("couldn't create a temporary folder", error))?;
        Ok(Self { path: made.path().to_owned(), temporary: Some(made) })
    }

    /// Whether jobs outlive the command.
    pub(super) fn is_persistent(&self) -> bool {
        self.temporary.is_none()
    }
}

/// The folder of the jobs at a sandbox that ends with `sandbox run`.
fn sandbox_folder(context: &Context) -> Option<PathBuf> {
    let (sandbox, folder) = context.env.get(paths::SANDBOX_JOBS)?.split_once(' ')?;
    let base_url = context.settings().ok()?.base_url.as_ref()?;
    (base_url.value.as_str().trim_end_matches('/') == sandbox).then(|| folder.into())
}

/// The folder of the jobs on this machine.
pub(super) fn folder(context: &Context) -> Result<PathBuf, Fail> {
    if let Some(folder) = sandbox_folder(context) {
        return Ok(folder);
    }
    let state = paths::state_dir(&context.env)?;
    state.map(|folder| folder.join("bulk")).ok_or_else(|| {
        Fail::error("there is no home directory to store jobs in").hint("set HOME or XDG_STATE_HOME")
    })
}

/// The `JOB` argument of a command to copy: the job's ID, or its folder if that isn't among the jobs on this machine.
pub(super) fn argument(plan: &Plan, context: &Context) -> String {
    let (id, dir) = (plan.id(), plan.dir());
    let is_listed = folder(context).is_ok_and(|jobs| jobs.join(id) == dir);
    if is_listed { id.to_owned() } else { quote_argument(&dir.to_string_lossy()) }
}

/// The time of a job's last change: of its journal, or else of its plan.
pub(super) fn last_changed(folder: &Path) -> Timestamp {
    let modified = |name| folder.join(name).metadata().and_then(|file| file.modified()).ok();
    modified("journal").or_else(|| modified("job.json")).and_then(|at| at.try_into().ok()).unwrap_or_default()
}

/// The folders of all jobs, the latest first: by the last change of the journal, or else of the plan.
pub(super) fn list_folders(jobs: &Path) -> Result<Vec<PathBuf>, Fail> {
    let entries = if_found(std::fs::read_dir(jobs))
        .map_err(|error| Fail::local(format!("couldn't read {}", jobs.display()), error))?;
    let Some(entries) = entries else { return Ok(Vec::new()) };
    let changed = |path: &Path| path.metadata().and_then(|file| file.modified()).ok();
    let mut found: Vec<(SystemTime, PathBuf)> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| !name(path).starts_with('.'))
        .filter_map(|path| {
            let planned = changed(&path.join("job.json"))?;
            Some((changed(&path.join("journal")).map_or(planned, |ran| ran.max(planned)), path))
        })
        .collect();
    found.sort_by(|a, b| b.cmp(a));
    Ok(found.into_iter().map(|(_, path)| path).collect())
}

/// The part of a job that workers may be sending although no process collects their results.
pub(super) async fn part_with_only_workers(job: &Job) -> Result<Option<Job>, Fail> {
    let dir = job.plan().dir();
    let earlier = job.plan().earlier_parts().iter().map(|id| dir.with_file_name(id));
    for folder in earlier.filter(|folder| folder.exists()).chain([dir.to_owned()]) {
        let part = Job::inspect(folder).await?;
        if part.is_distributed()
            && matches!(part.status().await?.state, JobState::Stopped | JobState::Canceled)
        {
            return Ok(Some(part));
        }
    }
    Ok(None)
}

/// The folder of the named job, or of the latest one.
pub(super) fn find(job: Option<&str>, context: &Context) -> Result<PathBuf, Fail> {
    let none = |message: String| Fail::not_found(message).hint("idempost bulk list");
    if let Some(path) = job.map(Path::new).filter(|path| path.join("job.json").is_file()) {
        return std::path::absolute(path).map_err(|error| Fail::local("couldn't resolve the folder", error));
    }
    let all = list_folders(&folder(context)?)?;
    let Some(job) = job else {
        return all
            .first()
            .map(|path| latest_part(path, &all))
            .ok_or_else(|| none("there are no jobs yet; start one: idempost bulk send FILE".to_owned()));
    };
    if let Some(exact) = all.iter().find(|path| name(path) == job) {
        return Ok(exact.clone());
    }
    if let Some(named) = all.iter().find(|path| plan(path)["name"] == job) {
        return Ok(latest_part(named, &all));
    }
    let mut started = all.into_iter().filter(|path| !job.is_empty() && name(path).starts_with(job));
    let first = started.next().ok_or_else(|| none(format!("there is no job `{job}`")))?;
    let others: Vec<PathBuf> = started.collect();
    if others.is_empty() {
        return Ok(first);
    }
    let names: Vec<_> = std::iter::once(&first).chain(&others).map(|path| name(path)).collect();
    let rule = format!("several jobs match: {}", names.join(", "));
    Err(Fail::usage("ambiguous", rule, Some(Origin::flag("JOB", job))))
}

/// Opens the named job, or the latest one, for inspection. Its input may have changed.
pub(super) async fn inspect(job: Option<&str>, context: &Context) -> Result<Job, Fail> {
    Job::inspect(find(job, context)?).await.map_err(Fail::from)
}

/// Opens the latest part of the named job, to pause or cancel the whole job; an ID can name an earlier part.
pub(super) async fn inspect_whole(job: Option<&str>, context: &Context) -> Result<Job, Fail> {
    let named = find(job, context)?;
    let latest = latest_part(&named, &list_folders(crate::files::folder(&named))?);
    if latest != named {
        context.out.note(&format!("job {} is an earlier part of {}", name(&named), name(&latest)));
    }
    Job::inspect(latest).await.map_err(Fail::from)
}

/// Returns the latest started part of the job that a folder is a part of. A run first sends the rest of the earlier parts, so after an interruption,
/// the most recently changed journal can be in one of those.
fn latest_part(part: &Path, all: &[PathBuf]) -> PathBuf {
    let id = name(part);
    let place = |folder: &Path| {
        let plan = plan(folder);
        let after = plan["after"].as_array()?;
        after.iter().any(|earlier| *earlier == *id).then_some(after.len())
    };
    // A lost journal must not hide a part.
    let started =
        all.iter().filter(|path| ["journal", "account.json"].iter().any(|file| path.join(file).exists()));
    let later = started.filter_map(|path| Some((place(path)?, path))).max();
    later.map_or(part, |(_, path)| path).to_owned()
}

fn plan(folder: &Path) -> serde_json::Value {
    let text = std::fs::read(folder.join("job.json")).unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
}

/// The name of a job's folder, which is its ID.
fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_latest_started_part_is_the_job_even_if_an_earlier_one_ran_last() {
        let folder = tempfile::tempdir().unwrap();
        let parts = [("a-1", vec![], true), ("b-1", vec!["a-1"], true), ("c-1", vec!["a-1", "b-1"], false)];
        let paths = parts.map(|(id, after, started)| {
            let path = folder.path().join(id);
            std::fs::create_dir(&path).unwrap();
            std::fs::write(
                path.join("job.json"),
                json!({ "name": "people.csv", "after": after }).to_string(),
            )
            .unwrap();
            if started {
                std::fs::write(path.join("journal"), []).unwrap();
            }
            path
        });
        assert_eq!(latest_part(&paths[0], &paths), paths[1]);
        assert_eq!(latest_part(&paths[1], &paths), paths[1]);
        assert_eq!(latest_part(&paths[2], &paths), paths[2]);
    }
}
