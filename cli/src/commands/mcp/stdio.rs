//! The protocol over standard input and output: one message per line.

use std::io;

use idempost::transport::BoxFuture;
use rmcp::ErrorData;
use rmcp::model::{ClientJsonRpcMessage, RequestId, ServerJsonRpcMessage};
use rmcp::service::RoleServer;
use rmcp::transport::Transport;
use rmcp::transport::async_rw::{AsyncRwTransport, DEFAULT_MAX_LINE_LENGTH};
use serde::Deserialize as _;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, BufReader, Empty, Stdin, Stdout, empty, stdin, stdout};

/// Responds to every malformed message with an error (JSON-RPC 2.0, section 5.1). rmcp's own transport ignores a line that isn't JSON, and leaves
/// the ID out of other errors.
pub(super) struct Stdio {
    input: BufReader<Stdin>,
    /// The line read so far.
    line: Vec<u8>,
    output: AsyncRwTransport<RoleServer, Empty, Stdout>,
    /// The response to a malformed message while it is being written.
    reply: Option<BoxFuture<'static, io::Result<()>>>,
}

/// Why a message is malformed, and its ID if it has one.
#[derive(Debug, PartialEq)]
struct Malformed(ErrorData, Option<RequestId>);

impl Stdio {
    pub(super) fn new() -> Self {
        let output = AsyncRwTransport::new_server(empty(), stdout());
        Self { input: BufReader::new(stdin()), line: Vec::new(), output, reply: None }
    }

    /// Reads a line, or the rest of the input; `false` at its end. Of a longer line than the limit, only the start is kept, which isn't valid JSON.
    async fn read_line(&mut self) -> io::Result<bool> {
        loop {
            let available = self.input.fill_buf().await?;
            if available.is_empty() {
                return Ok(!self.line.is_empty());
            }
            let end = available.iter().position(|byte| *byte == b'\n');
            let length = end.map_or(available.len(), |at| at + 1);
            let kept = length.min(DEFAULT_MAX_LINE_LENGTH.saturating_sub(self.line.len()));
            self.line.extend_from_slice(&available[..kept]);
            self.input.consume(length);
            if end.is_some() {
                return Ok(true);
            }
        }
    }
}

/// rmcp may drop the future of `receive` at any time, so its state is in the fields.
impl Transport<RoleServer> for Stdio {
    type Error = io::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        self.output.send(message)
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            if let Some(reply) = &mut self.reply {
                let sent = reply.await;
                self.reply = None;
                sent.ok()?;
            }
            if !self.read_line().await.ok()? {
                return None;
            }
            match parse(&std::mem::take(&mut self.line)) {
                Ok(Some(message)) => return Some(message),
                Ok(None) => {}
                Err(malformed) => {
                    let Malformed(error, id) = *malformed;
                    self.reply = Some(Box::pin(self.output.send(ServerJsonRpcMessage::error(error, id))));
                }
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.output.close().await
    }
}

/// The message in a line; none in an empty line and in a notification that MCP doesn't define.
fn parse(line: &[u8]) -> Result<Option<ClientJsonRpcMessage>, Box<Malformed>> {
    let line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line).trim_ascii();
    if line.is_empty() {
        return Ok(None);
    }
    let malformed = |error, id| Box::new(Malformed(error, id));
    let message: Value = serde_json::from_slice(line).map_err(|error| {
        let rule = format!("each line must be a JSON-RPC message: {error}");
        malformed(ErrorData::parse_error(rule, None), None)
    })?;
    ClientJsonRpcMessage::deserialize(&message).map(Some).or_else(|_| {
        match (message.get("method"), message.get("id")) {
            (Some(_), None) => Ok(None),
            (method, id) => {
                let error = ErrorData::invalid_request("not a JSON-RPC 2.0 message as in MCP", None);
                let id = id.filter(|_| method.is_some()).and_then(|id| RequestId::deserialize(id).ok());
                Err(malformed(error, id))
            }
        }
    })
}
