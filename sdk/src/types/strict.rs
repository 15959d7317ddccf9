//! Strict decoding of records in tests: reports the fields that a tolerant decoder couldn't read.

use std::cell::RefCell;

use serde::ser::SerializeMap;

thread_local! {
    static PROBLEMS: RefCell<Option<Vec<String>>> = const { RefCell::new(None) };
}

/// Runs `work` and returns the problems that it reported.
pub(crate) fn collect<T>(work: impl FnOnce() -> T) -> (T, Vec<String>) {
    PROBLEMS.set(Some(Vec::new()));
    let result = work();
    (result, PROBLEMS.take().unwrap_or_default())
}

/// Reports a problem, within [`collect`].
pub(crate) fn report(problem: impl FnOnce() -> String) {
    PROBLEMS.with_borrow_mut(|problems| {
        if let Some(problems) = problems {
            problems.push(problem());
        }
    });
}

/// Writes the name of a secret field, within [`collect`]; its value is never serialized.
pub(crate) fn write_name<M: SerializeMap>(map: &mut M, name: &'static str) -> Result<(), M::Error> {
    if PROBLEMS.with_borrow(Option::is_some) { map.serialize_entry(name, &()) } else { Ok(()) }
}
