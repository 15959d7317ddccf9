//! The identity of a machine.

use std::{
    fmt, fs,
    io::{self, Write as _},
    path::Path,
};

use rand::RngCore as _;
use tempfile::NamedTempFile;

use crate::error::{BulkError, Result};

/// The identity of the machine that runs a job.
///
/// On Linux it is derived from `/etc/machine-id` with a keyed hash, since the machine ID itself is confidential. Elsewhere, and where there is no
/// machine ID, it is a random number in a file of the user.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct HostId(pub(crate) [u8; 16]);

impl HostId {
    /// Returns the ID of this machine. `file` has the random ID; it is created if it is needed and doesn't exist.
    pub(crate) fn load(file: &Path) -> Result<Self> {
        let machine =
            if cfg!(target_os = "linux") { fs::read_to_string("/etc/machine-id") } else { Ok(String::new()) };
        Self::from_machine_id(&machine.unwrap_or_default()).map_or_else(|| Self::from_file(file), Ok)
    }

    fn from_machine_id(machine: &str) -> Option<Self> {
        let machine = machine.trim();
        // systemd writes this text into images that are still to be set up.
        if machine.is_empty() || machine == "uninitialized" {
            return None;
        }
        let hash = blake3::derive_key("idempost bulk 2026 host id", machine.as_bytes());
        hash.first_chunk().map(|id| Self(*id))
    }

    fn from_file(file: &Path) -> Result<Self> {
        if let Some(id) = read(file)? {
            return Ok(id);
        }
        let mut id = [0; 16];
        rand::thread_rng().fill_bytes(&mut id);
        create(file, Self(id)).map_err(BulkError::io("write", file))?;
        // Another process may have been first.
        read(file)?.ok_or_else(|| {
            BulkError::NotRunnable(format!(
                "{} doesn't contain a host ID; delete the file to create a new one",
                file.display()
            ))
        })
    }
}

fn read(file: &Path) -> Result<Option<HostId>> {
    match fs::read_to_string(file) {
        Ok(text) => Ok(parse(text.trim())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(BulkError::io("read", file)(error)),
    }
}

fn parse(text: &str) -> Option<HostId> {
    (text.len() == 32).then(|| u128::from_str_radix(text, 16).ok())?.map(|id| HostId(id.to_be_bytes()))
}

/// Creates the file with its whole content, unless it exists.
fn create(file: &Path, id: HostId) -> io::Result<()> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let mut new = NamedTempFile::new_in(folder)?;
    writeln!(new, "{id}")?;
    new.as_file().sync_all()?;
    match new.persist_noclobber(file) {
        Err(error) if error.error.kind() != io::ErrorKind::AlreadyExists => Err(error.error),
        _ => Ok(()),
    }
}

impl fmt::Display for HostId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", u128::from_be_bytes(self.0))
    }
}

impl fmt::Debug for HostId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_id_is_hashed() {
        let machine = "b08dfa6083e7567a1921a715000001fb";
        let id = HostId::from_machine_id(&format!("{machine}\n")).unwrap();
        assert_eq!(Some(id), HostId::from_machine_id(machine));
        assert_ne!(id.to_string(), machine);
        assert_eq!(HostId::from_machine_id("uninitialized\n"), None);
        assert_eq!(HostId::from_machine_id("\n"), None);
    }

    #[test]
    fn a_random_id_is_created_once() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("state/host");
        let id = HostId::from_file(&file).unwrap();
        assert_eq!(HostId::from_file(&file).unwrap(), id);
        assert_ne!(HostId::from_file(&folder.path().join("other")).unwrap(), id);
        assert_eq!(HostId::load(&file).unwrap(), HostId::load(&file).unwrap());
        create(&file, HostId([7; 16])).unwrap();
        assert_eq!(HostId::from_file(&file).unwrap(), id, "an existing ID is kept");
    }

    #[test]
    fn a_file_without_an_id_is_not_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("host");
        fs::write(&file, "something else\n").unwrap();
        assert!(HostId::from_file(&file).unwrap_err().to_string().contains("delete the file"));
        assert_eq!(fs::read_to_string(&file).unwrap(), "something else\n");
    }
}
