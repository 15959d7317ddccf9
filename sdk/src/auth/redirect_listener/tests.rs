//! The listener under attack: malformed and hostile requests, while a well-behaved browser still gets through.

use std::{collections::HashMap, time::Duration};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    task::JoinHandle,
};

use super::{
    RedirectListener,
    request::{Decision, classify},
};
use crate::auth::{AuthError, AuthorizationServer, Scope};

/// A login waiting for the redirect.
struct Login {
    host: String,
    state: String,
    waiting: JoinHandle<Result<String, AuthError>>,
}

impl Login {
    async fn begin() -> Self {
        Self::begin_with(RedirectListener::bind().await.unwrap(), |_| {}, Duration::from_secs(30))
    }

    fn begin_with(
        receiver: RedirectListener,
        change: impl FnOnce(&mut AuthorizationServer),
        timeout: Duration,
    ) -> Self {
        let mut server = AuthorizationServer::new("https://api.example.com").unwrap();
        change(&mut server);
        let authorization =
            server.authorize("c", receiver.redirect_uri()).scope(Scope::EmailsSend).build().unwrap();
        let sent: HashMap<_, _> = authorization.url().query_pairs().into_owned().collect();
        let host = receiver.host.clone();
        let waiting = tokio::spawn(async move {
            match receiver.wait(&authorization, timeout).await {
                Ok(code) => Ok(code.expose().to_owned()),
                Err(crate::Error::Auth(error)) => Err(std::sync::Arc::into_inner(error).unwrap()),
                Err(other) => panic!("{other:?}"),
            }
        });
        Self { host, state: sent["state"].clone(), waiting }
    }

    /// Sends these bytes and reads the response to its end.
    async fn raw(&self, bytes: &[u8]) -> String {
        let mut stream = TcpStream::connect(&self.host).await.unwrap();
        // The listener may close the connection before all is sent.
        let _ = stream.write_all(bytes).await;
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer).await;
        String::from_utf8(answer).unwrap()
    }

    async fn request(&self, line: &str, headers: &str) -> String {
        self.raw(format!("{line} HTTP/1.1\r\nHost: {}\r\n{headers}\r\n", self.host).as_bytes()).await
    }

    async fn get(&self, target: &str) -> String {
        self.request(&format!("GET {target}"), "").await
    }

    async fn callback(&self, query: &str) -> String {
        self.get(&format!("/callback?state={}&{query}", self.state)).await
    }

    /// Acts as a browser: follows the redirect and loads the final page.
    async fn browse(self, query: &str) -> Result<String, AuthError> {
        let first = self.callback(query).await;
        assert!(first.starts_with("HTTP/1.1 303 ") && first.contains("location: /done\r\n"), "{first}");
        let page = self.get("/done").await;
        assert!(page.starts_with("HTTP/1.1 200 "), "{page}");
        for line in [
            "content-security-policy: default-src 'none'",
            "referrer-policy: no-referrer",
            "cache-control: no-store",
        ] {
            assert!(page.contains(line), "{page}");
        }
        assert!(!page.contains("code") && !page.contains(&self.state), "{page}");
        self.waiting.await.unwrap()
    }

    fn is_waiting(&self) -> bool {
        !self.waiting.is_finished()
    }
}

#[tokio::test]
async fn the_redirect_delivers_the_code() {
    let login = Login::begin().await;
    assert_eq!(login.browse("code=abc").await.unwrap(), "abc");
}

#[tokio::test]
async fn other_requests_change_nothing() {
    // C-01
    let login = Login::begin().await;
    let right = format!("/callback?state={}&code=evil", login.state);
    let port = login.host.rsplit_once(':').unwrap().1.to_owned();
    for (line, headers, status) in [
        ("GET /".to_owned(), "", 404),
        ("GET /favicon.ico".to_owned(), "Sec-Fetch-Mode: no-cors\r\n", 404),
        ("GET /robots.txt".to_owned(), "", 404),
        ("GET /done".to_owned(), "", 404),
        ("GET /callback/".to_owned(), "", 404),
        (format!("GET /x/..{right}"), "", 404),
        (format!("GET /{right}"), "", 400),
        (format!("GET http://{}{right}", login.host), "", 400),
        (format!("POST {right}"), "", 405),
        (format!("HEAD {right}"), "", 405),
        (format!("OPTIONS {right}"), "", 405),
        ("OPTIONS *".to_owned(), "", 405),
        (format!("GET {right}"), "Origin: https://evil.test\r\n", 403),
        (format!("GET {right}"), "Sec-Fetch-Mode: cors\r\n", 403),
        (format!("GET {right}"), "Sec-Fetch-Mode: no-cors\r\n", 403),
        (format!("GET {right}"), "Content-Length: 3\r\n", 413),
        (format!("GET {right}"), "Transfer-Encoding: chunked\r\n", 413),
        (format!("GET {right}"), "Host: evil.test\r\n", 421),
    ] {
        let answer = login.request(&line, headers).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{line} {headers}: {answer}");
        assert!(!answer.to_lowercase().contains("access-control"), "{answer}");
    }
    for host in [
        "Host: evil.test",
        &format!("Host: localhost:{port}"),
        "Host: 127.0.0.1",
        "Host: ",
        "X-No-Host: at all",
    ] {
        let answer = login.raw(format!("GET {right} HTTP/1.1\r\n{host}\r\n\r\n").as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 421 "), "{host}: {answer}");
    }
    assert!(login.is_waiting());
    assert_eq!(login.browse("code=abc").await.unwrap(), "abc");
}

#[test]
fn a_host_without_a_port_is_the_default_port() {
    // RFC 9110, 7.2: a client omits the default port. Binding it needs privileges, so this test doesn't.
    for (bound, named, is_right) in [
        ("127.0.0.1:80", "127.0.0.1", true),
        ("127.0.0.1:80", "127.0.0.1:80", true),
        ("[::1]:80", "[::1]", true),
        ("127.0.0.1:80", "127.0.0.1:", false),
        ("127.0.0.1:80", "127.0.0.1:8080", false),
        ("127.0.0.1:80", "localhost", false),
        ("127.0.0.1:80", "", false),
        ("127.0.0.1:8080", "127.0.0.1", false),
        ("127.0.0.1:8080", "127.0.0.1:80", false),
        ("[::1]:8080", "[::1]", false),
    ] {
        let request = http::Request::get("/callback?code=a").header("host", named).body(()).unwrap();
        let decision = classify(&request, bound);
        let expected = if is_right {
            Decision::Callback("code=a")
        } else {
            Decision::Refuse(http::StatusCode::MISDIRECTED_REQUEST)
        };
        assert_eq!(decision, expected, "{bound} {named}");
    }
}

#[tokio::test]
async fn a_response_with_the_wrong_state_changes_nothing() {
    // AUTHZ-14, C-02, C-03
    let login = Login::begin().await;
    let state = login.state.clone();
    let near = format!("{}{}", &state[..42], if state.ends_with('A') { 'B' } else { 'A' });
    for query in [
        "code=x".to_owned(),
        "error=access_denied".to_owned(),
        format!("error=access_denied&state={near}"),
        format!("code=x&state={near}"),
        format!("code=x&state={state}&state={state}"),
        format!("code=x&state={}", "x".repeat(7_000)),
        String::new(),
    ] {
        let answer = login.get(&format!("/callback?{query}")).await;
        assert!(answer.starts_with("HTTP/1.1 400 "), "{query}: {answer}");
    }
    assert!(login.is_waiting());
    assert_eq!(login.browse("code=abc").await.unwrap(), "abc");
}

#[tokio::test]
async fn each_reason_for_a_rejection_is_reported_once_while_the_wait_continues() {
    let rejected = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let seen = std::sync::Arc::clone(&rejected);
    let receiver =
        RedirectListener::bind().await.unwrap().on_rejected(move |why| seen.lock().unwrap().push(why));
    let login = Login::begin_with(receiver, |_| {}, Duration::from_secs(30));
    for _ in 0..3 {
        login.get("/callback?code=a&state=other").await;
    }
    login.callback(&format!("code={}", "x".repeat(8193))).await;
    login.callback("code=a&code=a").await;
    let long = "x".repeat(8192);
    assert_eq!(login.browse(&format!("code={long}")).await.unwrap(), long);
    let rejected: Vec<_> = rejected.lock().unwrap().iter().map(ToString::to_string).collect();
    assert_eq!(
        rejected,
        [
            "its `state` doesn't match this login",
            "its parameters are invalid: a parameter is longer than 8192 characters",
            "its parameters are invalid: a parameter is repeated",
        ]
    );
}

#[tokio::test]
async fn a_malformed_response_changes_nothing_even_with_the_right_state() {
    // C-03, C-07
    let login = Login::begin().await;
    for query in ["", "code=a&code=b", "code=%ZZ", "error=access_denied&error_description=%C0%80"] {
        let answer = login.callback(query).await;
        assert!(answer.starts_with("HTTP/1.1 400 "), "{query}: {answer}");
    }
    // An overlong target, an overlong head, too many headers, a megabyte: rejected unread.
    for (length, status) in [(12 * 1024, "404"), (12 * 1024 + 1, "414")] {
        let answer = login.get(&format!("/{}", "x".repeat(length - 1))).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{length}: {answer}");
    }
    for answer in [
        login.callback(&format!("code={}", "x".repeat(100_000))).await,
        login.request("GET /callback", &format!("X: {}\r\n", "x".repeat(1 << 20))).await,
        login.request("GET /callback", &"X: y\r\n".repeat(100)).await,
        login.raw(b"GET /callback HTTP/1.1\r\nHost: \xff\r\n\r\n").await,
        login.raw(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03").await,
        login.raw(b"\0\0\0\0\r\n\r\n").await,
    ] {
        assert!(!answer.starts_with("HTTP/1.1 2") && !answer.starts_with("HTTP/1.1 3"), "{answer}");
    }
    assert!(login.is_waiting());
    assert_eq!(login.browse("code=abc").await.unwrap(), "abc");
}

#[tokio::test]
async fn the_first_valid_response_wins_and_later_ones_get_the_same_page() {
    // C-04
    let login = Login::begin().await;
    assert!(login.callback("code=first").await.starts_with("HTTP/1.1 303 "));
    assert!(login.callback("error=access_denied").await.starts_with("HTTP/1.1 303 "));
    assert_eq!(login.browse("code=second").await.unwrap(), "first");
}

#[tokio::test]
async fn an_error_response_ends_the_login_and_its_text_reaches_no_page() {
    // AUTHZ-32, C-02, C-06
    let login = Login::begin().await;
    let script = "%3Cscript%3Ealert(1)%3C%2Fscript%3E%1B%5D52%3Bc%3BZXZpbA%07%E2%80%AE";
    let query = format!("error=access_denied&error_description={script}");
    let answer = login.callback(&query).await;
    assert!(!answer.contains("script>") && !answer.contains("alert"), "{answer}");
    match login.browse(&query).await {
        Err(AuthError::Rejected(error)) => {
            assert_eq!(error.code.as_str(), "access_denied");
            let text = error.to_string();
            assert!(!text.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{text:?}");
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn slow_clients_do_not_block_the_browser() {
    // C-07
    let login = Login::begin().await;
    let mut slow = Vec::new();
    for n in 0..100 {
        let mut stream = TcpStream::connect(&login.host).await.unwrap();
        if n % 2 == 0 {
            let _ = stream.write_all(b"GET /callback HTTP/1.1\r\nHost: 127").await;
        }
        slow.push(stream);
    }
    // One connection looks like a browser that hasn't sent its request yet.
    let half_open = TcpStream::connect(&login.host).await.unwrap();
    let host = login.host.clone();
    assert_eq!(login.browse("code=abc").await.unwrap(), "abc");
    drop((slow, half_open));
    assert!(TcpStream::connect(&host).await.is_err(), "the port is still open");
}

#[tokio::test]
async fn only_the_first_request_of_a_connection_is_served() {
    // C-07
    let login = Login::begin().await;
    let one = format!("GET /callback?code=x HTTP/1.1\r\nHost: {}\r\n\r\n", login.host);
    let two = format!("GET /callback?code=x&state={} HTTP/1.1\r\nHost: {}\r\n\r\n", login.state, login.host);
    let answer = login.raw(format!("{one}{two}").as_bytes()).await;
    assert!(!answer.contains("303"), "{answer}");
    assert!(login.is_waiting());
    assert_eq!(login.browse("code=abc").await.unwrap(), "abc");
}

#[tokio::test]
async fn a_wait_without_a_redirect_times_out_and_closes_the_port() {
    // C-11
    let receiver = RedirectListener::bind().await.unwrap();
    let login = Login::begin_with(receiver, |_| {}, Duration::from_millis(50));
    let host = login.host.clone();
    match login.waiting.await.unwrap() {
        Err(AuthError::RedirectTimeout { waited }) => assert_eq!(waited, Duration::from_millis(50)),
        other => panic!("{other:?}"),
    }
    assert!(TcpStream::connect(&host).await.is_err(), "the port is still open");
}

#[tokio::test]
async fn a_dropped_wait_closes_the_port() {
    // C-11
    let login = Login::begin().await;
    let _open = TcpStream::connect(&login.host).await.unwrap();
    login.waiting.abort();
    assert!(login.waiting.await.unwrap_err().is_cancelled());
    assert!(TcpStream::connect(&login.host).await.is_err(), "the port is still open");
}

#[tokio::test]
async fn a_taken_port_is_tried_on_the_other_loopback_address() {
    // C-08
    let first = RedirectListener::bind().await.unwrap();
    assert!(first.redirect_uri().starts_with("http://127.0.0.1:"), "{}", first.redirect_uri());
    let port = first.listener.local_addr().unwrap().port();
    // A machine without IPv6 has no other loopback address.
    let has_other = std::net::TcpListener::bind(("::1", 0)).is_ok();
    let second = RedirectListener::bind_to(port).await;
    assert_eq!(second.is_ok(), has_other, "{second:?}");
    match RedirectListener::bind_to(port).await {
        Err(crate::Error::Auth(error)) => assert!(matches!(*error, AuthError::ListenFailed(_)), "{error:?}"),
        other => panic!("{other:?}"),
    }
    if has_other {
        let second = second.unwrap();
        assert_eq!(second.redirect_uri(), format!("http://[::1]:{port}/callback"));
        let login = Login::begin_with(second, |_| {}, Duration::from_secs(30));
        assert_eq!(login.browse("code=abc").await.unwrap(), "abc");
    }
}
