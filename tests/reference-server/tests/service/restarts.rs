//! A sandbox that is closed and opened again.

use std::path::Path;

use idempost_sandbox::persistence::{self, Persistence};
use idempost_sandbox::{ClockStart, Settings};
use jiff::Timestamp;

use crate::support::Sandbox;

pub(crate) fn open(folder: &Path) -> (Sandbox, Persistence) {
    open_with(folder, Settings::default())
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
