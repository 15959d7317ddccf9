//! `mcp`: the program as a Model Context Protocol server, on standard input and output or over HTTP.
//!
//! | file | contents |
//! |---|---|
//! | `tools` | the tools, generated from the command tree |
//! | `catalog` | which tools are listed, and which are found on demand |
//! | `call` | a call: its arguments as a command line, and the command's result |
//! | `question` | the question before a change |
//! | `fence` | marks untrusted data in results |
//! | `server` | the protocol: lists tools, confirms changes with the user, runs calls |
//! | `stdio` | the protocol over standard input and output |
//! | `http` | the protocol over HTTP |

mod call;
mod catalog;
mod fence;
#[cfg(feature = "fuzzing")]
pub(crate) mod fuzzing;
mod http;
mod question;
mod server;
mod stdio;
mod tools;

use clap::ValueEnum;

use catalog::Catalog;

use crate::context::Context;
use crate::diagnostics::{Fail, Origin};

/// The variable with the token of `--http`.
const TOKEN: &str = "IDEMPOST_MCP_TOKEN";

/// Serve the commands as tools to AI applications (Model Context Protocol)
///
/// The application starts this command and speaks to it over standard input and output, or connects to the URL of --http. Each tool is a command of this program with the same
/// arguments; without --allow, only commands that read. Their values are literal: none names a local file or runs a command, not even as
/// `@PATH` or `-`. Secrets in results are replaced.
///
/// The tools use the profile, base URL and credential of this command; prefer a login or an API key with limited access.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  idempost mcp --allow send\n  idempost mcp --http --allow send\n  idempost mcp --allow manage --only contacts,segments\n  idempost --profile work mcp --allow manage --confirm never\n\n\
    The configuration of most applications:\n  \
    {\"mcpServers\": {\"idempost\": {\"command\": \"idempost\", \"args\": [\"mcp\", \"--allow\", \"send\"]}}}"
)]
pub(crate) struct Args {
    /// Also offer tools that make changes: send, or manage, which includes send
    ///
    /// send: emails, broadcasts, replies, forwards and custom events. manage: everything else too, such as deleting contacts or domains.
    #[arg(long, value_name = "ACCESS")]
    allow: Option<Access>,
    /// Offer only the tools of these groups, comma-separated: emails,domains
    ///
    /// By default, the tools that most senders need are listed; three more find and run all others: commands, read_command and change_command.
    #[arg(long, value_name = "GROUPS", value_delimiter = ',')]
    only: Vec<String>,
    /// When to ask the user before a change: always or never
    ///
    /// The prompt shows the request. With always, changes are rejected if the application can't ask (it doesn't support elicitation).
    #[arg(long, value_name = "WHEN", default_value = "always")]
    confirm: Confirm,
    #[command(flatten)]
    http: http::Args,
}

/// The effect of a tool, and the user's limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
enum Access {
    #[value(skip)]
    Read,
    Send,
    Manage,
}

/// When to ask the user before a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Confirm {
    Always,
    Never,
}

/// Serves until the application closes standard input, or over HTTP until a signal.
pub(crate) async fn run(args: Args, context: &Context) -> Result<(), Fail> {
    let arguments = common_arguments(context)?;
    // Reports problems with the settings and the credential here, since the calls are quiet.
    context.credential()?;
    let tools = tools::list_tools(&(context.command_tree)(), args.allow.unwrap_or(Access::Read));
    let catalog = Catalog::new(tools, &args.only)
        .map_err(|(rule, found)| Fail::usage("unknown", rule, Some(Origin::flag("--only", found))))?;
    let program = std::env::current_exe()
        .map_err(|error| Fail::local("couldn't find the program's executable", error))?;
    let runner = call::Runner::new(program, arguments);
    let server = server::Server::new(catalog, runner, args.confirm);
    match args.http.port() {
        Some(port) => http::serve(server, port, &args.http, context).await,
        None => server::serve(server).await,
    }
}

/// The global flags that this command passes to its tools.
fn common_arguments(context: &Context) -> Result<Vec<String>, Fail> {
    let global = &context.global;
    if global.api_key_file.as_deref() == Some("-") {
        let rule = "must be a file, because tools have no standard input";
        return Err(Fail::usage("exclusive", rule, Some(Origin::flag("--api-key-file", "-"))));
    }
    let values = [
        ("--profile", &global.profile),
        ("--base-url", &global.base_url),
        ("--cacert", &global.cacert),
        ("--client-cert", &global.client_cert),
        ("--proxy", &global.proxy),
        ("--api-key-file", &global.api_key_file),
        ("--timeout", &global.timeout),
        ("--retries", &global.retries),
    ];
    let values = values.into_iter().filter_map(|(name, value)| Some(format!("{name}={}", value.as_ref()?)));
    let lists = [("--allow-to", &global.allow_to), ("--redirect-to", &global.redirect_to)];
    let lists = lists
        .into_iter()
        .flat_map(|(name, values)| values.iter().map(move |value| format!("{name}={value}")));
    let fixed = ["--output=json", "--no-input", "--yes", "--quiet"].map(str::to_owned);
    Ok(values.chain(lists).chain(fixed).collect())
}
