//! The protocol: lists the tools, confirms changes with the user, and runs calls.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::ErrorData;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CustomRequest, CustomResult,
    ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema, ErrorCode,
    Implementation, InputRequest, InputRequiredResult, ListToolsResult, PaginatedRequestParams,
    ProtocolVersion, ServerCapabilities, ServerConfig, Tool as ToolRecord,
};
use rmcp::service::{RequestContext, RoleServer, ServiceExt as _};
use serde_json::{Map, Value};
use uuid::Uuid;

use super::call::Runner;
use super::catalog::{COMMANDS, Catalog};
use super::stdio::Stdio;
use super::tools::Tool;
use super::{Access, Confirm, fence, question};
use crate::diagnostics::Fail;

/// The name of the question and of its field.
const CONFIRM: &str = "confirm";
/// The maximum number of unanswered questions. Beyond it, all are forgotten and asked again.
const MAX_PENDING: usize = 100;

/// The state that sessions share.
pub(super) struct Server {
    catalog: Catalog,
    runner: Runner,
    confirm: Confirm,
    /// The calls that wait for an answer, by the state that the application returns with it.
    pending: Mutex<HashMap<String, Pending>>,
}

/// A call that waits for its confirmation.
#[derive(Clone, Debug, PartialEq)]
struct Pending {
    tool: String,
    arguments: Map<String, Value>,
}

/// Serves until the application closes standard input.
pub(super) async fn serve(server: Server) -> Result<(), Fail> {
    let failed = |error: &dyn std::fmt::Display| {
        Fail::error(format!("the Model Context Protocol session failed: {error}"))
            .hint("this command is started by an AI application; see idempost mcp --help")
    };
    let running = Arc::new(server).serve(Stdio::new()).await.map_err(|error| failed(&error))?;
    running.waiting().await.map(drop).map_err(|error| failed(&error))
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("idempost", env!("CARGO_PKG_VERSION")))
            .with_instructions(format!(
                "Tools to send and manage email. Each is a command of `idempost` and returns its JSON. Set `dry_run` to see a request without sending it. \
                 After an error with the outcome `unknown`, retry only with the same `idempotency_key`. {}",
                fence::INSTRUCTIONS
            ))
    }

    fn get_tool(&self, name: &str) -> Option<ToolRecord> {
        self.catalog.record(name)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.catalog.records()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let given = request.arguments.clone().unwrap_or_default();
        if request.name == COMMANDS
            && let Some(described) = self.catalog.commands(&given)
        {
            return Ok(described.map_or_else(failure, structured_result));
        }
        let (tool, arguments) = match self.catalog.find(&request.name, given) {
            Some(Ok(found)) => found,
            Some(Err(problem)) => return Ok(failure(problem)),
            None => {
                return Err(ErrorData::invalid_params(format!("there is no tool `{}`", request.name), None));
            }
        };
        Ok(self.call(tool, arguments, &request, &context).await.unwrap_or_else(failure))
    }

    /// Rejects a method that isn't MCP's, or one with invalid parameters, which rmcp doesn't distinguish.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        Err(match request.method.as_str() {
            "tools/call" => ErrorData::invalid_params(
                "tools/call requires the tool's `name`, and its `arguments` as an object",
                None,
            ),
            method => {
                ErrorData::new(ErrorCode::METHOD_NOT_FOUND, format!("there is no method `{method}`"), None)
            }
        })
    }
}

impl Server {
    pub(super) fn new(catalog: Catalog, runner: Runner, confirm: Confirm) -> Self {
        Self { catalog, runner, confirm, pending: Mutex::default() }
    }

    /// Runs a call, or asks the user first. The error says why it wasn't run, or failed.
    async fn call(
        &self,
        tool: &Tool,
        arguments: Map<String, Value>,
        request: &CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, String> {
        let command_line = self.runner.command_line(tool, &arguments)?;
        let previews = matches!(arguments.get("dry_run"), Some(Value::Bool(true) | Value::String(_)));
        if tool.access > Access::Read && !previews && self.must_ask(tool, request, &arguments, context)? {
            return self.ask(tool, arguments, command_line, context).await;
        }
        self.run(tool, command_line, context).await
    }

    async fn run(
        &self,
        tool: &Tool,
        command_line: Vec<String>,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, String> {
        let canceled = context.ct.clone();
        match self.runner.run(command_line, move || canceled.is_cancelled()).await {
            Err(error) if tool.returns_content() => {
                Err(fence::enclose(&serde_json::from_str(&error).unwrap_or(error.into())))
            }
            // Structured content would be outside the fence.
            Ok(value) if tool.returns_content() => {
                Ok(CallToolResult::success(vec![ContentBlock::text(fence::enclose(&value))]).into())
            }
            ran => ran.map(structured_result),
        }
    }

    /// Whether to ask the user before a change. The error says why it is refused.
    fn must_ask(
        &self,
        tool: &Tool,
        request: &CallToolRequestParams,
        arguments: &Map<String, Value>,
        context: &RequestContext<RoleServer>,
    ) -> Result<bool, String> {
        let elicitation = context.client_capabilities().and_then(|capabilities| capabilities.elicitation);
        let can_ask = elicitation.is_some_and(|modes| modes.form.is_some() || modes.url.is_none());
        match (self.confirm, can_ask) {
            (Confirm::Never, _) => return Ok(false),
            (Confirm::Always, false) => {
                let reason = "each change needs the user's confirmation, and this application can't ask for it (it doesn't support elicitation); \
                     nothing was done. To allow changes without confirmation, the user can start the server with `--confirm never`";
                return Err(reason.to_owned());
            }
            (Confirm::Always, true) => {}
        }
        let Some(state) = &request.request_state else { return Ok(true) };
        let asked = self.pending.lock().unwrap_or_else(PoisonError::into_inner).remove(state);
        let call = Pending { tool: tool.name(), arguments: arguments.clone() };
        if asked != Some(call) {
            return Ok(true);
        }
        let answer = request.input_responses.as_ref().and_then(|responses| responses.get(CONFIRM));
        match answer.and_then(|answer| serde_json::from_value(answer.clone()).ok()) {
            Some(answer) => check_answer(answer).map(|()| false),
            None => Ok(true),
        }
    }

    /// Asks the user whether to execute a call, showing its request. From protocol 2026-07-28 on, the question is the response, and the
    /// application repeats the call with the answer.
    async fn ask(
        &self,
        tool: &Tool,
        arguments: Map<String, Value>,
        command_line: Vec<String>,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, String> {
        let mut preview = arguments.clone();
        preview.insert("dry_run".to_owned(), true.into());
        let request = self.runner.run(self.runner.command_line(tool, &preview)?, || false).await?;
        let question = form(question::build_question(tool, &request)?)?;
        if context
            .protocol_version()
            .is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str())
        {
            let state = self.store_pending(Pending { tool: tool.name(), arguments });
            let requests = [(CONFIRM.to_owned(), InputRequest::Elicitation(ElicitRequest::new(question)))];
            return Ok(InputRequiredResult::new(Some(requests.into()), Some(state)).into());
        }
        let answer = context.peer.create_elicitation(question).await;
        let answer =
            answer.map_err(|error| format!("the user couldn't be asked: {error}; nothing was done"))?;
        check_answer(answer)?;
        self.run(tool, command_line, context).await
    }

    fn store_pending(&self, call: Pending) -> String {
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        if pending.len() >= MAX_PENDING {
            pending.clear();
        }
        let state = Uuid::new_v4().to_string();
        pending.insert(state.clone(), call);
        state
    }
}

/// Whether the user confirmed the change.
fn check_answer(answer: ElicitResult) -> Result<(), String> {
    let confirmed = answer.content.as_ref().and_then(|content| content.get(CONFIRM)).and_then(Value::as_bool);
    match (answer.action, confirmed) {
        (ElicitationAction::Accept, Some(true)) => Ok(()),
        (ElicitationAction::Cancel, _) => Err("the user canceled; nothing was done".to_owned()),
        _ => Err("the user declined; nothing was done".to_owned()),
    }
}

/// The form with a question.
fn form(message: String) -> Result<ElicitRequestParams, String> {
    let schema = ElicitationSchema::builder().required_bool(CONFIRM).build();
    Ok(ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema: schema? })
}

/// A result as text, and as structured content.
fn structured_result(value: Value) -> CallToolResponse {
    let mut result = CallToolResult::success(vec![ContentBlock::text(value.to_string())]);
    // Older clients accept objects only.
    result.structured_content = value.is_object().then_some(value);
    result.into()
}

fn failure(reason: String) -> CallToolResponse {
    CallToolResult::error(vec![ContentBlock::text(reason)]).into()
}
