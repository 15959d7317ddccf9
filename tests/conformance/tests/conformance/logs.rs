use http::Method;
use idempost::Email;
use idempost_conformance::bench::Bench;
use serde_json::json;

#[tokio::test]
async fn every_request_is_logged_with_its_response() {
    // GEN-10, LOG-01, LOG-02, LOG-03, LOG-04, LOG-05
    let bench = Bench::start().await;
    let client = bench.builder().user_agent("acme-shop/1.2").build().unwrap();
    client.emails().send(&Email::new("hi@acme.test", "ada@example.com", "Hello").text("x")).await.unwrap();
    client.emails().list().page_size(5).await.unwrap();
    client.emails().get("4ef9a417-02e9-4d39-ad75-9611e0fcc33c").await.unwrap_err();
    bench.post_wrong("/emails", &json!({}));
    let logged = client.logs().list().await.unwrap();
    let lines: Vec<_> = logged
        .data
        .iter()
        .map(|entry| (entry.method.as_str(), entry.endpoint.as_str(), entry.response_status.unwrap()))
        .collect();
    assert_eq!(
        lines,
        [
            ("POST", "/emails", 422),
            ("GET", "/emails/4ef9a417-02e9-4d39-ad75-9611e0fcc33c", 404),
            ("GET", "/emails", 200),
            ("POST", "/emails", 200),
        ]
    );
    let sent = bench.requests()[0].headers["user-agent"].to_str().unwrap().to_owned();
    assert!(sent.starts_with("acme-shop/1.2 ") && sent.contains("idempost/"), "{sent}");
    assert_eq!(logged.data[3].user_agent, Some(sent));
    assert_eq!(logged.data[0].user_agent, None, "a request without a User-Agent has null");
}

#[tokio::test]
async fn teams_see_only_their_own_requests() {
    let bench = Bench::start().await;
    bench.get("/emails");
    let other = bench.builder().api_key("sb_other").build().unwrap();
    assert!(other.logs().list().await.unwrap().data.is_empty());
}

#[tokio::test]
async fn an_operation_without_a_typed_method_is_reached_by_path() {
    let bench = Bench::start().await;
    bench.post_wrong("/emails", &json!({}));
    let list = bench.client().request(Method::GET, "/logs").query("limit", "1").await.unwrap();
    assert_eq!((&list["object"], &list["data"][0]["endpoint"]), (&json!("list"), &json!("/emails")));
}
