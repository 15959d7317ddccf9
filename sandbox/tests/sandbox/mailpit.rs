//! Mailpit's API.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::StreamExt as _;
use http::{Method, StatusCode};
use idempost_sandbox::Settings;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::{WebSocketStream, client_async};

use crate::inbox_search::encoded;
use crate::served::Served;
use crate::support::{
    Answer, KEY, Sandbox, UNKNOWN_ID, basic, email, email_of, email_with, expect_fields_of,
};

fn ids(answer: &Answer) -> Vec<String> {
    let body = answer.json();
    body["messages"].as_array().unwrap().iter().map(|one| one["ID"].as_str().unwrap().to_owned()).collect()
}

fn subjects(answer: &Answer) -> Vec<String> {
    let body = answer.json();
    let messages = body["messages"].as_array().unwrap_or_else(|| panic!("{}", answer.text()));
    messages.iter().map(|one| one["Subject"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn captured_and_received_mails_are_one_list_with_the_shape_of_mailpit() {
    let sandbox = Sandbox::new();
    let one = email_of(&json!({
        "to": ["\"Lovelace, Ada\" <ada@example.com>", "b@example.com"], "bcc": "Bodo <bcc@example.com>",
        "reply_to": "reply@acme.test", "subject": "Größe", "tags": [{"name": "kind", "value": "first"}],
        "attachments": [{"filename": "a.txt", "content": "YWJj"}], "text": format!("Hello\n  {}", "wörd ".repeat(100)),
    }));
    sandbox.sent(&one);
    sandbox.advance(60);
    let raw = "From: Zoe <z@example.com>\r\nTo: b@acme.test\r\nSubject: In\r\nMessage-ID: <m@example.com>\r\n\r\nHi";
    sandbox.service.receive(KEY, &["b@acme.test", "hidden@acme.test"], raw).unwrap();

    let list = sandbox.get("/api/v1/messages");
    assert_eq!(subjects(&list), ["In", "Größe"]);
    let list = list.json();
    let counts = json!({
        "total": 2, "unread": 2, "count": 2, "messages_count": 2, "messages_unread": 2, "start": 0, "tags": ["kind=first"],
    });
    expect_fields_of(&counts, &list);
    let received = json!({
        "From": {"Name": "Zoe", "Address": "z@example.com"},
        "Bcc": [{"Name": "", "Address": "hidden@acme.test"}],
        "MessageID": "m@example.com", "Snippet": "Hi", "Created": "2026-03-02T12:01:00.000Z",
    });
    expect_fields_of(&received, &list["messages"][0]);
    let sent = &list["messages"][1];
    let expected = json!({
        "To": [{"Name": "Lovelace, Ada", "Address": "ada@example.com"}, {"Name": "", "Address": "b@example.com"}],
        "Cc": [], "Bcc": [{"Name": "Bodo", "Address": "bcc@example.com"}],
        "ReplyTo": [{"Name": "", "Address": "reply@acme.test"}],
        "Read": false, "Attachments": 1,
    });
    expect_fields_of(&expected, sent);
    let snippet = sent["Snippet"].as_str().unwrap();
    assert!(snippet.starts_with("Hello wörd") && snippet.chars().count() == 253, "{snippet}");

    // Pages.
    assert_eq!(subjects(&sandbox.get("/api/v1/messages?start=1&limit=1")), ["Größe"]);
    assert_eq!(subjects(&sandbox.get("/api/v1/messages?start=2")), Vec::<String>::new());
    assert_eq!(subjects(&sandbox.get("/api/v1/messages?limit=0&start=x")), Vec::<String>::new());
    assert_eq!(sandbox.get("/api/v1/tags").json(), json!(["kind=first"]));
    let info = sandbox.get("/api/v1/info").json();
    expect_fields_of(&json!({"Messages": 2, "Unread": 2, "Tags": {"kind=first": 1}}), &info);
}

#[test]
fn a_message_has_its_details_headers_source_and_parts() {
    let sandbox = Sandbox::new();
    let mut one = email_with("html", "<p onclick=x>Hi<script>x</script></p>");
    one["attachments"] = json!([
        {"filename": "page.html", "content": STANDARD.encode("<script>alert(1)</script>")},
        {"filename": "p.png", "content": "iVBORw0KGgo=", "content_id": "pic"},
    ]);
    one["headers"] = json!({"List-Unsubscribe": "<https://acme.test/u>, <mailto:u@acme.test>"});
    sandbox.sent(&one);
    let id = &ids(&sandbox.get("/api/v1/messages"))[0];
    let message = sandbox.get(format!("/api/v1/message/{id}")).json();
    assert_eq!(sandbox.get("/api/v1/message/latest").json(), message);
    let expected = json!({
        "ID": id, "Text": "It works", "HTML": "<p onclick=x>Hi<script>x</script></p>", "ReturnPath": "hi@acme.test",
        "Date": "2026-03-02T12:00:00.000Z", "Size": sandbox.mail().mime.len(),
    });
    expect_fields_of(&expected, &message);
    assert_eq!(message["ListUnsubscribe"]["Links"], json!(["https://acme.test/u", "mailto:u@acme.test"]));
    let (file, picture) = (&message["Attachments"][0], &message["Inline"][0]);
    expect_fields_of(&json!({"FileName": "page.html", "ContentType": "text/html", "Size": 25}), file);
    assert_eq!((&picture["FileName"], &picture["ContentID"]), (&json!("p.png"), &json!("pic")));
    assert_eq!(picture["Checksums"]["MD5"], "e9dd2797018cad79186e03e8c5aec8dc");
    assert_eq!(picture["Checksums"]["SHA1"].as_str().unwrap().len(), 40);

    let part = sandbox.get(format!("/api/v1/message/{id}/part/{}", file["PartID"].as_str().unwrap()));
    assert_eq!(part.text(), "<script>alert(1)</script>");
    assert!(part.header("content-disposition").unwrap().starts_with("attachment"));
    assert_eq!(part.header("content-security-policy"), Some("sandbox; default-src 'none'"));
    assert_eq!(part.header("x-content-type-options"), Some("nosniff"));
    let headers = sandbox.get(format!("/api/v1/message/{id}/headers")).json();
    assert_eq!((&headers["Subject"], &headers["Mime-Version"]), (&json!(["Hello"]), &json!(["1.0"])));
    assert_eq!(headers["Message-Id"].as_array().unwrap().len(), 1);
    let raw = sandbox.get("/api/v1/message/latest/raw");
    assert_eq!(raw.body, sandbox.mail().mime);
    assert_eq!(raw.header("content-type"), Some("text/plain; charset=utf-8"));
    let (page, ours) =
        (sandbox.get(format!("/view/{id}.html")), sandbox.get(format!("/_/messages/{id}/html")));
    assert_eq!(page.body, ours.body, "isolated as on the inbox page");
    for header in ["content-security-policy", "x-content-type-options", "cross-origin-resource-policy"] {
        assert!(page.header(header).is_some_and(|value| Some(value) == ours.header(header)), "{header}");
    }
    assert_eq!(sandbox.get("/view/latest.txt").text(), "It works");
    assert_eq!(sandbox.get("/api/v1/messages").json()["unread"], 1, "reading marks nothing");

    for path in [
        format!("/api/v1/message/{UNKNOWN_ID}"),
        "/api/v1/message/x/raw".into(),
        format!("/api/v1/message/{id}/part/3"),
        format!("/api/v1/message/{id}/part/0"),
        format!("/api/v1/message/{id}/html-check"),
        "/view/x.html".into(),
        "/api/v1/nothing".into(),
        "/api/v1/message/latest?query=nowhere".into(),
    ] {
        let answer = sandbox.get(path.as_str());
        assert_eq!(answer.status, 404, "{path}");
        assert_eq!(answer.header("content-type"), Some("text/plain; charset=utf-8"), "{path}");
    }
    let answer = sandbox.ask(Method::POST, "/api/v1/messages").json(&json!({}));
    assert_eq!(
        (answer.status, answer.header("allow")),
        (StatusCode::METHOD_NOT_ALLOWED, Some("GET, PUT, DELETE"))
    );
}

#[test]
fn messages_are_found_marked_and_deleted() {
    let sandbox = Sandbox::new();
    for subject in ["Invoice 1", "Welcome", "Invoice 2"] {
        sandbox.sent(&email_with("subject", subject));
        sandbox.advance(1);
    }
    let raw = "From: z@example.com\r\nTo: b@acme.test\r\nSubject: Invoice in\r\n\r\nHi";
    sandbox.service.receive(KEY, &["b@acme.test"], raw).unwrap();
    let list = |path: &str| subjects(&sandbox.get(path));
    assert_eq!(list("/api/v1/search?query=invoice"), ["Invoice in", "Invoice 2", "Invoice 1"]);
    let found = sandbox.get("/api/v1/search?query=invoice&limit=1&start=1").json();
    expect_fields_of(&json!({"messages_count": 3, "count": 1, "total": 4}), &found);
    assert_eq!(sandbox.get("/api/v1/message/latest?query=welcome").json()["Subject"], "Welcome");

    let all = ids(&sandbox.get("/api/v1/messages"));
    let put = |body: &Value| sandbox.ask(Method::PUT, "/api/v1/messages").json(body);
    let unread = || sandbox.get("/api/v1/messages").json()["unread"].clone();
    assert_eq!(put(&json!({"Read": true, "IDs": [all[0], all[1], UNKNOWN_ID, "x"]})).text(), "ok");
    assert_eq!(unread(), 2);
    put(&json!({"read": false, "ids": [all[1]]}));
    assert_eq!(unread(), 3, "names are case-insensitive");
    put(&json!({"Read": true, "Search": "welcome"}));
    assert_eq!(unread(), 2);
    put(&json!({"Read": true}));
    assert_eq!(unread(), 0);
    put(&json!({"Read": false}));
    assert_eq!(unread(), 4);
    for (body, message) in [
        (json!({"IDs": [all[0]], "Search": "x"}), "either IDs or a search query"),
        (json!({"IDs": "x"}), "`IDs` are strings"),
        (json!({"Read": "x"}), "`Read` is a boolean"),
        (json!({"Read": true, "Search": ["welcome"]}), "`Search` is a string"),
        (json!([]), "a JSON object"),
    ] {
        let answer = put(&body);
        assert_eq!(answer.status, 400, "{body}");
        assert!(answer.text().contains(message), "{}", answer.text());
    }

    let delete = |path: &str, body: &str| sandbox.ask(Method::DELETE, path).send(body.to_owned());
    assert_eq!(delete("/api/v1/search", "").status, 400, "a search without a query doesn't find everything");
    assert_eq!(delete("/api/v1/messages", "{").status, 400);
    assert_eq!(unread(), 4);
    assert_eq!(delete("/api/v1/messages", &json!({"IDs": [all[3], UNKNOWN_ID]}).to_string()).text(), "ok");
    assert_eq!(list("/api/v1/messages"), ["Invoice in", "Invoice 2", "Welcome"]);
    // PyPI `mailpit-api-client` sends forms, and `curl -d` declares JSON as one.
    let form = |method, body: String| {
        let form = sandbox.ask(method, "/api/v1/messages");
        form.header("content-type", "application/x-www-form-urlencoded").send(body)
    };
    for body in ["x", "id=1", "[]", r#"{"ID": ["1"]}"#] {
        for method in [Method::PUT, Method::DELETE] {
            let answer = form(method, body.to_owned());
            assert_eq!(answer.status, 400, "{body}");
            assert!(answer.text().contains("a form with `IDs`"), "{}", answer.text());
        }
    }
    form(Method::PUT, json!({"IDs": [all[1]], "Read": true}).to_string());
    assert_eq!(unread(), 2);
    assert_eq!(form(Method::DELETE, format!("ids={}", all[0])).status, 200);
    assert_eq!(list("/api/v1/messages"), ["Invoice 2", "Welcome"]);
    assert_eq!(form(Method::DELETE, json!({"IDs": [UNKNOWN_ID]}).to_string()).status, 200);
    assert_eq!(list("/api/v1/messages"), ["Invoice 2", "Welcome"]);
    assert_eq!(delete("/api/v1/search?query=invoice", "").text(), "ok");
    assert_eq!(list("/api/v1/messages"), ["Welcome"]);
    delete("/api/v1/messages", "");
    assert_eq!(list("/api/v1/messages"), Vec::<String>::new());
}

#[test]
fn requests_without_a_key_are_for_the_default_account_and_keys_name_others() {
    let sandbox = Sandbox::new();
    for key in ["sb_local", "sb_a", "sb_b"] {
        sandbox.ask(Method::POST, "/emails").key(key).json(&email_with("subject", key));
    }
    let list = || sandbox.ask(Method::GET, "/api/v1/messages").no_key();
    let list_as = |credential: String| list().header("authorization", credential).send("");
    let bearer = || "Bearer sb_a".to_owned();
    assert_eq!(subjects(&list().send("")), ["sb_local"]);
    for (credential, account) in [
        (bearer(), "sb_a"),
        (basic("sb_b", ""), "sb_b"),
        (basic("user", "sb_a"), "sb_a"),
        (basic("user", "pass"), "sb_local"),
    ] {
        assert_eq!(subjects(&list_as(credential)), [account]);
    }
    assert_eq!(subjects(&sandbox.ask(Method::GET, "/api/v1/messages?key=sb_b").no_key().send("")), ["sb_b"]);
    // Isolation.
    let other = ids(&list_as(bearer()))[0].clone();
    assert_eq!(sandbox.ask(Method::GET, format!("/api/v1/message/{other}")).no_key().send("").status, 404);
    sandbox.ask(Method::DELETE, "/api/v1/messages").no_key().send("");
    assert_eq!(subjects(&list_as(bearer())), ["sb_a"]);
    assert!(subjects(&list().send("")).is_empty());
}

#[test]
fn a_password_is_required_as_everywhere() {
    let settings = Settings { password: Some("correct-horse".to_owned().into()), ..Settings::default() };
    let sandbox = Sandbox::with(&settings);
    for key in ["sb_correct-horse", "sb_correct-horse_w1"] {
        sandbox.ask(Method::POST, "/emails").key(key).json(&email_with("subject", key)).expect_status(200);
    }
    let list = || sandbox.ask(Method::GET, "/api/v1/messages").no_key();
    let list_as = |user: &str, password: &str| list().header("authorization", basic(user, password)).send("");
    let answer = list().send("").expect_status(401);
    assert!(answer.header("www-authenticate").unwrap().starts_with("Basic"));
    list_as("user", "wrong").expect_status(401);
    list_as("user", "sb_wrong").expect_status(401);
    for (user, password, account) in [
        ("anyone", "correct-horse", "sb_correct-horse"),
        ("anyone", "sb_correct-horse_w1", "sb_correct-horse_w1"),
        ("sb_correct-horse_w1", "correct-horse", "sb_correct-horse_w1"),
    ] {
        assert_eq!(subjects(&list_as(user, password)), [account], "{user} {password}");
    }
    for path in ["/livez", "/readyz"] {
        assert_eq!(sandbox.ask(Method::GET, path).no_key().send("").status, 200, "{path}");
    }
}

#[test]
fn an_email_is_sent_in_the_format_of_mailpit() {
    let sandbox = Sandbox::new();
    let body = json!({
        "From": {"Email": "from@example.com", "Name": "Frööm, Inc."}, "To": [{"Email": "jane@example.com", "Name": "Jane"}],
        "Cc": [{"Email": "cc@example.com"}], "Bcc": ["bcc@example.com"], "ReplyTo": [{"Email": "r@example.com", "Name": "R"}],
        "Subject": "Hello", "Text": "text", "HTML": "<p>html</p>", "Headers": {"X-One": "1"}, "Tags": [],
        "Attachments": [{"Content": "YWJj", "Filename": "a.txt", "ContentType": "text/plain", "ContentID": "c"}],
    });
    let answer = sandbox.post("/api/v1/send", &body).expect_status(200);
    let message = sandbox.get(format!("/api/v1/message/{}", answer.json()["ID"].as_str().unwrap())).json();
    assert_eq!(message["From"], json!({"Name": "Frööm, Inc.", "Address": "from@example.com"}));
    assert_eq!(message["Inline"][0]["FileName"], "a.txt");
    assert_eq!(message["Bcc"][0]["Address"], "bcc@example.com");
    for (field, value) in
        [("From", json!({"Email": "x"})), ("To", json!([])), ("Tags", json!(["a"])), ("Subject", json!(1))]
    {
        let mut wrong = body.clone();
        wrong[field] = value;
        let answer = sandbox.post("/api/v1/send", &wrong);
        assert_eq!(answer.status, 400, "{field}");
        assert!(answer.json()["Error"].as_str().is_some_and(|text| !text.is_empty()), "{field}");
    }
    assert_eq!(sandbox.mails().len(), 1);
}

/// Connects to the events of the account.
async fn connect(server: &Served) -> WebSocketStream<TcpStream> {
    connect_to(server, "/api/events").await
}

async fn connect_to(server: &Served, path: &str) -> WebSocketStream<TcpStream> {
    let address = server.server.base_url().replace("http://", "");
    let mut request = format!("ws://{address}{path}").into_client_request().unwrap();
    request.headers_mut().insert("authorization", format!("Bearer {KEY}").parse().unwrap());
    let stream = TcpStream::connect(&address).await.unwrap();
    client_async(request, stream).await.unwrap().0
}

/// The next event, with its type and data.
async fn next_event(socket: &mut WebSocketStream<TcpStream>) -> Value {
    loop {
        let message =
            timeout(std::time::Duration::from_mins(1), socket.next()).await.expect("an event in time");
        let message = message.expect("the socket is open").unwrap();
        let Ok(text) = message.to_text() else { continue };
        let event: Value = serde_json::from_str(text).unwrap_or_default();
        if event.is_object() {
            return event;
        }
    }
}

/// The data of the next event of this type.
async fn next(socket: &mut WebSocketStream<TcpStream>, kind: &str) -> Value {
    loop {
        let event = next_event(socket).await;
        if event["Type"] == kind {
            return event["Data"].clone();
        }
    }
}

#[tokio::test]
async fn a_websocket_reports_new_marked_and_deleted_messages_of_its_account() {
    let server = Served::start(Settings::default()).await;
    let mut socket = connect(&server).await;
    server.ask(Method::POST, "/emails").key("sb_other").json(&email_with("subject", "Other"));
    // Lets the server handle the event of the other account before the next one.
    server.over_http(Method::GET, "/_/messages", &Value::Null).await.expect_status(200);
    server.sent(&email());
    let first = next_event(&mut socket).await;
    assert_eq!(first["Type"], "new", "{first}");
    let new = &first["Data"];
    assert_eq!((&new["Subject"], &new["Read"]), (&json!("Hello"), &json!(false)));
    let stats = next(&mut socket, "stats").await;
    assert_eq!((&stats["Total"], &stats["Unread"]), (&json!(1), &json!(1)));

    let ask = |method, body: Value| server.ask(method, "/api/v1/messages").json(&body).expect_status(200);
    ask(Method::PUT, json!({"Read": true}));
    assert_eq!(next(&mut socket, "update").await, json!({"ID": new["ID"], "Read": true}));
    ask(Method::DELETE, json!({"IDs": [new["ID"]]}));
    assert_eq!(next(&mut socket, "delete").await, json!({"ID": new["ID"]}));
    assert_eq!(next(&mut socket, "stats").await["Total"], 0);
    for _ in 0..100 {
        server.sent(&email());
    }
    while next(&mut socket, "stats").await["Total"] != 100 {}
    ask(Method::DELETE, json!({}));
    assert_eq!(next(&mut socket, "truncate").await, Value::Null);
}

#[tokio::test]
async fn the_path_of_the_websocket_may_begin_with_several_slashes() {
    let server = Served::start(Settings::default()).await;
    let mut socket = connect_to(&server, "//api/events").await;
    server.sent(&email());
    assert_eq!(next(&mut socket, "new").await["Subject"], "Hello");
}

#[tokio::test]
async fn a_client_that_reads_nothing_costs_bounded_memory_and_then_reloads() {
    let server = Served::start(Settings::default()).await;
    let mut socket = connect(&server).await;
    let large = email_with("subject", "ü".repeat(900));
    for _ in 0..6_000 {
        server.sent(&large);
    }
    assert_eq!(next(&mut socket, "prune").await, Value::Null);
    while next(&mut socket, "stats").await["Total"] != 6_000 {}
}

#[tokio::test]
async fn a_websocket_has_a_place_among_the_connections_until_it_ends() {
    let server = Served::start(Settings { max_connections: 2, ..Settings::default() }).await;
    let one = connect(&server).await;
    let _two = connect(&server).await;
    assert!(status_line(&server).await.starts_with("HTTP/1.1 503"));
    drop(one);
    let until = std::time::Instant::now() + std::time::Duration::from_mins(1);
    while !status_line(&server).await.starts_with("HTTP/1.1 200") {
        assert!(std::time::Instant::now() < until);
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}

/// The first line of the response on a new connection.
async fn status_line(server: &Served) -> String {
    let mut stream = TcpStream::connect(server.server.base_url().replace("http://", "")).await.unwrap();
    stream.write_all(b"GET /livez HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").await.unwrap();
    let mut read = Vec::new();
    let _ = stream.read_to_end(&mut read).await;
    String::from_utf8_lossy(&read).lines().next().unwrap_or_default().to_owned()
}

#[test]
fn a_request_that_is_no_handshake_is_rejected() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.get("/api/events").status, 400);
    let handshake = |version: &str| {
        let ask = sandbox.ask(Method::GET, "/api/events").header("upgrade", "websocket");
        let ask = ask
            .header("connection", "keep-alive, Upgrade")
            .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==");
        ask.header("sec-websocket-version", version).send("")
    };
    assert_eq!(handshake("12").status, 400);
    assert_eq!(handshake("13").status, 501, "this mount has no sockets");
}

#[test]
fn searches_have_the_operators_of_mailpit_and_no_others() {
    let sandbox = Sandbox::new();
    let one = email_of(&json!({
        "subject": "One", "bcc": "hidden@example.org", "reply_to": "help@acme.test",
        "tags": [{"name": "kind", "value": "welcome"}], "attachments": [{"filename": "a.txt", "content": "YQ=="}],
    }));
    sandbox.sent(&one);
    sandbox.sent(&email_with("subject", "Two"));
    let search = |query: &str| sandbox.get(format!("/api/v1/search?query={}", encoded(query)));
    for (query, found) in [
        ("addressed:hidden@example.org", &["One"][..]),
        ("addressed:help@acme.test", &["One"]),
        ("bcc:hidden", &["One"]),
        ("reply-to:help", &["One"]),
        ("-addressed:help", &["Two"]),
        ("!reply-to:help", &["Two"]),
        ("!two", &["One"]),
        ("has:attachments", &["One"]),
        ("!has:attachment", &["Two"]),
        ("is:tagged", &["One"]),
        ("!is:tagged", &["Two"]),
        ("is:unread", &["Two", "One"]),
        ("https://a.test/x", &[]),
        ("12:30", &[]),
        ("\"foo:bar\"", &[]),
    ] {
        assert_eq!(subjects(&search(query)), found, "{query}");
    }
    for query in ["recipient:ada", "x-header:y", "!bogus:1", "has:inline", "is:starred"] {
        assert_eq!(search(query).status, 400, "{query}");
    }
    assert!(search("recipient:ada").text().contains("`recipient:` is not an operator"));
    sandbox.delete("/api/v1/search?query=recipient:ada").expect_status(400);
    // The page's own searches have words with colons.
    sandbox.get("/_/messages?query=foo:bar").expect_status(200);
}

#[test]
fn a_view_without_an_extension_leads_to_the_inbox_page() {
    let sandbox = Sandbox::new();
    sandbox.sent(&email_with("subject", "One"));
    sandbox.advance(1);
    sandbox.service.receive(KEY, &["b@acme.test"], "From: a@b.test\r\nSubject: Two\r\n\r\nx").unwrap();
    let all = ids(&sandbox.get("/api/v1/messages"));
    for (id, folder) in all.iter().zip(["received", "sent"]) {
        let answer = sandbox.get(format!("/view/{id}")).expect_status(302);
        assert_eq!(answer.header("location"), Some(format!("../_/#/{folder}/{id}").as_str()));
    }
    assert_eq!(sandbox.get("/view/latest").status, 302);
    assert_eq!(sandbox.get("/view/unknown").status, 404);
    let version = sandbox.get("/api/v1/info").json()["Version"].clone();
    assert!(version.as_str().unwrap().starts_with("v1."), "clients compare it: {version}");
}
