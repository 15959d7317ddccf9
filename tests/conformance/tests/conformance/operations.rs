//! Every operation of the contract as a call of the client, one line per operation.
//!
//! The lines are executed, not parsed: the request of a call determines its operation. They prove that nothing is missing
//! (`completeness`), that every possible response is decoded (`generated`), and that no ID escapes its path segment (`hostile`).

mod document;
mod table;

use std::{future::Future, pin::Pin};

use idempost::{
    Client,
    call::RetryPolicy,
    testing::{RecordedRequest, Reply, ScriptedTransport},
};
use serde::Serialize;
use serde_json::Value;

pub(crate) use document::{Described, Document, nameless};
pub(crate) use table::OPERATIONS;

/// An operation as a call of the client.
pub(crate) struct Operation {
    /// Its `operationId`.
    pub(crate) id: &'static str,
    /// The call as source text.
    pub(crate) call: &'static str,
    run: Run,
}

type Run = for<'a> fn(&'a Client, [&'a str; 3]) -> Came<'a>;
type Came<'a> = Pin<Box<dyn Future<Output = idempost::Result<Value>> + 'a>>;

impl Operation {
    /// Returns the operation with this name.
    pub(crate) fn named(id: &str) -> Option<&'static Self> {
        OPERATIONS.iter().find(|operation| operation.id == id)
    }

    /// Makes the call with these IDs; returns its result as JSON, and the request.
    pub(crate) fn run(
        &self,
        ids: [&str; 3],
        status: u16,
        answer: &Value,
    ) -> (idempost::Result<Value>, Vec<RecordedRequest>) {
        let script = ScriptedTransport::new([Reply::bytes(status, answer.to_string()).repeat()]);
        let client =
            Client::builder().base_url("http://127.0.0.1:9").api_key("sb_test").transport(script.clone());
        let client = client.retry(RetryPolicy::never()).build().unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let came = runtime.block_on((self.run)(&client, ids));
        (came, script.take_requests())
    }
}

fn as_json(value: &impl Serialize) -> Value {
    serde_json::to_value(value).unwrap()
}
