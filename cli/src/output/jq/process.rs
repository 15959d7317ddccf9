//! Runs a filter in a separate process. A stack overflow or exhausted memory ends only that process: the library bounds neither.
//!
//! The program starts itself with [`ARGUMENT`] and the expression. Each line on standard input is a document, each line on standard output its
//! result: `{"lines": […]}` or `{"error": "…"}`.

use std::ffi::OsString;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::channel;

use serde_json::{Value, json};

use super::Jq;
use crate::processes;

/// The argument that selects the filter process.
const ARGUMENT: &str = "__jq";
/// The filter's address space limit in bytes.
#[cfg(unix)]
const MAX_MEMORY: u64 = 1024 * 1024 * 1024;

/// Whether an expression is a path such as `.data[] | .id`, whose output is never larger than the document. Everything else can grow: by
/// definitions and loops, but also by `"x" * 1000000000` or `(., .) | (., .) | …`.
pub(super) fn is_path(expression: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || "._[]|? ".contains(c);
    let is_step = |step: &str| step.trim_start().starts_with('.');
    expression.len() <= 1_000
        && expression.chars().all(fits)
        && !expression.contains("..")
        && expression.split('|').all(is_step)
}

/// A filter in a separate process.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    documents: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Process {
    /// Starts the process, which waits for documents.
    pub(super) fn start(expression: &str) -> io::Result<Self> {
        let mut command = Command::new(processes::current_program()?);
        command
            .args([ARGUMENT, expression])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        // Ctrl-C must end only the program, which then ends the filter: otherwise it would report a failure.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = command.spawn()?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (documents, answers) = pipes.ok_or_else(|| io::Error::other("a process without pipes"))?;
        Ok(Self { child, documents, answers: BufReader::new(answers) })
    }

    /// Runs the filter on one document.
    pub(super) fn run(&mut self, document: &Value, terminal: bool) -> Result<Vec<String>, String> {
        let asked = writeln!(self.documents, "{}", json!({ "document": document, "terminal": terminal }));
        let mut result = String::new();
        asked.and_then(|()| self.answers.read_line(&mut result)).map_err(|error| error.to_string())?;
        let result: Value = serde_json::from_str(&result).unwrap_or_default();
        if let Some(error) = result["error"].as_str() {
            return Err(error.to_owned());
        }
        let lines =
            result["lines"].as_array().ok_or("the filter nests too deeply or needs too much memory")?;
        Ok(lines.iter().filter_map(|line| line.as_str().map(str::to_owned)).collect())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It has no state to save.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs as the filter process if the arguments say so.
pub(crate) fn serve(arguments: &[OsString]) -> Option<u8> {
    let [_, argument, expression] = arguments else { return None };
    if argument != ARGUMENT {
        return None;
    }
    limit_resources();
    let filter = Jq::compile(expression.to_str()?).ok()?;
    let (send, documents) = channel();
    std::thread::spawn(move || {
        for line in io::stdin().lock().lines().map_while(Result::ok) {
            let _ = send.send(line);
        }
        // The program has exited, but an endless filter would continue.
        std::process::exit(0);
    });
    for line in documents {
        let asked: Value = serde_json::from_str(&line).unwrap_or_default();
        let result = match filter.run_in_process(&asked["document"], asked["terminal"] == true) {
            Ok(lines) => json!({ "lines": lines }),
            Err(error) => json!({ "error": error }),
        };
        if writeln!(io::stdout(), "{result}").is_err() {
            break;
        }
    }
    Some(0)
}

/// Limits the memory, disables core dumps, and exits with the parent process.
fn limit_resources() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, setrlimit};
        for (resource, most) in [(Resource::As, MAX_MEMORY), (Resource::Core, 0)] {
            // If a limit can't be set, the system's default applies.
            let _ = setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) });
        }
    }
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
}
