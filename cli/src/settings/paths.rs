//! The paths of the program's files, the same on Linux and macOS.

use std::fmt;
use std::path::{Path, PathBuf};

use etcetera::base_strategy::{BaseStrategy, choose_base_strategy};

use super::env::Env;
use crate::diagnostics::{Diagnostics, Fail, Origin, Problem};

/// The program's folder inside a base directory.
const FOLDER: &str = "idempost";
/// The variable with the base URL of the sandbox of `sandbox run` and, after a space, the folder of its bulk jobs.
pub(crate) const SANDBOX_JOBS: &str = "IDEMPOST_SANDBOX_JOBS";

/// An environment variable that contains a relative path instead of an absolute one.
///
/// `XDG_*` variables with relative paths are ignored, as the XDG base directory specification requires. `HOME` and `IDEMPOST_CONFIG_DIR` are
/// rejected: using them would select another file in every working directory, and ignoring them a folder that the user didn't choose.
#[derive(Debug)]
pub(crate) struct RelativePath {
    variable: &'static str,
    value: PathBuf,
}

impl fmt::Display for RelativePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} must be an absolute path (found `{}`)", self.variable, self.value.display())
    }
}

impl From<RelativePath> for Fail {
    fn from(path: RelativePath) -> Self {
        let problem =
            Problem::new("", "path", "must be an absolute path").with_value(path.value.display().to_string());
        Self::Usage(Diagnostics::from_problem(problem, Some(Origin::env(path.variable))))
    }
}

/// The folder of `config.toml`: `IDEMPOST_CONFIG_DIR`, `$XDG_CONFIG_HOME/idempost`, `~/.config/idempost`.
///
/// `None` if there is no home directory.
pub(crate) fn config_dir(env: &Env) -> Result<Option<PathBuf>, RelativePath> {
    if let Some(folder) = absolute(env, "IDEMPOST_CONFIG_DIR")? {
        return Ok(Some(folder));
    }
    let base = base_dir(env, "XDG_CONFIG_HOME", ".config", |system| system.config_dir())?;
    Ok(base.map(|base| base.join(FOLDER)))
}

/// The folder for state such as cursors: `state` in `IDEMPOST_CONFIG_DIR`, else `$XDG_STATE_HOME/idempost`,
/// `~/.local/state/idempost`.
///
/// `None` if there is no home directory.
pub(crate) fn state_dir(env: &Env) -> Result<Option<PathBuf>, RelativePath> {
    if let Some(folder) = absolute(env, "IDEMPOST_CONFIG_DIR")? {
        return Ok(Some(folder.join("state")));
    }
    let system_dir = |system: &dyn BaseStrategy| system.state_dir().unwrap_or_else(|| system.cache_dir());
    let base = base_dir(env, "XDG_STATE_HOME", ".local/state", system_dir)?;
    Ok(base.map(|base| base.join(FOLDER)))
}

fn absolute(env: &Env, variable: &'static str) -> Result<Option<PathBuf>, RelativePath> {
    match env.path(variable) {
        Some(value) if value.is_relative() => Err(RelativePath { variable, value }),
        value => Ok(value),
    }
}

/// The base directory that a variable names, or the default one.
fn base_dir(
    env: &Env,
    variable: &str,
    in_home: &str,
    of_system: fn(&dyn BaseStrategy) -> PathBuf,
) -> Result<Option<PathBuf>, RelativePath> {
    let named = env.path(variable).filter(|base| base.is_absolute());
    let home = if cfg!(windows) || named.is_some() { None } else { absolute(env, "HOME")? };
    Ok(named.or_else(|| Some(home?.join(in_home))).or_else(|| Some(of_system(&choose_base_strategy().ok()?))))
}

/// The user's data directory, shared by all programs: `$XDG_DATA_HOME`, `~/.local/share`.
pub(crate) fn data_home(env: &Env) -> Result<PathBuf, Fail> {
    base_dir(env, "XDG_DATA_HOME", ".local/share", |system| system.data_dir())?.ok_or_else(missing_home)
}

/// The user's configuration directory, shared by all programs: `$XDG_CONFIG_HOME`, `~/.config`.
pub(crate) fn config_home(env: &Env) -> Result<PathBuf, Fail> {
    base_dir(env, "XDG_CONFIG_HOME", ".config", |system| system.config_dir())?.ok_or_else(missing_home)
}

fn missing_home() -> Fail {
    Fail::error("there is no home directory").hint("set HOME")
}

/// The configuration file.
pub(crate) fn config_file(env: &Env) -> Result<Option<PathBuf>, RelativePath> {
    Ok(config_dir(env)?.map(|folder| folder.join("config.toml")))
}

/// The permission bits of a file or folder, on systems that have them.
pub(crate) fn permission_bits(path: &Path) -> Option<u32> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::metadata(path).ok().map(|metadata| metadata.permissions().mode() & 0o777)
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_variable_that_is_set_determines_the_folder() {
        let all = [("IDEMPOST_CONFIG_DIR", "/a"), ("XDG_CONFIG_HOME", "/b"), ("HOME", "/c")];
        assert_eq!(config_dir(&Env::from_pairs(&all)).unwrap(), Some("/a".into()));
        assert_eq!(config_dir(&Env::from_pairs(&all[1..])).unwrap(), Some("/b/idempost".into()));
        assert_eq!(
            config_dir(&Env::from_pairs(&[("XDG_CONFIG_HOME", "relative"), ("HOME", "/c")])).unwrap(),
            Some("/c/.config/idempost".into())
        );
    }

    #[test]
    fn state_is_stored_in_the_state_directory() {
        let all = [("IDEMPOST_CONFIG_DIR", "/a"), ("XDG_STATE_HOME", "/b"), ("HOME", "/c")];
        assert_eq!(state_dir(&Env::from_pairs(&all)).unwrap(), Some("/a/state".into()));
        assert_eq!(state_dir(&Env::from_pairs(&all[1..])).unwrap(), Some("/b/idempost".into()));
        assert_eq!(state_dir(&Env::from_pairs(&all[2..])).unwrap(), Some("/c/.local/state/idempost".into()));
    }

    #[test]
    fn a_relative_path_is_refused_only_if_it_is_needed() {
        // E-11
        let message = |pairs: &[(&str, &str)]| config_dir(&Env::from_pairs(pairs)).unwrap_err().to_string();
        assert_eq!(message(&[("HOME", "here")]), "HOME must be an absolute path (found `here`)");
        assert!(message(&[("IDEMPOST_CONFIG_DIR", "here"), ("HOME", "/a")]).contains("IDEMPOST_CONFIG_DIR"));
        assert!(config_dir(&Env::from_pairs(&[("XDG_CONFIG_HOME", "/b"), ("HOME", "here")])).is_ok());
    }
}
