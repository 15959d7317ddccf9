//! A call of a tool: its arguments as a command line, and the command's result.

use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;

use serde_json::{Deserializer, Map, Value};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::Command;
use tokio::sync::Semaphore;

use super::TOKEN;
use super::tools::{Kind, Parameter, Tool};
use crate::literal;
use crate::output::secret;

/// The maximum size of a result, in bytes: a larger one wouldn't fit a model's context.
const MAX_RESULT: u64 = 1024 * 1024;
/// The maximum number of processes per core: commands mostly wait for the service.
const PROCESSES_PER_CORE: usize = 4;

/// Runs this program.
#[derive(Clone, Debug)]
pub(super) struct Runner {
    program: PathBuf,
    /// Arguments of every call.
    common: Vec<String>,
    /// Limits the processes at a time: the other calls wait.
    slots: Arc<Semaphore>,
}

impl Runner {
    pub(super) fn new(program: PathBuf, common: Vec<String>) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self { program, common, slots: Arc::new(Semaphore::new(cores * PROCESSES_PER_CORE)) }
    }

    /// Runs a command, unless the application has canceled the call by then. It runs to its end, even if the call is canceled meanwhile: an
    /// interrupted send would have an unknown outcome. Returns its output without secrets, or its error, as JSON if it printed one.
    pub(super) async fn run(
        &self,
        command_line: Vec<String>,
        is_canceled: impl Fn() -> bool + Send + 'static,
    ) -> Result<Value, String> {
        let runner = self.clone();
        let ran = tokio::spawn(async move {
            let _slot = runner.slots.acquire().await;
            if is_canceled() {
                return Ok(Err("the application canceled the call; nothing was done".to_owned()));
            }
            runner.output(command_line).await
        });
        match ran.await {
            Ok(Ok(ran)) => ran,
            Ok(Err(error)) => Err(format!("couldn't run the command: {error}")),
            Err(_) => Err("the command was aborted".to_owned()),
        }
    }

    /// The command's words are arguments of the process; the others are on its standard input, since a system limits the length of arguments and
    /// shows them to other users.
    async fn output(&self, command_line: Vec<String>) -> std::io::Result<Result<Value, String>> {
        let words = command_line.iter().take_while(|word| !word.starts_with('-')).count();
        let (words, others) = command_line.split_at(words);
        let others = serde_json::to_vec(others)?;
        let mut child = Command::new(&self.program)
            .args(words)
            .env(literal::VARIABLE, literal::ARGUMENTS_ON_STDIN)
            .env_remove("IDEMPOST_FORCE_TTY")
            .env_remove(TOKEN)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            // A command that ended early reports why.
            let _ = stdin.write_all(&others).await;
        }
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let (stdout, stderr) = tokio::try_join!(read_bounded(stdout), read_bounded(stderr))?;
        let status = child.wait().await?;
        if !status.success() {
            let text = String::from_utf8_lossy(&stderr);
            let error = text.lines().rev().find(|line| line.starts_with("{\"error\"")).unwrap_or(text.trim());
            return Ok(Err(secret::redact(error).into_owned()));
        }
        if stdout.len() as u64 > MAX_RESULT {
            return Ok(Err(format!(
                "the result exceeds {MAX_RESULT} bytes; request less, for example with `limit`"
            )));
        }
        let values: Result<Vec<Value>, _> = Deserializer::from_slice(&stdout).into_iter().collect();
        let mut value = match values {
            Ok(mut values) if values.len() == 1 => values.remove(0),
            Ok(values) => values.into(),
            // An export or a message.
            Err(_) => String::from_utf8_lossy(&stdout).into(),
        };
        secret::redact_credentials(&mut value);
        Ok(Ok(value))
    }

    /// The command line of a call. The error names the argument, the rule and the value.
    pub(super) fn command_line(
        &self,
        tool: &Tool,
        arguments: &Map<String, Value>,
    ) -> Result<Vec<String>, String> {
        if let Some(unknown) =
            arguments.keys().find(|name| !tool.parameters.iter().any(|one| one.name == **name))
        {
            return Err(format!("`{unknown}` isn't an argument of {}", tool.name()));
        }
        let (mut flags, mut places) = (Vec::new(), Vec::new());
        for parameter in &tool.parameters {
            let Some(value) = arguments.get(&parameter.name).filter(|value| !value.is_null()) else {
                continue;
            };
            match (value, &parameter.kind) {
                (Value::Array(values), _) if parameter.repeats => {
                    for value in values {
                        add(parameter, value, &mut flags, &mut places)?;
                    }
                }
                (Value::Object(pairs), Kind::Pairs { separator, json }) => {
                    for (name, value) in pairs {
                        let pair = pair(parameter, name, separator, value, *json)?;
                        add(parameter, &pair, &mut flags, &mut places)?;
                    }
                }
                _ => add(parameter, value, &mut flags, &mut places)?,
            }
        }
        let path = tool.command.split(' ').map(str::to_owned);
        let end = (!places.is_empty()).then(|| "--".to_owned());
        Ok(path.chain(self.common.iter().cloned()).chain(flags).chain(end).chain(places).collect())
    }
}

/// Reads a stream to its end, but retains only slightly more than the maximum.
async fn read_bounded(stream: Option<impl AsyncRead + Unpin>) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(mut stream) = stream {
        (&mut stream).take(MAX_RESULT + 1).read_to_end(&mut bytes).await?;
        tokio::io::copy(&mut stream, &mut tokio::io::sink()).await?;
    }
    Ok(bytes)
}

/// Adds one value as an argument. Flags and values are one argument each (`--to=…`), so that no value can become a flag.
fn add(
    parameter: &Parameter,
    value: &Value,
    flags: &mut Vec<String>,
    places: &mut Vec<String>,
) -> Result<(), String> {
    let wrong = |rule: &str| Err(format!("`{}` must be {rule}; found {value}", parameter.name));
    let text = match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(_) if matches!(parameter.kind, Kind::Boolean) => Some(value.to_string()),
        Value::Array(_) | Value::Object(_) if matches!(parameter.kind, Kind::Json) => Some(value.to_string()),
        _ => None,
    };
    match (&parameter.kind, value, text, &parameter.flag) {
        (Kind::Switch | Kind::SwitchOrText, Value::Bool(false), ..) => {}
        (Kind::Switch | Kind::SwitchOrText, Value::Bool(true), _, Some(flag)) => flags.push(flag.clone()),
        (Kind::Switch, ..) => return wrong("true or false"),
        (Kind::Choice(choices), _, Some(text), _) if !choices.contains(&text) => {
            return wrong(&format!("one of {}", choices.join(", ")));
        }
        (_, _, Some(text), Some(flag)) => flags.push(format!("{flag}={text}")),
        (_, _, Some(text), None) => places.push(text),
        _ => return wrong("a string or a number"),
    }
    Ok(())
}

/// A member of an object in command line form, such as `NAME=Ada`.
fn pair(
    parameter: &Parameter,
    name: &str,
    separator: &str,
    value: &Value,
    json: bool,
) -> Result<Value, String> {
    let wrong = |rule: &str| Err(format!("`{}` must {rule}; found {name:?}: {value}", parameter.name));
    if name.contains(separator.trim_end()) {
        return wrong(&format!("have names without `{}`", separator.trim_end()));
    }
    let text = match value {
        value if json => value.to_string(),
        Value::String(text) => text.clone(),
        Value::Number(_) | Value::Bool(_) => value.to_string(),
        _ => return wrong("have a string as each value"),
    };
    Ok(format!("{name}{separator}{text}").into())
}
