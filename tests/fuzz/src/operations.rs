//! The table of all calls of the client, which the conformance tests own.

#[path = "../../conformance/tests/conformance/operations/table.rs"]
mod table;

use std::future::Future;
use std::pin::Pin;

use idempost::Client;
use serde::Serialize;
use serde_json::Value;

pub(crate) use table::OPERATIONS;

/// An operation as a call of the client.
pub(crate) struct Operation {
    #[expect(dead_code, reason = "the table names it")]
    pub(crate) id: &'static str,
    #[expect(dead_code, reason = "the table names it")]
    pub(crate) call: &'static str,
    pub(crate) run: for<'a> fn(&'a Client, [&'a str; 3]) -> Call<'a>,
}

/// A call in flight.
type Call<'a> = Pin<Box<dyn Future<Output = idempost::Result<Value>> + 'a>>;

fn as_json(value: &impl Serialize) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}
