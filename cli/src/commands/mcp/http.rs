//! The protocol over HTTP: streamable HTTP on a loopback address, protected by a token.

use std::convert::Infallible;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode, header};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::json;
use sha2::{Digest as _, Sha256};
use tokio::net::TcpListener;
use uuid::Uuid;

use super::TOKEN;
use super::server::Server;
use crate::actions::http_server;
use crate::context::Context;
use crate::diagnostics::{Fail, Origin};
use crate::files;

/// The only path.
const PATH: &str = "/mcp";
const TEXT: &str = "text/plain; charset=utf-8";
/// The allowed lengths of a token.
const TOKEN_LENGTH: std::ops::RangeInclusive<usize> = 16..=256;
/// The maximum number of connections; further ones wait.
const MAX_CONNECTIONS: usize = 256;
/// The timeout for a request's headers.
const HEADER_TIMEOUT: Duration = Duration::from_secs(15);
/// The idle timeout of a session, during which a question may wait for the user.
const KEEP_ALIVE: Duration = Duration::from_hours(1);

// No doc comment: it would replace the command's.
#[derive(Debug, clap::Args)]
#[group(skip)]
pub(super) struct Args {
    /// Serve HTTP on this port of 127.0.0.1 instead of standard input and output [default: 4011]
    ///
    /// For applications that connect to a URL (streamable HTTP). Each request needs a token, which is printed at startup unless --token-file or
    /// IDEMPOST_MCP_TOKEN contains it. 0 picks any free port. Ctrl-C ends it.
    #[arg(long, value_name = "PORT", num_args = 0..=1, default_missing_value = "4011")]
    http: Option<u16>,
    /// File that contains the token for --http
    #[arg(long, value_name = "PATH", requires = "http")]
    token_file: Option<PathBuf>,
}

type Handler = StreamableHttpService<Arc<Server>, LocalSessionManager>;

/// The state that connections share.
struct Endpoint {
    handler: Handler,
    /// The digest of the token: comparing digests leaks no timing information.
    token: [u8; 32],
}

impl Args {
    /// The port to serve HTTP on.
    pub(super) fn port(&self) -> Option<u16> {
        self.http
    }
}

/// Serves until the program ends.
pub(super) async fn serve(server: Server, port: u16, args: &Args, context: &Context) -> Result<(), Fail> {
    let given = configured_token(args, context)?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await;
    let (listener, port) = listener
        .and_then(|listener| listener.local_addr().map(|address| (listener, address.port())))
        .map_err(|error| {
            Fail::local(format!("couldn't listen on 127.0.0.1:{port}"), error)
                .hint("choose another port with --http PORT, or any free one with --http 0")
        })?;
    let token = given.clone().unwrap_or_else(|| Uuid::new_v4().simple().to_string());
    let endpoint = Arc::new(Endpoint { handler: handler(server, port), token: digest(&token) });
    let url = format!("http://127.0.0.1:{port}{PATH}");
    let new = given.is_none().then_some(&token);
    let mut lines = vec![url.clone()];
    lines.extend(new.map(|token| format!("Authorization: Bearer {token}")));
    context.out.result(&lines, &json!({ "url": url, "token": new }))?;
    if new.is_some() {
        context
            .out
            .note("each request needs this header; the token is valid until Ctrl-C and won't be shown again");
    }
    http_server::serve(listener, MAX_CONNECTIONS, HEADER_TIMEOUT, move |request| {
        let endpoint = Arc::clone(&endpoint);
        async move { endpoint.handle(request).await }
    })
    .await;
    Ok(())
}

/// The protocol's handler. Also rejects requests from web pages: to another host name (DNS rebinding) or from another origin.
fn handler(server: Server, port: u16) -> Handler {
    let server = Arc::new(server);
    let hosts = ["127.0.0.1", "localhost"].map(|host| format!("{host}:{port}"));
    let mut sessions = LocalSessionManager::default();
    sessions.session_config.keep_alive = Some(KEEP_ALIVE);
    let config = StreamableHttpServerConfig::default()
        .with_allowed_origins(hosts.each_ref().map(|host| format!("http://{host}")))
        .with_allowed_hosts(hosts);
    StreamableHttpService::new(move || Ok(Arc::clone(&server)), Arc::new(sessions), config)
}

impl Endpoint {
    async fn handle(&self, request: Request<Incoming>) -> Response<BoxBody<Bytes, Infallible>> {
        if !self.is_authorized(request.headers()) {
            let text = "missing or wrong token (Authorization: Bearer …)\n";
            let mut response = build_response(StatusCode::UNAUTHORIZED, TEXT, text);
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            return response;
        }
        if request.uri().path() != PATH {
            return build_response(StatusCode::NOT_FOUND, TEXT, "the only path is /mcp\n");
        }
        let is_json = has_json(request.headers());
        let response = self.handler.handle(request).await;
        if is_json && response.status() == StatusCode::UNSUPPORTED_MEDIA_TYPE {
            // rmcp reports a body that isn't a message as an unsupported media type.
            let error = json!({"code": -32700, "message": "the body must be one JSON-RPC message"});
            let body = json!({"jsonrpc": "2.0", "error": error}).to_string();
            return build_response(StatusCode::BAD_REQUEST, "application/json", body);
        }
        response
    }

    fn is_authorized(&self, headers: &HeaderMap) -> bool {
        let given = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let Some((scheme, token)) = given.and_then(|value| value.split_once(' ')) else { return false };
        scheme.eq_ignore_ascii_case("bearer") && digest(token.trim()) == self.token
    }
}

fn digest(token: &str) -> [u8; 32] {
    Sha256::digest(token).into()
}

fn build_response(
    status: StatusCode,
    content_type: &'static str,
    body: impl Into<Full<Bytes>>,
) -> Response<BoxBody<Bytes, Infallible>> {
    let mut response = Response::new(body.into().boxed());
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

fn has_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    kind.and_then(|kind| kind.split(';').next())
        .is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
}

/// The token from the file or the environment.
fn configured_token(args: &Args, context: &Context) -> Result<Option<String>, Fail> {
    let (text, origin) = match (&args.token_file, context.env.get(TOKEN)) {
        (Some(path), _) => {
            let failed = |error| Fail::local(format!("couldn't read {}", path.display()), error);
            let bytes = files::read(path, 4096, true).map_err(failed)?;
            let bytes = bytes.ok_or_else(|| failed(std::io::ErrorKind::NotFound.into()))?;
            let origin = Origin::flag("--token-file", path.display().to_string());
            let text = String::from_utf8_lossy(&bytes);
            (text.trim_start_matches('\u{feff}').trim_end_matches(['\r', '\n']).to_owned(), origin)
        }
        (None, Some(text)) => (text.to_owned(), Origin::env(TOKEN)),
        (None, None) => return Ok(None),
    };
    // RFC 6750, section 2.1; the value itself isn't shown.
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte);
    if TOKEN_LENGTH.contains(&text.len()) && text.bytes().all(is_token) {
        return Ok(Some(text));
    }
    let rule = format!(
        "the token must have {} to {} characters of A-Z a-z 0-9 - . _ ~ + / =",
        TOKEN_LENGTH.start(),
        TOKEN_LENGTH.end()
    );
    Err(Fail::usage("token", rule, Some(origin)))
}
