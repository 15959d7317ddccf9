//! `config edit`: the file in an editor, and a look at it afterwards.

use std::process::Command;

use super::path;
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::settings::file::ConfigFile;
use crate::settings::paths;

/// Open the configuration file in $VISUAL or $EDITOR
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  EDITOR='code --wait' posthaste config edit")]
pub(crate) struct Args {}

/// Opens the editor and checks what was saved.
pub(super) fn run(Args {}: &Args, context: &Context) -> Result<(), Fail> {
    let path = path(context)?;
    let editor = context.env.get("VISUAL").or_else(|| context.env.get("EDITOR"));
    // An editor is set with its flags: `code --wait`.
    let mut words = editor.unwrap_or(if cfg!(windows) { "notepad" } else { "vi" }).split_whitespace();
    let program = words.next().unwrap_or("vi");
    if !path.exists() {
        paths::write_whole(&path, "# posthaste help config\n")
            .map_err(|error| Fail::local(format!("{} cannot be written", path.display()), error))?;
    }
    let status = Command::new(program).args(words).arg(&path).status().map_err(|error| Fail::Local {
        message: format!("the editor `{program}` cannot be started"),
        source: Some(Box::new(error)),
        hint: Some("set VISUAL or EDITOR".to_owned()),
    })?;
    if !status.success() {
        return Err(Fail::Local {
            message: format!("the editor `{program}` failed ({status})"),
            source: None,
            hint: None,
        });
    }
    let file = ConfigFile::read(&path)?;
    for found in file.iter().flat_map(ConfigFile::unknown) {
        let hint = found.hint.map(|hint| format!("; {hint}")).unwrap_or_default();
        context.out.warn(&format!("{}{hint}", found.problem.message));
    }
    Ok(())
}
