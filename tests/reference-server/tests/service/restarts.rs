//! A sandbox that is closed and opened again.

use std::ops::Deref;
use std::path::Path;

use idempost_sandbox::persistence::{self, Persistence};
use idempost_sandbox::{ClockStart, Settings};
use jiff::Timestamp;
use tempfile::TempDir;

use crate::support::Sandbox;

/// A sandbox with a data folder of its own. It is closed when it is dropped.
pub(crate) struct Restartable {
    pub(crate) folder: TempDir,
    /// `None` while it is closed.
    opened: Option<(Sandbox, Persistence)>,
}

impl Restartable {
    pub(crate) fn new() -> Self {
        Self::with(Settings::default())
    }

    pub(crate) fn with(settings: Settings) -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { opened: Some(open_with(folder.path(), settings)), folder }
    }

    pub(crate) fn restart(&mut self) {
        self.restart_with(Settings::default());
    }

    pub(crate) fn restart_with(&mut self, settings: Settings) {
        self.close();
        self.opened = Some(open_with(self.folder.path(), settings));
    }

    fn close(&mut self) {
        if let Some((sandbox, persistence)) = self.opened.take() {
            close(sandbox, persistence);
        }
    }
}

impl Deref for Restartable {
    type Target = Sandbox;

    fn deref(&self) -> &Sandbox {
        &self.opened.as_ref().unwrap().0
    }
}

impl Drop for Restartable {
    fn drop(&mut self) {
        // A test that has already failed has its own message.
        if !std::thread::panicking() {
            self.close();
        }
    }
}

pub(crate) fn open_with(folder: &Path, settings: Settings) -> (Sandbox, Persistence) {
    let noon: Timestamp = "2026-03-02T12:00:00Z".parse().unwrap();
    let settings = Settings { clock: ClockStart::Frozen(noon), beta: true, ..settings };
    let (service, persistence) =
        persistence::open(folder, settings, |_| panic!("it could not be written")).unwrap();
    (Sandbox::over(service), persistence)
}

pub(crate) fn close(sandbox: Sandbox, persistence: Persistence) {
    assert!(persistence.close());
    drop(sandbox);
}
