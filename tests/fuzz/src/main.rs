//! The program that `tests/fuzz/run` starts: libFuzzer over the target that `FUZZ_TARGET` names.

#![no_main]

use std::path::Path;
use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;

static TARGET: OnceLock<idempost_fuzz::Target> = OnceLock::new();

/// Aborts at panics of this workspace on any thread, caught or not. Those of dependencies count only if nothing catches them: some parsers
/// are called behind `catch_unwind` for that reason.
fn abort_on_own_panics() {
    let report = std::panic::take_hook();
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        // Cargo compiles the workspace with relative paths.
        let is_own = panic.location().is_none_or(|place| Path::new(place.file()).is_relative());
        if is_own { report(panic) } else { usual(panic) }
    }));
}

fuzz_target!(
    init: {
        abort_on_own_panics();
        let name = std::env::var("FUZZ_TARGET").unwrap_or_default();
        let target = idempost_fuzz::target(&name).unwrap_or_else(|| panic!("FUZZ_TARGET names no target: {name:?}"));
        TARGET.get_or_init(|| target);
    },
    |data: &[u8]| {
        if let Some(target) = TARGET.get() {
            (target.run)(data);
        }
    }
);
