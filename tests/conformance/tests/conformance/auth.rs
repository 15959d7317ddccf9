use http::Method;
use idempost::{BatchEmail, Client, Email, Error, error::ApiErrorKind};
use idempost_conformance::bench::{Bench, EXPECT, Expect};
use idempost_reference_server::{Service, Settings};

use super::least;

const SEND_ROUTES: [&str; 4] = ["/emails", "/email", "/emails/sending", "/email/sending"];

fn email() -> Email {
    Email::new("hi@acme.test", "ada@example.com", "Hello").text("It works")
}

#[tokio::test]
async fn every_call_carries_the_credential() {
    // AUTH-01, AUTH-05
    let bench = Bench::start().await;
    let token = Client::builder().base_url(bench.base_url()).access_token("sb_token").build().unwrap();
    let batch = [BatchEmail::new("hi@acme.test", "ada@example.com", "Hello").text("x")];
    for client in [bench.client(), token] {
        let id = client.emails().send(&email()).await.unwrap().id;
        client.emails().send_batch(&batch).await.unwrap();
        client.emails().list().await.unwrap();
        client.emails().get(&id).await.unwrap();
        client.logs().list().await.unwrap();
        client.request(Method::GET, "/logs").await.unwrap();
    }
    let requests = bench.requests();
    let credentials: Vec<_> = requests.iter().map(|request| &request.headers["authorization"]).collect();
    assert!(credentials[..6].iter().all(|credential| *credential == "Bearer sb_test"));
    assert!(credentials[6..].iter().all(|credential| *credential == "Bearer sb_token"));
}

#[tokio::test]
async fn a_call_without_a_credential_is_refused() {
    // AUTH-02
    let bench = Bench::start().await;
    for credential in [None, Some(""), Some("Basic c2I6"), Some("Bearer "), Some("sb_test")] {
        let mut request = http::Request::post("/emails").header("content-type", "application/json");
        request = request.header(EXPECT, Expect::Refusal.as_str());
        if let Some(credential) = credential {
            request = request.header("authorization", credential);
        }
        let reply = bench.ask(request, least().to_string());
        assert_eq!((reply.status.as_u16(), reply.name()), (401, "missing_api_key"), "{credential:?}");
    }
    assert!(bench.mails().is_empty());
}

#[tokio::test]
async fn an_unknown_key_is_refused_with_its_own_error() {
    // AUTH-03
    let bench = Bench::start().await;
    let client = bench.builder().api_key("live_12345").build().unwrap();
    let Error::Api(error) = client.emails().send(&email()).await.unwrap_err() else { panic!("not refused") };
    assert_eq!((error.status.as_u16(), &*error.name), (403, "invalid_api_key"));
    assert_eq!(error.kind(), ApiErrorKind::Authentication);
}

#[tokio::test]
async fn a_sending_key_can_only_send() {
    // SCOPE-01, SCOPE-02, SCOPE-03, SCOPE-04, SCOPE-06, SCOPE-07
    let bench = Bench::start().await;
    let ask = |method: Method, path: &str, body: String| {
        let request = http::Request::builder().method(method).uri(path);
        let request = request.header("authorization", "Bearer sb_test_sending");
        let request =
            if body.is_empty() { request } else { request.header("content-type", "application/json") };
        bench.ask(request, body)
    };
    for path in SEND_ROUTES {
        assert_eq!(ask(Method::POST, path, least().to_string()).status, 200, "{path}");
    }
    assert_eq!(bench.mails().len(), 4, "the emails belong to the team");
    for (method, path, body) in [
        (Method::POST, "/emails/batch", format!("[{}]", least())),
        (Method::GET, "/emails", String::new()),
        (Method::GET, "/emails/4ef9a417-02e9-4d39-ad75-9611e0fcc33c", String::new()),
        (Method::GET, "/logs", String::new()),
    ] {
        let reply = ask(method, path, body);
        assert_eq!((reply.status.as_u16(), reply.name()), (401, "restricted_api_key"), "{path}");
    }
    assert_eq!(bench.mails().len(), 4);
}

#[tokio::test]
async fn full_access_sends_too() {
    // SCOPE-09
    let bench = Bench::start().await;
    for path in SEND_ROUTES {
        assert_eq!(bench.post(path, &least()).status, 200, "{path}");
    }
}

#[test]
fn a_sending_key_can_use_the_specified_routes_and_no_others() {
    // SCOPE-06
    let service = Service::new(Settings { beta: true, ..Settings::default() });
    let open: Vec<_> = Service::open_routes().collect();
    for (method, route) in Service::routes().filter(|route| !open.contains(route)) {
        let id = "4ef9a417-02e9-4d39-ad75-9611e0fcc33c";
        let segments = route.split('/').map(|segment| if segment.starts_with('{') { id } else { segment });
        let path = segments.collect::<Vec<_>>().join("/");
        let broadcasts = route.starts_with("/broadcasts/") && route.ends_with("/send");
        let sends = method == Method::POST && (SEND_ROUTES.contains(&route) || broadcasts);
        // Every API key may read the usage, an operation beyond the specification.
        let allowed = sends || route == "/usage";
        let request = http::Request::builder().method(method.clone()).uri(&path);
        let request = request.header("authorization", "Bearer sb_test_sending").body("{}".into()).unwrap();
        let answer = service.handle(request);
        let refused = String::from_utf8_lossy(answer.body()).contains("restricted_api_key");
        assert_eq!((answer.status().as_u16() == 401, refused), (!allowed, !allowed), "{method} {route}");
    }
}

#[tokio::test]
async fn no_credential_appears_anywhere() {
    // AUTH-08
    let bench = Bench::start().await;
    let secret = "live_sentinel_4711";
    let builder = bench.builder().api_key(secret);
    let mut shown = vec![format!("{builder:?}")];
    let client = builder.build().unwrap();
    let error = client.emails().send(&email()).await.unwrap_err();
    let preview = client.emails().send(&email()).preview().unwrap();
    shown.push(format!(
        "{client:?} {error:?} {error} {:?} {:?}",
        client.emails(),
        client.emails().send(&email())
    ));
    shown.push(format!("{:?} {:?}", preview.headers(), client.emails().list()));
    for wrong in ["live_sentinel_4711\n", "live sentinel_4711\u{e9}", "live_sentinel_4711\0"] {
        let error = bench.builder().api_key(wrong).build().unwrap_err();
        shown.push(format!("{error:?} {error}"));
        assert!(error.to_string().contains("api_key"), "{error}");
    }
    let shown = shown.concat();
    assert!(!shown.contains("sentinel"), "{shown}");
}

#[tokio::test]
async fn the_client_sends_a_user_agent_and_no_version() {
    // VER-04, LOG-05
    let bench = Bench::start().await;
    bench.client().emails().send(&email()).await.unwrap();
    let request = &bench.requests()[0];
    let agent = request.headers["user-agent"].to_str().unwrap();
    assert!(agent.starts_with(&format!("idempost/{}", env!("CARGO_PKG_VERSION"))), "{agent}");
    assert_eq!(request.path, "/emails");
    assert!(request.headers.keys().all(|name| !name.as_str().contains("version")));
}
