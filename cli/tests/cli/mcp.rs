//! `idempost mcp`: the tools, what they may do, and the question before a change, as an application sees them.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use idempost_reference_server::{ReferenceServer, Settings};
use serde_json::{Value, json};

use crate::support::Idempost;

/// An application that started `idempost mcp`.
struct Application {
    process: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    next: u64,
}

impl Application {
    fn start(idempost: &Idempost, arguments: &[&str]) -> Self {
        let mut command = idempost.command();
        command.arg("mcp").args(arguments).stdin(Stdio::piped()).stderr(Stdio::inherit());
        let mut process = command.spawn().unwrap();
        let (input, output) = (process.stdin.take(), BufReader::new(process.stdout.take().unwrap()));
        Self { process, input, output, next: 0 }
    }

    /// Starts and initializes a session of protocol 2025-06-18.
    fn session(idempost: &Idempost, arguments: &[&str], capabilities: &Value) -> Self {
        let mut application = Self::start(idempost, arguments);
        let hello = json!({
            "protocolVersion": "2025-06-18",
            "capabilities": capabilities,
            "clientInfo": {"name": "test", "version": "1"},
        });
        let answer = application.request("initialize", &hello);
        assert_eq!(answer["result"]["serverInfo"]["name"], "idempost", "{answer}");
        application.write(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        application
    }

    fn write(&mut self, message: &Value) {
        writeln!(self.input.as_mut().unwrap(), "{message}").unwrap();
    }

    fn read(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("not a message: {line:?}"))
    }

    /// Sends a request, and returns the next message.
    fn request(&mut self, method: &str, params: &Value) -> Value {
        self.next += 1;
        self.write(&json!({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params}));
        self.read()
    }

    fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        self.request("tools/call", &json!({"name": tool, "arguments": arguments}))["result"].take()
    }

    fn tools(&mut self) -> Vec<Value> {
        self.request("tools/list", &json!({}))["result"]["tools"].as_array().unwrap().clone()
    }

    /// Closes its end, upon which the program exits.
    fn finish(mut self) {
        self.input = None;
        assert!(self.process.wait().unwrap().success());
    }
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap()
}

fn names(tools: &[Value]) -> BTreeSet<&str> {
    tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

async fn with_service() -> (ReferenceServer, Idempost) {
    let server = ReferenceServer::over_http(Settings::default()).await;
    let idempost =
        Idempost::new().env("IDEMPOST_BASE_URL", server.base_url()).env("IDEMPOST_API_KEY", server.api_key());
    (server, idempost)
}

fn hello() -> Value {
    json!({"from": "hi@acme.test", "to": ["ada@example.com", "bob@example.com"], "subject": "Grüße --yes", "text": "It works"})
}

#[tokio::test(flavor = "multi_thread")]
async fn only_reading_tools_are_offered_unless_changes_are_allowed() {
    let (server, idempost) = with_service().await;
    let mut application = Application::session(&idempost, &[], &json!({}));
    let tools = application.tools();
    assert!(!tools.is_empty());
    assert!(tools.iter().all(|tool| tool["annotations"]["readOnlyHint"] == true), "{tools:?}");
    let reading = names(&tools).into_iter().map(str::to_owned).collect::<BTreeSet<_>>();
    assert!(reading.contains("emails_list") && reading.contains("doctor"), "{reading:?}");
    let changes =
        ["cancel", "create", "delete", "mark", "release", "remove", "reset", "send", "stop", "update"];
    let changing =
        reading.iter().find(|name| changes.iter().any(|verb| name.split('_').any(|word| word == *verb)));
    assert_eq!(changing, None);
    let refused = application.request("tools/call", &json!({"name": "emails_send", "arguments": hello()}));
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    application.finish();

    let mut application = Application::session(&idempost, &["--allow", "send"], &json!({}));
    let tools = application.tools();
    let sending = names(&tools);
    assert!(sending.contains("emails_send") && !sending.contains("contacts_delete"), "{sending:?}");
    application.finish();

    let mut application = Application::session(&idempost, &["--allow", "manage"], &json!({}));
    let tools = application.tools();
    let all = names(&tools);
    assert!(all.contains("contacts_delete") && all.len() > 130, "{}", all.len());
    assert!(!all.contains("api_keys_create") && !all.iter().any(|name| name.starts_with("auth")), "{all:?}");
    for tool in &tools {
        let properties = tool["inputSchema"]["properties"].as_object().unwrap();
        for local in [
            "attach",
            "html_file",
            "text_file",
            "html_command",
            "input",
            "secret_file",
            "output_file",
            "download",
        ] {
            assert!(!properties.contains_key(local), "{}: {local}", tool["name"]);
        }
        let changes = properties.contains_key("dry_run");
        assert_eq!(tool["annotations"]["readOnlyHint"], !changes, "{}", tool["name"]);
    }
    application.finish();
    assert_eq!(server.service().mails("sb_test").len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_email_is_sent_once_and_its_result_is_json() {
    // EMAIL-09
    let (server, idempost) = with_service().await;
    let mut application = Application::session(&idempost, &["--allow", "send"], &json!({}));
    let mut preview = hello();
    preview["dry_run"] = true.into();
    let shown = application.call("emails_send", &preview);
    assert_eq!(shown["structuredContent"]["dry_run"]["body"]["subject"], "Grüße --yes", "{shown}");
    assert_eq!(server.service().mails("sb_test").len(), 0);

    let mut email = hello();
    email["idempotency_key"] = "order-17".into();
    let first = application.call("emails_send", &email);
    let again = application.call("emails_send", &email);
    assert_eq!(first["isError"], false, "{first}");
    assert_eq!(first["structuredContent"]["id"], again["structuredContent"]["id"]);
    let mails = server.service().mails("sb_test");
    let [mail] = &mails[..] else { panic!("{} mails", mails.len()) };
    assert_eq!((mail.subject.as_str(), mail.to.len()), ("Grüße --yes", 2));

    let listed = application.call("emails_list", &json!({"limit": 1}));
    assert_eq!(listed["structuredContent"]["data"][0]["subject"], "Grüße --yes", "{listed}");
    application.finish();
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_arguments_are_explained_and_can_t_become_flags() {
    let (server, idempost) = with_service().await;
    let mut application = Application::session(&idempost, &["--allow", "send"], &json!({}));
    for (tool, arguments, rule) in [
        (
            "emails_send",
            json!({"to": "ada@example.com", "html_command": "id"}),
            "`html_command` isn't an argument",
        ),
        ("emails_send", json!({"to": {"a": 1}}), "`to` must be a string or a number"),
        (
            "emails_send",
            json!({"to": "ada@example.com", "no_validate": "yes"}),
            "`no_validate` must be true or false",
        ),
        ("emails_get", json!({"id": "-"}), "standard input isn't available"),
        ("emails_get", json!({"id": "--help"}), "\"exit_code\":"),
        (
            "emails_send",
            json!({"from": "hi@acme.test", "to": "ada@@example.com"}),
            "must have exactly one `@`",
        ),
    ] {
        let result = application.call(tool, &arguments);
        assert_eq!(result["isError"], true, "{result}");
        assert!(text(&result).contains(rule), "{rule}: {result}");
    }
    assert_eq!(server.service().mails("sb_test").len(), 0);
    application.finish();
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_in_results_are_replaced() {
    // G-08
    let (_server, idempost) = with_service().await;
    let made =
        idempost.run(&["webhooks", "create", "https://acme.test/hooks", "--event", "email.sent", "--json"]);
    let made = made.json();
    let secret = made["signing_secret"].as_str().unwrap();
    let mut application = Application::session(&idempost, &[], &json!({}));
    let shown = application.call("webhooks_get", &json!({"id": made["id"]}));
    assert_eq!(shown["structuredContent"]["signing_secret"], "[redacted]", "{shown}");
    assert!(!shown.to_string().contains(secret));
    application.finish();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_is_confirmed_by_the_user_where_the_application_can_ask() {
    let (server, idempost) = with_service().await;
    let asks = json!({"elicitation": {}});
    let mut application = Application::session(&idempost, &["--allow", "manage"], &asks);
    for (action, confirmed, sent) in
        [("decline", None, 0), ("cancel", None, 0), ("accept", Some(false), 0), ("accept", Some(true), 1)]
    {
        let question =
            application.request("tools/call", &json!({"name": "emails_send", "arguments": hello()}));
        assert_eq!(question["method"], "elicitation/create", "{question}");
        let message = question["params"]["message"].as_str().unwrap();
        assert!(message.contains("idempost emails send") && message.contains("ada@example.com"), "{message}");
        assert_eq!(server.service().mails("sb_test").len(), 0, "nothing is sent before the answer");
        let content = confirmed.map(|confirm| json!({"confirm": confirm}));
        let result = json!({"action": action, "content": content});
        application.write(&json!({"jsonrpc": "2.0", "id": question["id"], "result": result}));
        let answer = application.read();
        assert_eq!(answer["result"]["isError"], sent == 0, "{answer}");
        assert_eq!(server.service().mails("sb_test").len(), sent, "{action} {confirmed:?}");
    }
    // A long body hides no recipient.
    let mut long = hello();
    long["html"] = "<p>ü</p>".repeat(2_000).into();
    long["bcc"] = "eve@example.com".into();
    let question = application.request("tools/call", &json!({"name": "emails_send", "arguments": long}));
    let message = question["params"]["message"].as_str().unwrap();
    assert!(message.contains("eve@example.com") && message.contains("(16000 characters)"), "{message}");
    application.write(&json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "decline"}}));
    assert_eq!(application.read()["result"]["isError"], true);
    // Reading needs no confirmation, and invalid input no question.
    assert_eq!(application.call("emails_list", &json!({}))["isError"], false);
    assert_eq!(application.call("emails_send", &json!({"to": "ada@@example.com"}))["isError"], true);
    application.finish();

    let mut application =
        Application::session(&idempost, &["--allow", "send", "--confirm", "always"], &json!({}));
    let refused = application.call("emails_send", &hello());
    assert!(text(&refused).contains("requires a confirmation"), "{refused}");
    application.finish();
    let mut application = Application::session(&idempost, &["--allow", "send", "--confirm", "never"], &asks);
    assert_eq!(application.call("emails_send", &hello())["isError"], false);
    application.finish();
    assert_eq!(server.service().mails("sb_test").len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn with_a_stateless_application_the_confirmed_call_is_the_one_that_runs() {
    let (server, idempost) = with_service().await;
    let mut application = Application::start(&idempost, &["--allow", "send"]);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
    });
    let mut call = |extra: Value| {
        let mut params = json!({"_meta": meta, "name": "emails_send", "arguments": hello()});
        for (name, value) in extra.as_object().unwrap() {
            params[name] = value.clone();
        }
        application.request("tools/call", &params)
    };
    let asked = call(json!({}));
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    let state = asked["result"]["requestState"].clone();
    let yes = json!({"confirm": {"action": "accept", "content": {"confirm": true}}});
    let mut other = hello();
    other["to"] = "eve@example.com".into();
    let swapped = call(json!({"arguments": other, "requestState": state, "inputResponses": yes}));
    assert_eq!(
        swapped["result"]["resultType"], "input_required",
        "a confirmation holds for its call only: {swapped}"
    );
    let state = call(json!({}))["result"]["requestState"].clone();
    let ran = call(json!({"requestState": state, "inputResponses": yes}));
    assert_eq!(ran["result"]["isError"], false, "{ran}");
    let replayed = call(json!({"requestState": state, "inputResponses": yes}));
    assert_eq!(replayed["result"]["resultType"], "input_required", "a confirmation holds once: {replayed}");
    assert_eq!(server.service().mails("sb_test").len(), 1);
    application.finish();
}

#[test]
fn options_that_can_t_work_are_rejected() {
    let idempost = Idempost::new();
    let ran = idempost.run(&["--sandbox", "mcp"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("need a running one"), "{ran:?}");
    let ran = idempost.run(&["mcp", "--api-key-file", "-"]);
    assert!(ran.code == Some(2) && ran.stderr.contains("standard input carries the protocol"), "{ran:?}");
}
