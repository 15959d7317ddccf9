//! Tests of plans through their files and requests.

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use super::*;
use crate::Format;

mod identity;
mod inputs;
mod random;
mod requests;
mod rows;

/// A folder with inputs and jobs.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(crate::files::tests::folder())
    }

    fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    fn jobs(&self) -> PathBuf {
        self.0.path().join("jobs")
    }

    /// Plans an input without options.
    fn plan(&self, input: Input, message: &Message) -> Result<Plan> {
        plan(input, message, &PlanOptions::default(), &self.jobs())
    }

    /// Plans a CSV file with this content.
    fn csv(&self, content: impl AsRef<[u8]>, message: &Message) -> Result<Plan> {
        self.plan(Input::csv(self.file("people.csv", content)), message)
    }

    /// Plans a JSON Lines file with these rows.
    fn json(&self, rows: &[Value], message: &Message) -> Result<Plan> {
        let lines = rows.iter().map(Value::to_string).collect::<Vec<_>>().join("\n");
        self.plan(Input::json_lines(self.file("people.jsonl", lines)), message)
    }
}

/// Options that change what is sent.
fn options(job: JobOptions) -> PlanOptions {
    PlanOptions { job, ..PlanOptions::default() }
}

fn message() -> Message {
    Message::new().from("Acme <hi@acme.test>").subject("Hello").html("<p>Hi</p>")
}

fn prepare_all(plan: &Plan) -> Vec<Prepared> {
    let mut preparer = plan.preparer().unwrap();
    (0..plan.batches()).map(|batch| preparer.prepare(batch).unwrap()).collect()
}

/// Returns the emails of all requests, in order.
fn emails(plan: &Plan) -> Vec<Value> {
    let bodies =
        prepare_all(plan).into_iter().map(|prepared| serde_json::from_slice(&prepared.body).unwrap());
    bodies.flat_map(|body| if let Value::Array(emails) = body { emails } else { vec![body] }).collect()
}

fn describe_plan(plan: &Plan) -> Vec<String> {
    plan.problems().iter().map(ToString::to_string).collect()
}

fn error(result: Result<Plan>) -> String {
    result.unwrap_err().to_string()
}
