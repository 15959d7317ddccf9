//! What can go wrong: a problem with its place, a failure with its exit code, and what was under way when it came.

mod fail;
mod in_flight;
mod problem;

pub(crate) use fail::{EXIT_CODES, Fail, Kind, Signal};
pub(crate) use in_flight::{Begun, InFlight};
pub(crate) use problem::{Found, Missing, Origin, Problem, Report, place};
