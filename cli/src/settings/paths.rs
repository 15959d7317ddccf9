//! Where the program keeps its files, the same on Linux and macOS.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use etcetera::BaseStrategy as _;

use super::env::Env;

/// The program's folder inside a base directory.
const FOLDER: &str = "posthaste";

/// The folder of `config.toml`: `POSTHASTE_CONFIG_DIR`, `$XDG_CONFIG_HOME/posthaste`, `~/.config/posthaste`.
///
/// None where the machine knows no home folder.
pub(crate) fn config_dir(env: &Env) -> Option<PathBuf> {
    if let Some(folder) = env.path("POSTHASTE_CONFIG_DIR") {
        return Some(folder);
    }
    // A relative base directory is to be ignored by the XDG rules.
    if let Some(base) = env.path("XDG_CONFIG_HOME").filter(|base| base.is_absolute()) {
        return Some(base.join(FOLDER));
    }
    #[cfg(windows)]
    let base = etcetera::base_strategy::Windows::new().ok()?.config_dir();
    #[cfg(not(windows))]
    let base = match env.path("HOME") {
        Some(home) => home.join(".config"),
        None => etcetera::base_strategy::Xdg::new().ok()?.config_dir(),
    };
    Some(base.join(FOLDER))
}

/// The folder of what the program has to remember, such as cursors: `state` in `POSTHASTE_CONFIG_DIR`, else `$XDG_STATE_HOME/posthaste`,
/// `~/.local/state/posthaste`.
///
/// None where the machine knows no home folder.
pub(crate) fn state_dir(env: &Env) -> Option<PathBuf> {
    if let Some(folder) = env.path("POSTHASTE_CONFIG_DIR") {
        return Some(folder.join("state"));
    }
    if let Some(base) = env.path("XDG_STATE_HOME").filter(|base| base.is_absolute()) {
        return Some(base.join(FOLDER));
    }
    #[cfg(windows)]
    let base = etcetera::base_strategy::Windows::new().ok()?.cache_dir();
    #[cfg(not(windows))]
    let base = match env.path("HOME") {
        Some(home) => home.join(".local/state"),
        None => etcetera::base_strategy::Xdg::new().ok()?.state_dir()?,
    };
    Some(base.join(FOLDER))
}

/// The configuration file.
pub(crate) fn config_file(env: &Env) -> Option<PathBuf> {
    config_dir(env).map(|folder| folder.join("config.toml"))
}

/// Replaces a file as a whole or not at all, readable by its owner only; makes its folder (0700) if there is none.
///
/// A link is followed, so that a file kept elsewhere (with other dotfiles) stays there.
pub(crate) fn write_whole(path: &Path, text: &str) -> io::Result<()> {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    create_dir(folder)?;
    // Created with mode 0600 by the library.
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(&path).map_err(|refused| refused.error)?;
    // The new name lasts only once the folder is on the disk, too.
    #[cfg(unix)]
    std::fs::File::open(folder)?.sync_all()?;
    Ok(())
}

/// Makes a folder (0700) with all that it lies in.
pub(crate) fn create_dir(folder: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// The permission bits of a file or folder, where the system has such.
pub(crate) fn mode(path: &Path) -> Option<u32> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::metadata(path).ok().map(|facts| facts.permissions().mode() & 0o777)
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
    fn the_folder_is_named_by_the_first_variable_that_is_set() {
        let all = [("POSTHASTE_CONFIG_DIR", "/a"), ("XDG_CONFIG_HOME", "/b"), ("HOME", "/c")];
        assert_eq!(config_dir(&Env::of(&all)), Some("/a".into()));
        assert_eq!(config_dir(&Env::of(&all[1..])), Some("/b/posthaste".into()));
        assert_eq!(
            config_dir(&Env::of(&[("XDG_CONFIG_HOME", "relative"), ("HOME", "/c")])),
            Some("/c/.config/posthaste".into())
        );
    }

    #[test]
    fn what_is_remembered_lies_where_state_belongs() {
        let all = [("POSTHASTE_CONFIG_DIR", "/a"), ("XDG_STATE_HOME", "/b"), ("HOME", "/c")];
        assert_eq!(state_dir(&Env::of(&all)), Some("/a/state".into()));
        assert_eq!(state_dir(&Env::of(&all[1..])), Some("/b/posthaste".into()));
        assert_eq!(state_dir(&Env::of(&all[2..])), Some("/c/.local/state/posthaste".into()));
    }

    #[cfg(unix)]
    #[test]
    fn a_file_is_written_for_its_owner_alone_and_through_a_link() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("new/config.toml");
        write_whole(&path, "a").unwrap();
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (Some(0o600), Some(0o700)));

        let link = home.path().join("link.toml");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        write_whole(&link, "b").unwrap();
        assert!(link.is_symlink());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "b");
    }
}
