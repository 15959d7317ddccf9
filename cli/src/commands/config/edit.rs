//! `config edit`: opens the configuration file in an editor and validates the result.

use std::io::Write as _;

use tokio::runtime::Builder;

use crate::actions::editor;
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::files;
use crate::settings::file::ConfigFile;
use crate::settings::store::{self, ConfigStore};
use crate::signals::Signals;

/// Open the configuration file in $VISUAL or $EDITOR
///
/// The editor opens a copy. The copy replaces the file if it is valid and the file hasn't changed in the meantime.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  EDITOR='code --wait' idempost config edit")]
pub(crate) struct Args {}

/// Opens the editor and validates the saved copy.
pub(super) fn run(Args {}: &Args, context: &Context) -> Result<(), Fail> {
    let path = store::path(&context.env)?;
    let failed = |error| Fail::local(format!("couldn't edit {}", path.display()), error);
    // Not parsed: this command is how a broken file is repaired.
    let read = || files::read(&path, 1 << 20, false).map_err(failed);
    let before = read()?;
    let folder = files::folder(&path);
    files::create_dir(folder).map_err(failed)?;
    let mut copy =
        tempfile::Builder::new().prefix("config-").suffix(".toml").tempfile_in(folder).map_err(failed)?;
    copy.write_all(before.as_deref().unwrap_or(b"# idempost help config\n")).map_err(failed)?;
    // Closed: on Windows some editors couldn't replace an open file.
    let copy = copy.into_temp_path();
    let runtime = Builder::new_current_thread().enable_all().build().map_err(failed)?;
    runtime.block_on(async {
        let mut signals = Signals::listen()?;
        tokio::select! {
            opened = editor::open(&copy, context) => opened,
            signal = signals.next() => Err(Fail::interrupted(signal)),
        }
    })?;
    // Editors may replace the file, so it is reopened by name.
    let edited = ConfigFile::read(&copy).and_then(|file| {
        let store = ConfigStore::lock(&context.env)?;
        if read()? != before {
            let message = format!("{} changed while the editor was open", path.display());
            return Err(Fail::error(message));
        }
        store.write(file.as_ref().map(|file| &*file.text).unwrap_or_default())?;
        Ok(file)
    });
    let file = match edited {
        Ok(file) => file,
        Err(fail) => {
            let edited = copy.keep().map_err(|error| failed(error.error))?;
            let hint =
                format!("{} is unchanged; the edited version is in {}", path.display(), edited.display());
            return Err(fail.hint(hint));
        }
    };
    for found in file.iter().flat_map(ConfigFile::unknown_settings) {
        let hint = found.hint.map(|hint| format!("; {hint}")).unwrap_or_default();
        context.out.warn(&format!("{}{hint}", found.problem.message));
    }
    Ok(())
}
