use serde_json::json;

use super::*;

fn send(body: &str) -> Request {
    let mut headers = HeaderMap::new();
    headers.insert("authorization", "Bearer sb_test".parse().unwrap());
    headers.insert("content-type", "application/json".parse().unwrap());
    Request {
        method: Method::POST,
        path: "/emails".into(),
        query: String::new(),
        headers,
        body: Bytes::copy_from_slice(body.as_bytes()),
    }
}

fn list(query: &str) -> Request {
    let mut request = send("");
    request.method = Method::GET;
    request.headers.remove("content-type");
    request.query = query.into();
    request
}

const LEAST: &str = r#"{"from":"hi@acme.test","to":"ada@example.com","subject":"Hello","text":"It works"}"#;
const ACCEPTED: &str = r#"{"id":"4ef9a417-02e9-4d39-ad75-9611e0fcc33c"}"#;

#[track_caller]
fn one_breach(breaches: &[String], holds: &str) {
    assert!(
        breaches.len() == 1 && breaches[0].contains(holds),
        "one violation with {holds:?}, found {breaches:#?}"
    );
}

#[test]
fn documented_requests_and_responses_keep_the_contract() {
    let contract = Contract::get();
    assert_eq!(contract.breaches_of_request(&send(LEAST)), Vec::<String>::new());
    assert_eq!(contract.breaches_of_request(&list("limit=100&after=x")), Vec::<String>::new());
    assert_eq!(
        contract.breaches_of_answer(&Method::POST, "/emails", &Answer::json(200, ACCEPTED)),
        Vec::<String>::new()
    );
}

#[test]
fn a_misspelled_field_violates_the_contract_at_every_depth() {
    let contract = Contract::get();
    for (body, name) in [
        (LEAST.replace("\"text\"", "\"replyTo\":\"a@b.c\",\"text\""), "replyTo"),
        (LEAST.replace("\"text\"", r#""tags":[{"name":"a","value":"b","vlaue":"c"}],"text""#), "vlaue"),
        (
            LEAST.replace("\"text\"", r#""attachments":[{"content":"","contentType":"a/b"}],"text""#),
            "contentType",
        ),
        (r#"{"to":"a@b.c","template":{"id":"x","vars":{}}}"#.to_owned(), "vars"),
    ] {
        one_breach(&contract.breaches_of_request(&send(&body)), name);
    }
}

#[test]
fn client_and_service_enforce_the_limits() {
    let contract = Contract::get();
    let with_recipients = |n: usize| {
        let to = vec!["ada@example.com"; n];
        send(&LEAST.replace("\"ada@example.com\"", &serde_json::to_string(&to).unwrap()))
    };
    assert!(contract.breaches_of_request(&with_recipients(50)).is_empty());
    assert!(!contract.breaches_of_request(&with_recipients(51)).is_empty());
    assert!(!contract.breaches_of_request(&with_recipients(0)).is_empty());
    assert!(contract.breaches_of_request(&list("limit=1")).is_empty());
    for wrong in ["limit=0", "limit=101", "limit=5abc", "limit=1.5", "limit=1&limit=2", "page=2"] {
        assert!(!contract.breaches_of_request(&list(wrong)).is_empty(), "{wrong} passed");
    }
}

#[test]
fn a_template_and_a_body_exclude_each_other_and_one_is_required() {
    let contract = Contract::get();
    let template = r#"{"to":"a@b.c","template":{"id":"welcome"}}"#;
    assert!(contract.breaches_of_request(&send(template)).is_empty());
    for wrong in [
        template.replace("\"template\"", r#""text":"","template""#),
        template.replace("\"template\"", r#""html":"x","template""#),
        LEAST.replace(r#","text":"It works""#, ""),
        LEAST.replace("It works", ""),
    ] {
        assert!(!contract.breaches_of_request(&send(&wrong)).is_empty(), "{wrong} passed");
    }
}

#[test]
fn a_credential_is_required_and_unknown_headers_violate_the_contract() {
    let contract = Contract::get();
    let mut request = send(LEAST);
    request.headers.remove("authorization");
    one_breach(&contract.breaches_of_request(&request), "authorization");

    let mut request = send(LEAST);
    request.headers.insert("idempotency_key", "x".parse().unwrap());
    one_breach(&contract.breaches_of_request(&request), "idempotency_key");

    let mut request = send(LEAST);
    request.headers.insert("idempotency-key", "x".repeat(256).parse().unwrap());
    assert!(contract.breaches_of_request(&request).is_empty());
    request.headers.insert("idempotency-key", "x".repeat(257).parse().unwrap());
    one_breach(&contract.breaches_of_request(&request), "Idempotency-Key");
}

#[test]
fn a_response_may_add_fields_and_may_not_omit_any() {
    let contract = Contract::get();
    let judge = |answer: &Answer| contract.breaches_of_answer(&Method::POST, "/emails", answer);
    assert!(judge(&Answer::json(200, &ACCEPTED.replace('}', r#","more":1}"#))).is_empty());
    one_breach(&judge(&Answer::json(200, "{}")), "id");
    one_breach(&judge(&Answer::json(200, r#"{"id":"17"}"#)), "uuid");
    one_breach(&judge(&Answer::json(418, "{}")), "418");
    let error = |status, code: u16, name| {
        Answer::json(status, &format!(r#"{{"statusCode":{code},"name":"{name}","message":"y"}}"#))
    };
    one_breach(&judge(&error(422, 400, "validation_error")), "/statusCode");
    one_breach(&judge(&error(422, 422, "x")), "no error name x");

    let mut without = Answer::json(200, ACCEPTED);
    without.headers.remove("ratelimit-reset");
    one_breach(&judge(&without), "ratelimit-reset");
    one_breach(&judge(&error(429, 429, "rate_limit_exceeded")), "retry-after");
}

#[test]
fn a_response_of_an_own_route_has_the_declared_status_type_and_fields_and_no_others() {
    let document = json!({
        "paths": {"/_/items": {"get": {"operationId": "x", "responses": {
            "200": {"content": {"application/json": {"schema": {
                "type": "object",
                "required": ["data"],
                "properties": {"data": {"type": "array", "items": {"$ref": "#/components/schemas/Item"}}},
            }}}},
            "4XX": {},
        }}}},
        "components": {"schemas": {"Item": {
            "type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}, "name": {"type": "string"}},
        }}},
    });
    let successes = Successes::compile(document);
    let judge = |answer: &Answer| successes.breaches(&Method::GET, "/_/items", answer);
    assert_eq!(judge(&Answer::json(200, r#"{"data":[{"id":1},{"id":2,"name":"x"}]}"#)), Vec::<String>::new());
    one_breach(&judge(&Answer::json(200, r#"{"data":[{"name":"x"}]}"#)), "id");
    one_breach(&judge(&Answer::json(200, r#"{"data":[{"id":1,"more":1}]}"#)), "more");
    one_breach(&judge(&Answer::json(200, r#"{"data":[],"more":1}"#)), "more");
    one_breach(&judge(&Answer::json(201, "{}")), "201");
    let mut text = Answer::json(200, "x");
    text.headers.insert("content-type", HeaderValue::from_static("text/plain; charset=utf-8"));
    one_breach(&judge(&text), "text/plain");
}

#[test]
fn a_literal_path_takes_precedence_over_a_parameter() {
    let contract = Contract::get();
    assert_eq!(contract.operation_id(&Method::POST, "/emails/batch"), Some("send_batch"));
    assert_eq!(contract.operation_id(&Method::GET, "/emails/4ef9a417"), Some("get_email"));
    assert_eq!(contract.operation_id(&Method::GET, "/emails"), Some("list_emails"));
    assert_eq!(contract.operation_id(&Method::GET, "/emails/batch"), None);
    assert_eq!(contract.operation_id(&Method::DELETE, "/emails"), None);
    let not_found = Answer::json(404, r#"{"statusCode":404,"name":"not_found","message":"Not found"}"#);
    assert_eq!(contract.breaches_of_answer(&Method::GET, "/nowhere", &not_found), Vec::<String>::new());
}
