//! Webhook deliveries: the `webhooks` of the document.

use std::collections::BTreeMap;

use bytes::Bytes;
use http::HeaderMap;
use serde_json::Value;

use super::document::Document;
use super::message::{Body, Text, sample};

/// The rules for deliveries, by event type.
pub(super) struct Deliveries {
    by_type: BTreeMap<String, Rule>,
}

struct Rule {
    headers: Vec<Text>,
    body: Body,
}

impl Deliveries {
    pub(super) fn read(document: &Document) -> Self {
        let webhooks = document.node("/webhooks");
        let entries = webhooks.iter().flat_map(super::document::Node::entries);
        let rules = entries.map(|(kind, item)| {
            let post = item.get("post").expect("deliveries are POST requests");
            let headers = post.get("parameters").map(|list| list.items()).unwrap_or_default();
            let headers = headers.iter().map(|node| Text::read(node.text("name").unwrap_or_default(), node));
            let body = post.get("requestBody").and_then(|node| Body::read(&node));
            let rule = Rule { headers: headers.collect(), body: body.expect("deliveries have JSON bodies") };
            (kind.to_owned(), rule)
        });
        Self { by_type: rules.collect() }
    }

    pub(super) fn types(&self) -> impl Iterator<Item = &str> {
        self.by_type.keys().map(String::as_str)
    }

    pub(super) fn breaches(&self, headers: &HeaderMap, body: &Bytes) -> Vec<String> {
        let value = serde_json::from_slice::<Value>(body).unwrap_or_default();
        let kind = value["type"].as_str().unwrap_or_default();
        let Some(rule) = self.by_type.get(kind) else {
            return vec![format!("there is no event of the type {kind:?}: {}", sample(body))];
        };
        let mut breaches: Vec<_> =
            rule.headers.iter().flat_map(|header| header.breaches_among(headers)).collect();
        breaches.extend(rule.body.breaches(headers, body));
        breaches
    }
}
