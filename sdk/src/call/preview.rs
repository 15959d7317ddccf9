//! A request as it would go out.

use std::fmt;

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
    /// The HTTP method.
    pub fn method(&self) -> &Method {
        &self.operation.method
    }

    /// The whole address.
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// The address without the base.
    pub fn path_and_query(&self) -> String {
        self.operation.path_and_query()
    }

    /// The headers, without the credential.
    pub fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// The key that the request would carry.
    pub fn key(&self) -> Option<&IdempotencyKey> {
        self.operation.key.as_ref()
    }

    /// The body in the order in which it would be sent; the contents of attachments are told by their size.
    pub fn body_parts(&self) -> Vec<BodyPart> {
        self.operation.body.parts()
    }
}

/// `Debug` names the operation: what it carries can be private.
impl fmt::Debug for Preview {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Preview").field("operation", &self.operation.name).finish_non_exhaustive()
    }
}
