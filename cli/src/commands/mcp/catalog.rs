//! Listed tools, and tools found on demand: a list of all would fill a model's context.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rmcp::model::{JsonObject, Tool as ToolRecord, ToolAnnotations};
use serde_json::{Map, Value, json};

use super::Access;
use super::tools::Tool;

/// The groups listed by default, which most senders need.
const SENDER: [&str; 5] = ["emails", "received", "domains", "templates", "doctor"];
/// The tool that describes further commands.
pub(super) const COMMANDS: &str = "commands";
/// The tools that run them.
const READ: &str = "read_command";
const CHANGE: &str = "change_command";
/// The maximum size of the list, in bytes of JSON.
const MAX_LIST: usize = 48 * 1024;

/// A tool and the arguments of its call.
type ToolCall<'a> = (&'a Tool, Map<String, Value>);

/// All tools that an application may call.
pub(super) struct Catalog {
    listed: BTreeMap<String, Tool>,
    /// The tools that `commands` describes.
    further: BTreeMap<String, Tool>,
}

impl Catalog {
    /// Lists only the tools of these groups; without any, the default ones, with the others on demand. The error is the rule that the groups
    /// violate, and their names.
    pub(super) fn new(tools: Vec<Tool>, only: &[String]) -> Result<Self, (String, String)> {
        let groups: BTreeSet<_> = tools.iter().map(|tool| tool.group().to_owned()).collect();
        if let Some(unknown) = only.iter().find(|name| !groups.contains(*name)) {
            let known: Vec<_> = groups.into_iter().collect();
            return Err((format!("--only must name groups of tools: {}", known.join(", ")), unknown.clone()));
        }
        let is_listed = |tool: &Tool| match only {
            [] => SENDER.contains(&tool.group()),
            only => only.iter().any(|name| name == tool.group()),
        };
        let (listed, further): (Vec<_>, Vec<_>) = tools.into_iter().partition(is_listed);
        let by_name = |tools: Vec<Tool>| tools.into_iter().map(|tool| (tool.name(), tool)).collect();
        let further = if only.is_empty() { by_name(further) } else { BTreeMap::new() };
        let catalog = Self { listed: by_name(listed), further };
        let size = serde_json::to_string(&catalog.records()).map_or(usize::MAX, |text| text.len());
        if size > MAX_LIST {
            let rule = format!(
                "--only must name fewer groups: their tools would take {size} bytes of a model's context; the limit is {MAX_LIST}"
            );
            return Err((rule, only.join(",")));
        }
        Ok(catalog)
    }

    /// The tools as the protocol lists them.
    pub(super) fn records(&self) -> Vec<ToolRecord> {
        let on_demand = if self.further.is_empty() { Vec::new() } else { self.on_demand() };
        self.listed.values().map(record).chain(on_demand).collect()
    }

    pub(super) fn record(&self, name: &str) -> Option<ToolRecord> {
        self.records().into_iter().find(|record| record.name == name)
    }

    /// Resolves a call to a tool and its arguments; `None` if there is no such tool. The error is the rule that the arguments violate.
    pub(super) fn find(
        &self,
        name: &str,
        arguments: Map<String, Value>,
    ) -> Option<Result<ToolCall<'_>, String>> {
        if let Some(tool) = self.listed.get(name) {
            return Some(Ok((tool, arguments)));
        }
        let changes = match name {
            READ => false,
            CHANGE => true,
            _ => return None,
        };
        (!self.further.is_empty()).then(|| self.find_further(changes, arguments))
    }

    fn find_further(&self, changes: bool, mut arguments: Map<String, Value>) -> Result<ToolCall<'_>, String> {
        let command = arguments.remove("command");
        let inner = arguments.remove("arguments").unwrap_or_else(|| json!({}));
        if let Some(unknown) = arguments.keys().next() {
            return Err(format!(
                "`{unknown}` isn't an argument of this tool; pass the command's arguments in `arguments`"
            ));
        }
        let tool = self.find_tool(command.as_ref())?;
        if changes != (tool.access > Access::Read) {
            let runner = if changes { READ } else { CHANGE };
            return Err(format!("`{}` must be run with `{runner}`", tool.name()));
        }
        match inner {
            Value::Object(inner) => Ok((tool, inner)),
            other => Err(format!("`arguments` must be an object; found {other}")),
        }
    }

    fn find_tool(&self, command: Option<&Value>) -> Result<&Tool, String> {
        let name = command.and_then(Value::as_str).unwrap_or_default().replace([' ', '-'], "_");
        let found = self.further.get(&name).or_else(|| self.listed.get(&name));
        found
            .ok_or_else(|| format!("`command` must be one that `{COMMANDS}` lists; found {}", json!(command)))
    }

    /// Describes one command with its arguments, or lists all; `None` if everything is listed as a tool.
    pub(super) fn commands(&self, arguments: &Map<String, Value>) -> Option<Result<Value, String>> {
        (!self.further.is_empty()).then(|| self.describe(arguments))
    }

    fn describe(&self, arguments: &Map<String, Value>) -> Result<Value, String> {
        if let Some(unknown) = arguments.keys().find(|name| *name != "command") {
            return Err(format!("`{unknown}` isn't an argument of this tool; pass only `command`"));
        }
        if let Some(command) = arguments.get("command").filter(|command| !command.is_null()) {
            let tool = self.find_tool(Some(command))?;
            return Ok(
                json!({"command": tool.name(), "description": tool.description, "arguments": tool.schema(), "run_with": runner(tool)}),
            );
        }
        let about = |tool: &Tool| tool.description.lines().next().unwrap_or_default().to_owned();
        Ok(self
            .further
            .iter()
            .map(|(name, tool)| (name.clone(), about(tool).into()))
            .collect::<Map<_, _>>()
            .into())
    }

    fn on_demand(&self) -> Vec<ToolRecord> {
        let mut groups: Vec<_> = self.further.values().map(Tool::group).collect();
        groups.dedup();
        let command = json!({"type": "string", "description": "Name of the command"});
        let arguments =
            json!({"type": "object", "description": "Its arguments, as `commands` describes them"});
        let one = json!({"type": "object", "properties": {"command": command}});
        let both = json!({"type": "object", "properties": {"command": command, "arguments": arguments}, "required": ["command"]});
        let describe =
            format!("List further commands, or describe the arguments of one. Groups: {}", groups.join(", "));
        let mut records = vec![
            ToolRecord::new(COMMANDS, describe, object(one)).with_annotations(annotations(Access::Read)),
            ToolRecord::new(READ, "Run another read-only command", object(both.clone()))
                .with_annotations(annotations(Access::Read)),
        ];
        let access = self.further.values().map(|tool| tool.access).max();
        if let Some(access @ (Access::Send | Access::Manage)) = access {
            records.push(
                ToolRecord::new(CHANGE, "Run another command that makes a change", object(both))
                    .with_annotations(annotations(access)),
            );
        }
        records
    }
}

fn runner(tool: &Tool) -> &'static str {
    if tool.access > Access::Read { CHANGE } else { READ }
}

fn object(schema: Value) -> Arc<JsonObject> {
    let Value::Object(schema) = schema else { return Arc::default() };
    Arc::new(schema)
}

fn record(tool: &Tool) -> ToolRecord {
    ToolRecord::new(tool.name(), tool.description.clone(), Arc::new(tool.schema()))
        .with_annotations(annotations(tool.access))
}

/// Annotations that differ from the protocol's defaults: mutating, destructive, open world.
fn annotations(access: Access) -> ToolAnnotations {
    let not_destructive = (access == Access::Send).then_some(false);
    ToolAnnotations::from_raw(None, (access == Access::Read).then_some(true), not_destructive, None, None)
}
