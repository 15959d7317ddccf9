//! Properties of the calls of tools.

use std::sync::OnceLock;

use serde_json::Value;

use super::tools::{self, Tool};
use super::{Access, call::Runner};

/// A line with the name of a tool, and its arguments as JSON; `tree` creates the command tree. The command line runs the tool's own command, and no argument becomes a flag.
pub(crate) fn tools(data: &[u8], tree: fn() -> clap::Command) {
    static TOOLS: OnceLock<(clap::Command, Vec<Tool>)> = OnceLock::new();
    let (tree, tools) = TOOLS.get_or_init(|| {
        let tree = tree();
        let tools = tools::list_tools(&tree, Access::Manage);
        (tree, tools)
    });
    let end = data.iter().position(|byte| *byte == b'\n').unwrap_or(data.len());
    let name = String::from_utf8_lossy(&data[..end]);
    let Some(tool) = tools.iter().find(|tool| tool.name() == name) else { return };
    let Ok(Value::Object(arguments)) = serde_json::from_slice(data.get(end + 1..).unwrap_or_default()) else {
        return;
    };
    let runner = Runner::new("idempost".into(), vec!["--output=json".into(), "--no-input".into()]);
    let Ok(line) = runner.command_line(tool, &arguments) else { return };
    let program = std::iter::once("idempost".into());
    let Ok(matches) = tree.clone().try_get_matches_from(program.chain(line)) else { return };
    let (mut path, mut here) = (Vec::new(), &matches);
    while let Some((name, inner)) = here.subcommand() {
        path.push(name);
        here = inner;
    }
    assert_eq!(path.join(" "), tool.command);
    // Only the arguments of the call are set.
    for id in here.ids() {
        let given = here.value_source(id.as_str()) == Some(clap::parser::ValueSource::CommandLine);
        let argument = tool.parameters.iter().find(|one| {
            one.name == id.as_str()
                || one.flag.as_deref() == Some(&format!("--{}", id.as_str().replace('_', "-")))
        });
        if let (true, Some(argument)) = (given, argument) {
            assert!(arguments.contains_key(&argument.name), "{} was set by {arguments:?}", argument.name);
        }
    }
    for forbidden in ["api_key", "api_key_file", "base_url", "profile", "sandbox", "yes"] {
        let global = matches.try_contains_id(forbidden).is_ok()
            && matches.value_source(forbidden) == Some(clap::parser::ValueSource::CommandLine);
        assert!(!global, "--{forbidden} was set by {arguments:?}");
    }
}
