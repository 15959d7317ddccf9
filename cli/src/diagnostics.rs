//! What can go wrong: a problem with its place, a failure with its exit code.

mod fail;
mod problem;

pub(crate) use fail::{EXIT_CODES, Fail, Kind, Signal};
pub(crate) use problem::{Found, Origin, Problem, Report, place};
