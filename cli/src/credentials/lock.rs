//! The lock around one login: one holder among all processes of this user, until it is released or its process exits.
//!
//! `FileLock` explains why locks are never stale or broken.

use std::fmt::Display;
use std::fs::{File, TryLockError};
use std::io::Read as _;
use std::path::Path;
use std::time::{Duration, Instant};

use idempost::auth::StoreError;
use idempost::auth::files::FileLock;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::place::{LOCK, Place};

/// The first and the maximum polling interval.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(25), Duration::from_millis(250));

/// The holder of a lock, for messages; unknown where a locked file is unreadable to other processes, as on Windows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Holder(Option<Signature>);

/// The holder as written in the lock's file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Signature {
    /// The process ID.
    pid: u32,
    /// The program and command, without arguments.
    command: String,
    /// When it took the lock.
    since: Timestamp,
}

impl Signature {
    fn current() -> Self {
        let mut arguments = std::env::args().skip(1);
        let word = |text: &String| text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
        // Words before the first flag are command names; anything may follow.
        let words: Vec<_> =
            arguments.by_ref().take_while(|text| word(text) && !text.starts_with('-')).take(2).collect();
        let command = std::iter::once("idempost".to_owned()).chain(words).collect::<Vec<_>>().join(" ");
        Self { pid: std::process::id(), command, since: Timestamp::now() }
    }
}

impl Display for Holder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Some(Signature { pid, command, since }) = &self.0 else { return f.write_str("another process") };
        let held = Timestamp::now().duration_since(*since).as_secs().max(0);
        write!(f, "process {pid} ({command}), for {held} s")
    }
}

/// Takes the lock, waiting up to `timeout` for another holder.
pub(super) async fn take(place: &Place, timeout: Duration) -> Result<FileLock, StoreError> {
    place.prepare()?;
    local(place, network)?;
    let path = place.file(LOCK);
    let started = Instant::now();
    let mut pause = BACKOFF.0;
    loop {
        if let Some(mut lock) = FileLock::try_take(&path)? {
            lock.sign(&(serde_json::to_string(&Signature::current()).unwrap_or_default() + "\n"));
            return Ok(lock);
        }
        let left = timeout.saturating_sub(started.elapsed());
        if left.is_zero() {
            return Err(StoreError::Busy { holder: Some(Holder(read_signature(&path)).to_string()) });
        }
        tokio::time::sleep(pause.min(left)).await;
        pause = (pause * 2).min(BACKOFF.1);
    }
}

/// The current holder of the lock, if any.
pub(super) fn holder(place: &Place) -> Option<Holder> {
    let path = place.file(LOCK);
    let file = File::open(&path).ok()?;
    match file.try_lock_shared() {
        // Unlocked explicitly: after closing the file, Windows may do so later.
        Ok(()) => file.unlock().ok().and(None),
        Err(TryLockError::WouldBlock) => Some(Holder(read_signature(&path))),
        Err(TryLockError::Error(_)) => None,
    }
}

fn read_signature(path: &Path) -> Option<Signature> {
    let mut text = String::new();
    File::open(path).ok()?.take(4096).read_to_string(&mut text).ok()?;
    serde_json::from_str(text.trim()).ok()
}

/// Rejects network file systems: a lock there may hold only on this machine.
fn local<N: Display>(place: &Place, network: impl FnOnce(&Path) -> Option<N>) -> Result<(), StoreError> {
    let name = if place.network_lock { None } else { network(&place.folder) };
    name.map_or(Ok(()), |name| {
        Err(StoreError::unavailable(format!(
            "{} is on a network file system ({name}), where locks may not reach other machines; choose a local folder with \
             IDEMPOST_CONFIG_DIR, or set IDEMPOST_NETWORK_HOME=1 if this is the only machine that uses it",
            place.folder.display()
        )))
    })
}

/// The name of a folder's network file system.
#[cfg(target_os = "linux")]
fn network(folder: &Path) -> Option<&'static str> {
    network_name(rustix::fs::statfs(folder).ok()?.f_type)
}

/// The name of a folder's network file system, such as `smbfs`.
#[cfg(target_os = "macos")]
fn network(folder: &Path) -> Option<String> {
    const MNT_LOCAL: u32 = 0x1000;
    let found = rustix::fs::statfs(folder).ok()?;
    let name = found.f_fstypename.iter().map(|byte| char::from(byte.cast_unsigned()));
    (found.f_flags & MNT_LOCAL == 0).then(|| name.take_while(|char| *char != '\0').collect())
}

/// Not detected on other systems.
#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn network(_: &Path) -> Option<&'static str> {
    None
}

/// The file system numbers of statfs(2). The type's width differs between machines.
#[cfg(target_os = "linux")]
fn network_name(kind: impl TryInto<i64>) -> Option<&'static str> {
    Some(match kind.try_into().ok()? & 0xffff_ffff {
        0x6969 => "NFS",
        0x0102_1997 => "9p",
        0x517b | 0xff53_4d42 | 0xfe53_4d42 => "SMB",
        0x00c3_6400 => "Ceph",
        0x5346_414f => "AFS",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::env::Env;

    fn place(home: &tempfile::TempDir) -> Place {
        Place::new(&Env::from_pairs(&[("IDEMPOST_CONFIG_DIR", home.path().to_str().unwrap())]), Some("work"))
            .unwrap()
    }

    fn now<T>(future: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
    }

    #[test]
    fn a_second_holder_is_refused_with_the_name_of_the_first() {
        // E-09
        let home = tempfile::tempdir().unwrap();
        let place = place(&home);
        let held = now(take(&place, Duration::ZERO)).unwrap();
        let Err(StoreError::Busy { holder: Some(who) }) = now(take(&place, Duration::from_millis(60))) else {
            panic!("two holders")
        };
        let expected = format!("process {} (", std::process::id());
        assert!(who.starts_with(if cfg!(windows) { "another process" } else { &expected }), "{who}");
        assert_eq!(holder(&place).unwrap().to_string().split(',').next(), who.split(',').next());
        drop(held);
        assert_eq!(holder(&place), None);
        now(take(&place, Duration::ZERO)).unwrap();
    }

    #[test]
    fn a_lock_is_held_even_if_its_holder_is_unreadable() {
        let home = tempfile::tempdir().unwrap();
        let place = place(&home);
        let mut held = now(take(&place, Duration::ZERO)).unwrap();
        held.sign("?");
        assert_eq!(holder(&place).unwrap().to_string(), "another process");
    }

    #[test]
    fn a_folder_on_a_network_file_system_is_refused_unless_this_is_the_only_machine() {
        // E-09
        let home = tempfile::tempdir().unwrap();
        let error = local(&place(&home), |_| Some("NFS")).unwrap_err().to_string();
        for part in ["(NFS)", "IDEMPOST_CONFIG_DIR", "IDEMPOST_NETWORK_HOME=1", home.path().to_str().unwrap()]
        {
            assert!(error.contains(part), "{error}");
        }
        local(&place(&home), |_| None::<&str>).unwrap();
        for (only, is_local) in [("1", true), ("0", false)] {
            let folder = home.path().to_str().unwrap();
            let env = Env::from_pairs(&[("IDEMPOST_CONFIG_DIR", folder), ("IDEMPOST_NETWORK_HOME", only)]);
            let place = Place::new(&env, Some("work")).unwrap();
            assert_eq!(local(&place, |_| Some("NFS")).is_ok(), is_local);
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn network_file_systems_are_detected_by_number() {
        // E-09
        for (number, name) in [
            (0x6969_i64, Some("NFS")),
            (0x0102_1997, Some("9p")),
            (0x517b, Some("SMB")),
            (0xff53_4d42, Some("SMB")),
            (0xfe53_4d42, Some("SMB")),
            (0x00c3_6400, Some("Ceph")),
            (0x5346_414f, Some("AFS")),
            // The number of CIFS where the type has 32 bits and a sign.
            (-11_317_950, Some("SMB")),
            // ext4
            (0xef53, None),
        ] {
            assert_eq!(network_name(number), name, "{number:#x}");
        }
    }
}
