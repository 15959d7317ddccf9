//! A sandbox that serves HTTP, for responses that wait, stream or are interrupted.

use std::ops::Deref;
use std::sync::Arc;

use http::Method;
use idempost_sandbox::{ReferenceServer, Settings};
use serde_json::Value;

use crate::support::{Answer, KEY, Sandbox, http_client};

/// Its other requests are handled in the process.
pub(crate) struct Served {
    pub(crate) server: ReferenceServer,
    client: reqwest::Client,
    sandbox: Sandbox,
}

impl Deref for Served {
    type Target = Sandbox;

    fn deref(&self) -> &Sandbox {
        &self.sandbox
    }
}

impl Served {
    pub(crate) async fn start(settings: Settings) -> Self {
        Self::over(idempost_sandbox::start(settings).await)
    }

    pub(crate) fn over(server: ReferenceServer) -> Self {
        let sandbox = Sandbox::over(Arc::clone(server.service()));
        Self { server, client: http_client(), sandbox }
    }

    /// A request over HTTP.
    pub(crate) fn request(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        self.client.request(method, format!("{}{path}", self.server.base_url())).bearer_auth(KEY)
    }

    /// Sends a request over HTTP, without a body if it is null.
    pub(crate) async fn over_http(&self, method: Method, path: &str, body: &Value) -> Answer {
        let request = self.request(method, path);
        answer(match body {
            Value::Null => request,
            body => request.header("content-type", "application/json").body(body.to_string()),
        })
        .await
    }
}

pub(crate) async fn answer(request: reqwest::RequestBuilder) -> Answer {
    let response = request.send().await.unwrap();
    let (status, headers) = (response.status(), response.headers().clone());
    Answer { status, headers, body: response.bytes().await.unwrap() }
}
