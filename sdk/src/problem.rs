//! Validation problems, all reported together with location and rule before anything is sent.
//!
//! The limits are listed in `docs/specification.md`, Limits. The service may change a limit at any time, so
//! [`Call::skip_validation`](crate::Call::skip_validation) sends the input anyway.

mod address;
mod json_reason;
pub mod limits;
mod path;
mod pointer;
mod problems;
mod setting;
#[macro_use]
mod validator;

pub(crate) use address::{
    Mailbox, find_fault as address_fault, mailbox, quote_display_name as quoted_address,
};
pub use json_reason::json_reason;
pub(crate) use path::find_fault as path_fault;
pub use path::path_segment;
pub use pointer::push_token;
pub use problems::{Problem, Problems};
pub use setting::SettingsError;
pub(crate) use setting::mask_credentials;
pub use validator::Validate;
pub(crate) use validator::{Validator, present};

/// Returns the code and the location of each problem, such as `length /name, address /to/1`, for tests.
#[cfg(test)]
pub(crate) fn codes(checked: Result<(), Problems>) -> String {
    let problems = checked.err().map(Problems::into_vec).unwrap_or_default();
    let codes =
        problems.iter().map(|problem| format!("{} {}", problem.code, problem.path).trim_end().to_owned());
    codes.collect::<Vec<_>>().join(", ")
}
