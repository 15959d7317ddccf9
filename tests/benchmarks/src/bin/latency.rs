//! Measures the latency of requests while a sandbox sends a broadcast, an export and a search: `latency CONTACTS BASE_URL`. Prints the latencies of
//! one client that lists emails and sends an email in turn, until the last mail of the broadcast has been sent.

use std::time::{Duration, Instant};

use idempost_benchmarks::senders::Failure;
use reqwest::{Client, Method};
use serde_json::{Value, json};

const KEY: &str = "sb_local";
/// The number of connections that create the contacts.
const WRITERS: usize = 8;
/// The approximate size of the broadcast's HTML, in bytes.
const HTML: usize = 55_000;

#[derive(Clone)]
struct Sandbox {
    client: Client,
    base_url: String,
}

#[tokio::main(flavor = "current_thread")]
#[expect(clippy::print_stdout, reason = "the waits are the program's result")]
async fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [contacts, base_url] = arguments.as_slice() else {
        return Err("usage: latency CONTACTS BASE_URL".into());
    };
    idempost::transport::install_crypto_provider();
    let sandbox = Sandbox { client: Client::builder().no_proxy().build()?, base_url: base_url.clone() };
    let segment = sandbox.made("/segments", &json!({ "name": "Readers" })).await?;
    fill(&sandbox, contacts.parse()?, &segment).await?;
    let broadcast =
        json!({ "segment_id": segment, "from": "news@acme.test", "subject": "News", "html": html() });
    let id = sandbox.made("/broadcasts", &broadcast).await?;

    let started = Instant::now();
    let (sending, path) = (sandbox.clone(), format!("/broadcasts/{id}/send"));
    let sent = tokio::spawn(async move {
        sending.ask(Method::POST, &path, None).await.map(drop).map_err(|error| error.to_string())
    });
    for path in ["/_/export?format=mbox", "/_/messages?query=paragraph+nowhere"] {
        let sandbox = sandbox.clone();
        tokio::spawn(async move { while sandbox.ask(Method::GET, path, None).await.is_ok() {} });
    }
    let mut waits = waits(&sandbox, &id).await?;
    let total = started.elapsed();
    sent.await??;
    waits.sort_unstable();
    let at = |permille: usize| waits[(waits.len() * permille / 1_000).min(waits.len() - 1)];
    println!(
        "{} requests in {total:.1?}: median {:.1?}, p99 {:.1?}, p99.9 {:.1?}, longest {:.1?}",
        waits.len(),
        at(500),
        at(990),
        at(999),
        at(1_000)
    );
    Ok(())
}

/// Adds this many contacts to a segment.
async fn fill(sandbox: &Sandbox, contacts: usize, segment: &str) -> Result<(), Failure> {
    let writers = (0..WRITERS).map(|writer| {
        let (sandbox, segment) = (sandbox.clone(), segment.to_owned());
        tokio::spawn(async move {
            for n in (writer..contacts).step_by(WRITERS) {
                let contact =
                    json!({ "email": format!("c{n}@example.com"), "first_name": format!("Name{n}"), "segments": [{ "id": segment }] });
                sandbox.made("/contacts", &contact).await.map_err(|error| error.to_string())?;
            }
            Ok::<(), String>(())
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await??;
    }
    Ok(())
}

/// HTML like that of newsletters, with a property of the contact.
fn html() -> String {
    let row = "<tr><td><a href=\"https://acme.test/a\">Read more</a></td><td><p>A paragraph of some words.</p></td></tr>";
    format!("<p>Hello {{{{{{FIRST_NAME}}}}}}</p><table>{}</table>", row.repeat(HTML / row.len()))
}

async fn waits(sandbox: &Sandbox, broadcast: &str) -> Result<Vec<Duration>, Failure> {
    let email =
        json!({ "from": "hi@acme.test", "to": "ada@example.com", "subject": "Hello", "text": "It works" });
    let path = format!("/broadcasts/{broadcast}");
    let mut waits = Vec::new();
    loop {
        for (method, path, body) in [
            (Method::GET, "/emails?limit=20", None),
            (Method::POST, "/emails", Some(&email)),
            (Method::GET, path.as_str(), None),
        ] {
            let started = Instant::now();
            let answer = sandbox.ask(method, path, body).await?;
            waits.push(started.elapsed());
            if answer["status"] == "sent" {
                return Ok(waits);
            }
        }
    }
}

impl Sandbox {
    async fn ask(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Value, Failure> {
        let request = self.client.request(method, format!("{}{path}", self.base_url)).bearer_auth(KEY);
        let request = match body {
            Some(body) => request.header("content-type", "application/json").body(body.to_string()),
            None => request,
        };
        let bytes = request.send().await?.bytes().await?;
        // An mbox export isn't JSON.
        Ok(serde_json::from_slice(&bytes).unwrap_or_default())
    }

    /// The ID of a new record.
    async fn made(&self, path: &str, body: &Value) -> Result<String, Failure> {
        let answer = self.ask(Method::POST, path, Some(body)).await?;
        answer["id"].as_str().map(str::to_owned).ok_or_else(|| format!("{path}: {answer}").into())
    }
}
