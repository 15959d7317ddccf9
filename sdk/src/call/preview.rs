//! A request as it would be sent.

use http::{HeaderMap, Method};
use url::Url;

use super::operation::Operation;
use crate::{body::BodyPart, types::IdempotencyKey};

/// A request that was not sent.
pub struct Preview {
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    pub(super) operation: Operation,
}

impl Preview {
    /// Returns the HTTP method.
    pub fn method(&self) -> &Method {
        &self.operation.method
    }

    /// Returns the complete URL.
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// Returns the URL's path and query.
    pub fn path_and_query(&self) -> String {
        self.operation.path_and_query()
    }

    /// Returns the headers without the credential.
    pub fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// Returns the idempotency key.
    pub fn idempotency_key(&self) -> Option<&IdempotencyKey> {
        self.operation.key.as_ref()
    }

    /// Returns the body in the order in which it would be sent; attachments and files are represented by their size.
    pub fn body_parts(&self) -> Vec<BodyPart> {
        self.operation.body.parts()
    }
}

partial_debug! {
    /// `Debug` prints only the operation's name: the request can contain private data.
    Preview { operation = [operation.name] }
}
