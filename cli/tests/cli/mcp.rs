//! `idempost mcp`: the tools, what they may do, and the question before a change, as an application sees them.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader, Write as _};
#[cfg(target_os = "linux")]
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::{Arc, Mutex};

use base64::{Engine as _, engine::general_purpose::STANDARD};

use idempost_reference_server::{ReferenceServer, Settings};
#[cfg(target_os = "linux")]
use rustix::fs::inotify;
use serde_json::{Value, json};

use crate::support::{Idempost, Limited, exhaustive, exit_code};

/// An application that started `idempost mcp`.
pub(crate) struct Application {
    process: Child,
    input: Option<ChildStdin>,
    output: BufReader<Limited<ChildStdout>>,
    next: u64,
}

impl Application {
    fn start(idempost: &Idempost, arguments: &[&str]) -> Self {
        let mut command = idempost.command();
        command.arg("mcp").args(arguments).stdin(Stdio::piped()).stderr(Stdio::inherit());
        let mut process = command.spawn().unwrap();
        let (input, output) = (process.stdin.take(), BufReader::new(Limited(process.stdout.take().unwrap())));
        Self { process, input, output, next: 0 }
    }

    /// Starts and initializes a session of protocol 2025-06-18.
    pub(crate) fn session(idempost: &Idempost, arguments: &[&str], capabilities: &Value) -> Self {
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
        self.send(method, params);
        self.read()
    }

    /// Sends a request; returns its ID.
    fn send(&mut self, method: &str, params: &Value) -> u64 {
        self.next += 1;
        self.write(&json!({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params}));
        self.next
    }

    /// Calls a tool with each of these arguments, several at a time. Returns the arguments with their answers.
    fn calls(&mut self, tool: &str, all: Vec<Value>) -> Vec<(Value, Value)> {
        let (mut in_flight, mut answered) = (BTreeMap::new(), Vec::new());
        let mut left = all.into_iter();
        loop {
            while in_flight.len() < 8
                && let Some(arguments) = left.next()
            {
                let id = self.send("tools/call", &json!({"name": tool, "arguments": arguments}));
                in_flight.insert(id, arguments);
            }
            if in_flight.is_empty() {
                return answered;
            }
            let answer = self.read();
            let arguments = in_flight.remove(&answer["id"].as_u64().unwrap()).unwrap();
            answered.push((arguments, answer));
        }
    }

    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        self.request("tools/call", &json!({"name": tool, "arguments": arguments}))["result"].take()
    }

    fn tools(&mut self) -> Vec<Value> {
        self.request("tools/list", &json!({}))["result"]["tools"].as_array().unwrap().clone()
    }

    /// Closes its end, upon which the program exits.
    pub(crate) fn finish(mut self) {
        self.input = None;
        assert!(exit_code(&mut self.process) == Some(0));
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
            "edit",
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
    let mut application =
        Application::session(&idempost, &["--allow", "send", "--confirm", "never"], &json!({}));
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
    let mut application =
        Application::session(&idempost, &["--allow", "send", "--confirm", "never"], &json!({}));
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
        ("emails_get", json!({"id": "-"}), "\"exit_code\":"),
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
async fn an_argument_with_two_spellings_is_set_once() {
    let (_server, idempost) = with_service().await;
    let mut application = Application::session(&idempost, &["--allow", "manage"], &json!({}));
    for (tool, arguments) in [
        ("automations_update", json!({"id": "a", "name": "Welcome"})),
        ("contacts_create", json!({"email": "ada@example.com"})),
        ("properties_create", json!({"key": "city", "type": "string"})),
        ("segments_create", json!({"name": "Beta"})),
        ("topics_create", json!({"name": "News", "default_subscription": "opt_in"})),
    ] {
        let mut preview = arguments;
        preview["dry_run"] = true.into();
        let shown = application.call(tool, &preview);
        assert_eq!(shown["isError"], false, "{tool}: {shown}");
    }
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
    // G-12
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

    let mut application = Application::session(&idempost, &["--allow", "send", "--confirm", "never"], &asks);
    assert_eq!(application.call("emails_send", &hello())["isError"], false);
    application.finish();
    assert_eq!(server.service().mails("sb_test").len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_is_rejected_where_the_application_can_t_ask() {
    // G-12
    let (server, idempost) = with_service().await;
    for (options, capabilities) in [
        (&["--allow", "send"][..], json!({})),
        (&["--allow", "manage", "--confirm", "always"], json!({"elicitation": {"url": {}}})),
    ] {
        let mut application = Application::session(&idempost, options, &capabilities);
        let rejected = application.call("emails_send", &hello());
        assert_eq!(rejected["isError"], true, "{rejected}");
        let reason = text(&rejected);
        assert!(reason.contains("elicitation") && reason.contains("--confirm never"), "{reason}");
        // A preview changes nothing.
        let mut preview = hello();
        preview["dry_run"] = true.into();
        assert_eq!(application.call("emails_send", &preview)["isError"], false);
        application.finish();
    }
    assert_eq!(server.service().mails("sb_test").len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn values_of_a_tool_are_literal() {
    // G-11
    let (_server, idempost) = with_service().await;
    std::fs::write(idempost.home().join("secret.txt"), "sentinel").unwrap();
    let mut application = Application::session(&idempost, &["--allow", "send"], &json!({}));
    let mut email =
        json!({"from": "hi@acme.test", "to": "ada@example.com", "template": "welcome", "dry_run": true});
    email["var"] = json!(["FILE=@secret.txt", "STDIN=@-", "ESCAPED=@@x", "PLAIN=x"]);
    let shown = application.call("emails_send", &email);
    let variables = &shown["structuredContent"]["dry_run"]["body"]["template"]["variables"];
    let literal = json!({"FILE": "@secret.txt", "STDIN": "@-", "ESCAPED": "@@x", "PLAIN": "x"});
    assert_eq!(*variables, literal, "{shown}");
    application.finish();
}

/// Whether a text contains the content of the file, as it is or encoded.
fn leaks(text: &str) -> bool {
    text.contains(CONTENT) || text.contains(&STANDARD.encode(CONTENT))
}

/// The content of the file that no tool may read.
const CONTENT: &str = "the-content-of-a-local-file";

/// Notices that a program opens a file. Only Linux can.
struct Watch {
    #[cfg(target_os = "linux")]
    events: OwnedFd,
}

impl Watch {
    #[cfg(target_os = "linux")]
    fn new(file: &Path) -> Self {
        let events = inotify::init(inotify::CreateFlags::NONBLOCK | inotify::CreateFlags::CLOEXEC).unwrap();
        inotify::add_watch(&events, file, inotify::WatchFlags::OPEN).unwrap();
        Self { events }
    }

    #[cfg(target_os = "linux")]
    fn was_opened(&self) -> bool {
        let mut buffer = [std::mem::MaybeUninit::uninit(); 512];
        inotify::Reader::new(&self.events, &mut buffer).next().is_ok()
    }

    #[cfg(not(target_os = "linux"))]
    fn new(_: &Path) -> Self {
        Self {}
    }

    #[cfg(not(target_os = "linux"))]
    fn was_opened(&self) -> bool {
        false
    }
}

/// Values in every syntax that names a file, standard input or a command anywhere. The first four are tried in each argument, the others only
/// where an argument repeats.
fn local_values(file: &Path, marker: &Path) -> Vec<String> {
    let (file, marker) = (file.display(), marker.display());
    vec![
        format!("@{file}"),
        format!("NAME=@{file}"),
        file.to_string(),
        format!("touch {marker}"),
        "-".to_owned(),
        "@-".to_owned(),
        "NAME=@-".to_owned(),
        "-;name=a.txt".to_owned(),
        marker.to_string(),
        format!("@@{file}"),
        format!("NAME={file}"),
        format!("NAME: @{file}"),
        format!("{file};name=a.txt"),
        format!("file://{file}"),
        format!("@{file}#/0"),
        format!("NAME=#{file}"),
        format!("{{\"NAME\": \"@{file}\"}}"),
        format!("[{{\"$ref\": \"{file}\"}}]"),
        format!("|touch {marker}"),
        format!("!touch {marker}"),
        format!("$(touch {marker})"),
        format!("`touch {marker}`"),
    ]
}

/// Calls that try these values in each argument of a tool; the other arguments that it requires are set.
fn local_calls(tool: &Value, values: &[String]) -> Vec<Value> {
    let schema = &tool["inputSchema"];
    let properties = schema["properties"].as_object().unwrap();
    let mut required = json!({});
    for name in schema["required"].as_array().unwrap() {
        required[name.as_str().unwrap()] = "x".into();
    }
    if properties.contains_key("wait_timeout") {
        required["wait_timeout"] = "1ms".into();
    }
    let mut calls = Vec::new();
    for (at, (name, property)) in properties.iter().enumerate() {
        let mut call = |value: Value, dry_run: bool| {
            let mut arguments = required.clone();
            arguments[name] = value;
            if dry_run && name != "dry_run" && properties.contains_key("dry_run") {
                arguments["dry_run"] = true.into();
            }
            calls.push(arguments);
        };
        // Each value is tried with and without `dry_run`.
        let dry_run = (at + at / 4) % 2 == 0;
        match property.get("anyOf") {
            Some(_) => call(json!(values), dry_run),
            None if property["type"] == "boolean" => call(true.into(), dry_run),
            None if property.get("enum").is_some() => call(values[0].as_str().into(), dry_run),
            None if exhaustive() => {
                for value in &values[..4] {
                    call(value.as_str().into(), false);
                    call(value.as_str().into(), true);
                }
            }
            // The next argument gets the next value.
            None => call(values[at % 4].as_str().into(), dry_run),
        }
    }
    calls
}

#[tokio::test(flavor = "multi_thread")]
async fn no_argument_of_a_tool_reads_a_file_or_runs_a_command() {
    // G-11
    let (server, idempost) = with_service().await;
    let (file, marker) = (idempost.home().join("secret.txt"), idempost.home().join("marker"));
    std::fs::write(&file, CONTENT).unwrap();
    let leaked = Arc::new(Mutex::new(Vec::new()));
    server.service().on_request({
        let leaked = Arc::clone(&leaked);
        move |request| {
            let text = format!("{request:?} {}", String::from_utf8_lossy(&request.body));
            if leaks(&text) {
                leaked.lock().unwrap().push(format!("{} {}", request.method, request.path));
            }
        }
    });
    let watch = Watch::new(&file);
    assert!(std::fs::read(&file).is_ok() && watch.was_opened() == cfg!(target_os = "linux"));
    let options = ["--allow", "manage", "--confirm", "never", "--timeout", "5s"];
    let mut application = Application::session(&idempost, &options, &json!({}));
    let values = local_values(&file, &marker);
    for tool in application.tools() {
        let name = tool["name"].as_str().unwrap();
        for (arguments, answer) in application.calls(name, local_calls(&tool, &values)) {
            assert!(!leaks(&answer.to_string()), "{name} {arguments}: {answer}");
        }
        assert!(!watch.was_opened() && !marker.exists(), "{name} used a file or ran a command");
    }
    application.finish();
    assert_eq!(*leaked.lock().unwrap(), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_s_call_can_t_use_files_or_commands_by_any_flag() {
    // G-11
    let (server, idempost) = with_service().await;
    let marker = idempost.home().join("marker");
    std::fs::write(idempost.home().join("secret.txt"), CONTENT).unwrap();
    let idempost = idempost.env("IDEMPOST_LITERAL_VALUES", "1");
    let send = "emails send --from hi@acme.test --to ada@example.com --subject Hi";
    let text = format!("{send} --text Hi");
    for line in [
        format!("{send} --text-file secret.txt"),
        format!("{send} --html-file -"),
        format!("{send} --html-command touch\u{a0}marker"),
        format!("{text} --input secret.txt"),
        format!("{text} --attach secret.txt"),
        "emails batch secret.txt".to_owned(),
        "bulk plan secret.txt --from hi@acme.test --subject Hi --text Hi".to_owned(),
        "contacts import secret.txt".to_owned(),
        "contacts import -".to_owned(),
        "contacts export --output-file marker".to_owned(),
        "suppressions import secret.txt".to_owned(),
        "automations create --definition secret.txt".to_owned(),
        "api POST /emails --input secret.txt".to_owned(),
        "api-keys create deploy --token-file marker".to_owned(),
        "webhooks verify --payload secret.txt --headers secret.txt --secret-file secret.txt".to_owned(),
        "sandbox check secret.txt".to_owned(),
        "sandbox receive secret.txt".to_owned(),
        "sandbox export marker".to_owned(),
        "sandbox env --write marker".to_owned(),
    ] {
        let arguments: Vec<_> = line.split(' ').map(|word| word.replace('\u{a0}', " ")).collect();
        let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
        let ran = idempost.run_with(&arguments, CONTENT);
        assert_ne!(ran.code, Some(0), "{line}: {ran:?}");
        assert!(ran.stderr.contains("a tool can't use local files"), "{line}: {ran:?}");
        assert!(!leaks(&ran.stdout) && !leaks(&ran.stderr), "{line}: {ran:?}");
        assert!(!marker.exists(), "{line}");
    }
    let shown = idempost.run(&["api", "POST", "/emails", "-F", "a=@secret.txt", "--dry-run"]);
    assert!(shown.code == Some(2) && shown.stderr.contains("not JSON"), "{shown:?}");
    assert_eq!(server.service().mails("sb_test").len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn with_a_stateless_application_the_confirmed_call_is_the_one_that_runs() {
    // G-12
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
