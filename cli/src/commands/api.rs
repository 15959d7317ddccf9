//! `api`: calls any operation of the service, with the usual credentials.

mod plan;

use http::{HeaderMap, Method, StatusCode, Version};
use idempost::{Call, Client, IdempotencyKey, error::PagingError};
use serde_json::{Value, json};

use crate::actions::dry_run;
use crate::actions::mutation::{self, DryRunFlag, Mutation};
use crate::actions::pages::has_more;
use crate::actions::trace;
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::flags::{Choices, DryRun};
use crate::output::terminal::escape_line;

/// Make an authenticated API request
///
/// PATH is relative to the service's base URL: /emails, or emails/{id} with --path id=…, which is percent-encoded. The method is always
/// explicit: adding a field never turns a GET into a POST. The JSON response is written to standard output unchanged.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    idempost api GET /emails -Q limit=5 --jq '.data[].subject'\n  \
    idempost api GET '/emails/{id}' --path id=49a3999c-0ce1-4ea6-ab68-afcd6dc2e794\n  \
    idempost api POST /domains -f name=example.com -F 'capabilities={\"receiving\":\"enabled\"}'\n  \
    idempost api POST /emails --input mail.json -H 'Idempotency-Key: order-17'\n  \
    idempost api GET /broadcasts --all -o ndjson")]
pub(crate) struct Args {
    /// GET, POST, PUT, PATCH, DELETE or HEAD
    #[arg(value_name = "METHOD", value_parser = Choices(&["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"]), hide_possible_values = true)]
    method: String,
    /// Path of the operation, such as /emails or /emails/{id}
    #[arg(value_name = "PATH")]
    path: String,
    /// Add a string field to the JSON body; repeatable
    #[arg(short = 'f', long, value_name = "NAME=TEXT")]
    field: Vec<String>,
    /// Add a JSON field to the body, or a string from @file; repeatable
    ///
    /// `-F n=7` adds a number, `-F html=@body.html` the contents of a file, and `@-` the contents of standard input.
    #[arg(short = 'F', long, value_name = "NAME=JSON")]
    json_field: Vec<String>,
    /// Query parameter; repeatable
    #[arg(short = 'Q', long, value_name = "NAME=VALUE")]
    query: Vec<String>,
    /// Request header; repeatable
    #[arg(short = 'H', long, value_name = "NAME: VALUE")]
    header: Vec<String>,
    /// Value of {NAME} in the path; repeatable
    #[arg(long = "path", value_name = "NAME=VALUE", id = "segment")]
    segment: Vec<String>,
    /// JSON body from a file; - reads standard input. Fields override it
    #[arg(long, value_name = "PATH")]
    input: Option<String>,
    /// Include the response's status and headers
    #[arg(short = 'i', long)]
    include: bool,
    /// Fetch all pages and show them as one list
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    dry_run: DryRunFlag,
}

/// A validated request.
#[derive(Debug)]
struct Plan {
    method: Method,
    path: String,
    query: Vec<(String, String)>,
    headers: Vec<(String, String)>,
    body: Option<Value>,
    include: bool,
    all: bool,
    dry_run: Option<DryRun>,
}

impl Plan {
    fn call(&self, client: &Client, more: &[(&str, &str)]) -> Call<Value> {
        let call = client.request(self.method.clone(), self.path.as_str());
        let query = self.query.iter().filter(|(name, _)| !more.iter().any(|(other, _)| other == name));
        let call = query.fold(call, |call, (name, value)| call.query(name, value));
        let call = more.iter().fold(call, |call, (name, value)| call.query(*name, *value));
        let call = self.headers.iter().fold(call, |call, (name, value)| call.header(name, value));
        self.body.iter().fold(call, Call::json)
    }
}

/// Sends the request and prints the response.
pub(crate) async fn run(args: Args, context: &Context) -> Result<(), Fail> {
    let plan = plan::plan(args, context)?;
    let client = if plan.dry_run.is_some() { context.client_for_preview()? } else { context.client()? };
    if let Some(form) = plan.dry_run {
        let preview = plan.call(&client, &[]).preview()?;
        return dry_run::show(&preview, &[], form, &context.identity()?, context);
    }
    if plan.all {
        return print_pages(&plan, &client, context).await;
    }
    let changes = plan.method != Method::GET && plan.method != Method::HEAD;
    let response = if changes {
        let unknown_outcome = "the request may have been processed; check before you retry it";
        let key = plan.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("idempotency-key"));
        let key = key.and_then(|(_, value)| IdempotencyKey::new(value.as_str()).ok());
        let key_given = key.is_some();
        let mutation =
            Mutation { dry_run: None, unknown_outcome, key: key.as_ref(), key_given, contents: &[] };
        let done = mutation.execute(context, |client| plan.call(client, &[])).await;
        let Some((_, response)) = done.map_err(|fail| fail.with_key_hint(key_header))? else {
            return Ok(());
        };
        response
    } else {
        trace::execute(context, || plan.call(&client, &[])).await?
    };
    mutation::report(context, || {
        if plan.include {
            let head = format_head(response.status, &response.headers, context.out.terminal.stdout);
            context.out.bytes(head.as_bytes())?;
        }
        if response.body.is_empty() { Ok(()) } else { context.out.document(&response.value) }
    })
}

/// Describes how to repeat the request; this command takes the key as a header.
fn key_header(key: &str) -> String {
    format!(
        "the request may have been processed; to retry safely within 24 hours, run the same command with \
         `-H 'Idempotency-Key: {key}'`"
    )
}

/// Status line and headers in HTTP syntax.
fn format_head(status: StatusCode, headers: &HeaderMap, terminal: bool) -> String {
    let mut head = format!("{:?} {status}\n", Version::HTTP_11);
    for (name, value) in headers {
        let value = String::from_utf8_lossy(value.as_bytes());
        let value = if terminal { escape_line(&value).into_owned() } else { value.into_owned() };
        head.extend([name.as_str(), ": ", &value, "\n"]);
    }
    head.push('\n');
    head
}

/// Fetches a list page by page and prints it as one.
async fn print_pages(plan: &Plan, client: &Client, context: &Context) -> Result<(), Fail> {
    let limit = plan.query.iter().find(|(name, _)| name == "limit").map_or("100", |(_, value)| value);
    let direction = if plan.query.iter().any(|(name, _)| name == "before") { "before" } else { "after" };
    let (mut merged, mut cursor): (Option<Value>, Option<String>) = (None, None);
    loop {
        let mut more = vec![("limit", limit)];
        more.extend(cursor.as_deref().map(|id| (direction, id)));
        let page = trace::execute(context, || plan.call(client, &more)).await?.value;
        let Some(items) = page.get("data").and_then(Value::as_array) else {
            if merged.is_some() {
                return Err(idempost::Error::from(PagingError::EmptyPage).into());
            }
            context.out.warn("the response isn't a list; --all has no effect");
            return context.out.document(&page);
        };
        let edge = if direction == "before" { items.first() } else { items.last() };
        let edge = edge.and_then(|item| item.get("id")?.as_str()).map(str::to_owned);
        let has_more = has_more(&page, limit.parse().unwrap_or(usize::MAX));
        let items = items.clone();
        if context.out.form == crate::settings::Form::Ndjson {
            items.iter().try_for_each(|item| context.out.document(item))?;
        } else {
            let merged = merged.get_or_insert_with(|| {
                let mut first = page.clone();
                first["data"] = json!([]);
                first
            });
            if let Some(data) = merged["data"].as_array_mut() {
                data.extend(items);
            }
            merged["has_more"] = has_more.into();
        }
        if !has_more {
            return merged.map_or(Ok(()), |merged| context.out.document(&merged));
        }
        let next = edge.ok_or(PagingError::EmptyPage).map_err(idempost::Error::from)?;
        if cursor.as_ref() == Some(&next) {
            return Err(idempost::Error::from(PagingError::Repeated(next)).into());
        }
        cursor = Some(next);
    }
}
