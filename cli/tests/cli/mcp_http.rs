//! `idempost mcp --http`, with an independent client, and with the requests that a web page could send.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};

use idempost_drivers::rmcp;
use idempost_reference_server::{ReferenceServer, Settings};
use rmcp::model::{
    CallToolRequestParams, CallToolResult, ClientCapabilities, ClientConfig, ElicitRequestParams,
    ElicitResult, ElicitationAction, Implementation, ProtocolVersion,
};
use rmcp::service::{
    ClientLifecycleMode, RequestContext, RoleClient, RunningService, serve_client_with_lifecycle,
};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{ClientHandler, ErrorData};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{Idempost, Running, exit_code, lines, signal, taken_port};

/// A running `idempost mcp --http`.
struct Endpoint {
    process: Running,
    url: String,
    /// The header in which a new token is printed.
    header: String,
}

impl Endpoint {
    fn start(idempost: &Idempost, options: &str) -> Self {
        let mut process = Running(idempost.spawn(&("mcp --http 0", options)));
        let mut lines = lines(&mut process.stdout);
        let url = lines.next().unwrap();
        let given = options.contains("--token-file");
        let header = if given { String::new() } else { lines.next().unwrap() };
        Self { process, url, header }
    }

    fn token(&self) -> &str {
        self.header.strip_prefix("Authorization: Bearer ").unwrap()
    }

    fn host(&self) -> &str {
        self.url.strip_prefix("http://").unwrap().strip_suffix("/mcp").unwrap()
    }

    async fn client(&self, lifecycle: ClientLifecycleMode, user: User) -> RunningService<RoleClient, User> {
        idempost::transport::install_crypto_provider();
        let config =
            StreamableHttpClientTransportConfig::with_uri(self.url.as_str()).auth_header(self.token());
        let transport = StreamableHttpClientTransport::from_config(config);
        serve_client_with_lifecycle(user, transport, lifecycle).await.unwrap()
    }

    /// Sends a request with these headers; returns the status and the whole response.
    fn post(&self, path: &str, headers: &[(&str, &str)]) -> (u16, String) {
        let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"},
        }});
        self.post_body(path, headers, "application/json", &hello.to_string())
    }

    fn post_body(&self, path: &str, headers: &[(&str, &str)], kind: &str, body: &str) -> (u16, String) {
        let headers: String =
            headers.iter().map(|(name, value)| [name, ": ", value, "\r\n"].concat()).collect();
        let request = format!(
            "POST {path} HTTP/1.1\r\ncontent-type: {kind}\r\naccept: application/json, text/event-stream\r\n\
             content-length: {}\r\nconnection: close\r\n{headers}\r\n{body}",
            body.len()
        );
        let mut stream = TcpStream::connect(self.host()).unwrap();
        stream.set_read_timeout(Some(crate::support::TIMEOUT)).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        (response.split(' ').nth(1).unwrap().parse().unwrap(), response)
    }
}

/// The application's side: the user's answers, and the questions that the user was asked.
#[derive(Clone)]
struct User {
    answer: Option<ElicitationAction>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl User {
    fn who(answer: Option<ElicitationAction>) -> Self {
        Self { answer, asked: Arc::default() }
    }
}

impl ClientHandler for User {
    fn get_info(&self) -> ClientConfig {
        let capabilities = match self.answer {
            Some(_) => ClientCapabilities::builder().enable_elicitation().build(),
            None => ClientCapabilities::default(),
        };
        ClientConfig::new(capabilities, Implementation::new("test", "1"))
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        self.asked.lock().unwrap().push(serde_json::to_value(request).unwrap()["message"].to_string());
        let answer = self.answer.clone().unwrap();
        let content = (answer == ElicitationAction::Accept).then(|| json!({"confirm": true}));
        let result = ElicitResult::new(answer);
        Ok(content.map_or(result.clone(), |content| result.with_content(content)))
    }
}

fn call(tool: &'static str, arguments: &Value) -> CallToolRequestParams {
    CallToolRequestParams::new(tool).with_arguments(arguments.as_object().unwrap().clone())
}

fn text(result: &CallToolResult) -> String {
    serde_json::to_value(result).unwrap()["content"][0]["text"].as_str().unwrap().to_owned()
}

async fn with_service() -> (ReferenceServer, Idempost) {
    let server = ReferenceServer::start_http(Settings::default()).await;
    let idempost = Idempost::at(server.base_url(), server.api_key());
    (server, idempost)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_over_http_lists_and_calls_tools_and_confirms_changes() {
    // G-12
    let (server, idempost) = with_service().await;
    let endpoint = Endpoint::start(&idempost, "--allow send --allow-to '*@acme.test'");
    let mut sent = 0;
    for lifecycle in [
        ClientLifecycleMode::Initialize,
        ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] },
    ] {
        let email =
            json!({"from": "hi@acme.test", "to": ["ada@acme.test"], "subject": "Hello", "text": "It works"});
        for (answer, confirmed) in [
            (Some(ElicitationAction::Accept), true),
            (Some(ElicitationAction::Decline), false),
            (None, false),
        ] {
            let user = User::who(answer.clone());
            let client = endpoint.client(lifecycle.clone(), user.clone()).await;
            let tools = client.list_all_tools().await.unwrap();
            assert!(tools.iter().any(|tool| tool.name == "emails_send"), "{tools:?}");
            let listed = client.call_tool(call("emails_list", &json!({"limit": 1}))).await.unwrap();
            assert!(text(&listed).starts_with("<untrusted-data-"), "{listed:?}");
            let result = client.call_tool(call("emails_send", &email)).await.unwrap();
            assert_eq!(result.is_error, Some(!confirmed), "{answer:?}: {result:?}");
            let asked = user.asked.lock().unwrap().clone();
            assert_eq!(asked.len(), usize::from(answer.is_some()), "{asked:?}");
            assert!(asked.iter().all(|question| question.contains("ada@acme.test")), "{asked:?}");
            if answer.is_none() {
                assert!(text(&result).contains("doesn't support elicitation"), "{result:?}");
            }
            sent += usize::from(confirmed);
            assert_eq!(server.service().mails("sb_test").len(), sent, "{answer:?}");
            let mut foreign = email.clone();
            foreign["to"] = "eve@evil.test".into();
            let result = client.call_tool(call("emails_send", &foreign)).await.unwrap();
            assert_eq!(result.is_error, Some(true), "{result:?}");
            client.cancel().await.unwrap();
        }
    }
    assert_eq!(server.service().mails("sb_test").len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn http_requests_without_the_token_or_from_web_pages_are_rejected() {
    // G-15
    let (_server, idempost) = with_service().await;
    let endpoint = Endpoint::start(&idempost, "");
    let (host, bearer) = (endpoint.host(), format!("Bearer {}", endpoint.token()));
    let own = format!("http://{host}");
    let localhost = host.replace("127.0.0.1", "localhost");
    let wrong = format!("Bearer {}0", endpoint.token());
    let scheme = format!("Basic {}", endpoint.token());
    for (path, headers, status) in [
        ("/mcp", &[("host", host), ("authorization", &bearer)][..], 200),
        ("/mcp", &[("host", &localhost), ("authorization", &bearer), ("origin", &own)], 200),
        ("/mcp", &[("host", host)], 401),
        ("/mcp", &[("host", host), ("authorization", &wrong)], 401),
        ("/mcp", &[("host", host), ("authorization", &scheme)], 401),
        ("/mcp", &[("host", host), ("authorization", "Bearer")], 401),
        ("/mcp?token=x", &[("host", host)], 401),
        ("/", &[("host", host)], 401),
        ("/", &[("host", host), ("authorization", &bearer)], 404),
        ("/mcp", &[("host", "evil.test"), ("authorization", &bearer)], 403),
        ("/mcp", &[("host", "127.0.0.1:1"), ("authorization", &bearer)], 403),
        ("/mcp", &[("host", host), ("authorization", &bearer), ("origin", "https://evil.test")], 403),
        ("/mcp", &[("host", host), ("authorization", &bearer), ("origin", "http://127.0.0.1:1")], 403),
        ("/mcp", &[("host", host), ("authorization", &bearer), ("origin", "null")], 403),
    ] {
        let (found, response) = endpoint.post(path, headers);
        assert_eq!(found, status, "{path} {headers:?}: {response}");
        assert_eq!(response.contains("serverInfo"), status == 200, "{path} {headers:?}: {response}");
        assert_eq!(response.contains("\r\nwww-authenticate: Bearer\r\n"), status == 401, "{response}");
        assert!(!response.contains(endpoint.token()), "{response}");
    }
}

/// JSON-RPC 2.0, section 5.1.
#[tokio::test(flavor = "multi_thread")]
async fn a_malformed_message_over_http_is_a_parse_error() {
    let (_server, idempost) = with_service().await;
    let endpoint = Endpoint::start(&idempost, "");
    let bearer = format!("Bearer {}", endpoint.token());
    let headers = [("host", endpoint.host()), ("authorization", bearer.as_str())];
    for kind in ["application/json", "Application/JSON; charset=utf-8"] {
        let (status, response) = endpoint.post_body("/mcp", &headers, kind, "{\"jsonrpc\":");
        assert!(status == 400 && response.contains("\"code\":-32700"), "{response}");
    }
    assert_eq!(endpoint.post_body("/mcp", &headers, "text/plain", "{}").0, 415);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_given_token_isn_t_printed_and_ctrl_c_ends_the_server() {
    // G-15
    let (_server, idempost) = with_service().await;
    idempost.write("token", "\u{feff}0123456789abcdef-file\r\n");
    let mut by_file = Endpoint::start(&idempost, "--token-file token --json");
    let printed: Value = serde_json::from_str(&by_file.url).unwrap();
    assert_eq!(printed["token"], Value::Null, "{printed}");
    by_file.url = printed["url"].as_str().unwrap().to_owned();
    let host = by_file.host();
    let accepted = by_file.post("/mcp", &[("host", host), ("authorization", "bearer 0123456789abcdef-file")]);
    assert_eq!(accepted.0, 200, "{accepted:?}");
    let refused = by_file.post("/mcp", &[("host", host), ("authorization", "Bearer 0123456789abcdef")]);
    assert_eq!(refused.0, 401, "{refused:?}");
    signal(&by_file.process, Signal::INT);
    assert_eq!(exit_code(&mut by_file.process), Some(0));
    assert!(TcpStream::connect(by_file.host()).is_err());

    let idempost = idempost.env("IDEMPOST_MCP_TOKEN", "short");
    let refused = idempost.run("mcp --http 0").hides(&["short"]);
    refused.fails_with(2, &["IDEMPOST_MCP_TOKEN", "16 to 256 characters"]);
    let (_taken, port) = taken_port();
    idempost.run(&["mcp", "--http", &port, "--token-file", "token"]).fails_with(1, &[&port, "--http 0"]);
}
