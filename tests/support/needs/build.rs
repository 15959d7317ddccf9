//! Recompiles the tests when a program is installed or removed.
//!
//! The build script of this crate rather than of the crates that have such tests, so that neither the program nor the libraries
//! have one, and a new `PATH` rebuilds tests only.

use std::path::Path;

fn main() {
    println!("cargo::rerun-if-env-changed=PATH");
    println!("cargo::rerun-if-env-changed=NATS_SERVER");
    let path = std::env::var_os("PATH").unwrap_or_default();
    for folder in std::env::split_paths(&path).filter(|folder| is_flat(folder)) {
        // A directory's modification time changes with its entries.
        println!("cargo::rerun-if-changed={}", folder.display());
    }
}

/// Whether the directory exists and has no subdirectories. Cargo visits a watched directory with everything below it at every
/// build, and `C:\Windows\System32` is too large for that.
fn is_flat(folder: &Path) -> bool {
    std::fs::read_dir(folder).is_ok_and(|mut entries| {
        entries.all(|entry| entry.and_then(|entry| entry.file_type()).is_ok_and(|kind| !kind.is_dir()))
    })
}
