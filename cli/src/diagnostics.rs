//! Errors: problems with their locations, failures with their exit codes, and the state of calls in flight.

mod fail;
mod in_flight;
mod problem;

pub(crate) use fail::{EXIT_CODES, Fail, Kind, Signal, repeatable_with};
pub(crate) use in_flight::{InFlight, NextStep, Operation};
pub(crate) use problem::{Diagnostic, Diagnostics, Missing, Origin, Problem, line_and_column};
