//! Properties of the files of addresses.

use std::sync::Arc;

use crate::diagnostics::{Fail, Problem};
use crate::input::addresses::{Addresses, MAX_PROBLEMS};
use crate::input::source::Source;
use crate::output::fuzzing::check_shown;

/// Every address is a part of the file, and so is the position of every problem.
pub(crate) fn addresses(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match Addresses::read(Source::Stdin, &Arc::from(text)) {
        Ok(read) => {
            assert!(read.emails.len() <= text.len().max(1));
            assert!(read.emails.iter().all(|email| email.trim() == email), "{:?}", read.emails);
            let problems =
                (0..read.emails.len().min(20)).map(|index| (index, Problem::new("", "fuzz", "a rule")));
            let found = read.diagnostics(problems.collect());
            check_shown(&Fail::from(found));
        }
        Err(rejected) => {
            assert!(!rejected.found.is_empty() && rejected.found.len() <= MAX_PROBLEMS);
            check_shown(&Fail::from(rejected.found));
        }
    }
}
