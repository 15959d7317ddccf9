//! Ready-made HTTP/1.1 requests over one connection: a client that costs next to nothing, since it shares the cores with the service.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::senders::Failure;

const HTML: &str = r#""from":"Acme <hi@acme.test>","to":["ada@example.com"],"subject":"Your invoice","html":"<h1>Thank you</h1><p>The invoice is attached; please pay it within <b>thirty days</b>.</p>","tags":[{"name":"kind","value":"invoice"}]"#;
const TEXT: &str =
    r#","text":"Thank you for your order. The invoice is attached; please pay it within thirty days.""#;
/// How many emails a batch has (`docs/specification.md`, Limits).
const BATCH: usize = 100;
/// An ID that no record has.
const UNKNOWN: &str = "49a3999c-0ce1-4ea6-ab68-afcd6dc2e794";

/// A request that is sent over and over.
#[derive(Clone, Debug)]
pub struct Exchange {
    method: &'static str,
    path: String,
    body: String,
    status: u16,
    /// How many emails it sends.
    pub emails: u32,
}

impl Exchange {
    /// The request of this name: `send` (HTML and text), `html`, `batch`, `ready`, `early` (a route from the beginning of the table) or
    /// `late` (one from its end).
    ///
    /// # Errors
    /// There is none of this name.
    pub fn named(name: &str) -> Result<Self, Failure> {
        let (both, html) = (format!("{{{HTML}{TEXT}}}"), format!("{{{HTML}}}"));
        let batch = format!("[{}]", vec![both.as_str(); BATCH].join(","));
        let (method, path, body, status, emails) = match name {
            "send" => ("POST", "/emails".to_owned(), both, 200, 1),
            "html" => ("POST", "/emails".to_owned(), html, 200, 1),
            "batch" => ("POST", "/emails/batch".to_owned(), batch, 200, 100),
            "ready" => ("GET", "/_/ready".to_owned(), String::new(), 200, 0),
            "early" => ("DELETE", format!("/broadcasts/{UNKNOWN}"), String::new(), 404, 0),
            "late" => ("DELETE", format!("/oauth/grants/{UNKNOWN}"), String::new(), 404, 0),
            other => return Err(format!("no such request: {other}").into()),
        };
        Ok(Self { method, path, body, status, emails })
    }

    /// Sends it this many times over one connection to `base`, each time after the response to the one before.
    ///
    /// # Errors
    /// A response has another status than it should, or the connection is lost.
    pub async fn repeat(&self, base: &str, count: u32) -> Result<(), Failure> {
        let host = base.trim_start_matches("http://");
        let mut stream = TcpStream::connect(host).await?;
        stream.set_nodelay(true)?;
        let Self { method, path, body, status, .. } = self;
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer sb_local\r\nuser-agent: flood/1\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        let begin = format!("HTTP/1.1 {status} ");
        let mut answer = Vec::with_capacity(16 << 10);
        for _ in 0..count {
            stream.write_all(request.as_bytes()).await?;
            answer.clear();
            while !is_whole(&answer)? {
                if stream.read_buf(&mut answer).await? == 0 {
                    return Err("the connection was closed".into());
                }
            }
            if !answer.starts_with(begin.as_bytes()) {
                return Err(String::from_utf8_lossy(&answer).into_owned().into());
            }
        }
        Ok(())
    }
}

/// Whether as much has arrived as the response's `content-length` says.
fn is_whole(answer: &[u8]) -> Result<bool, Failure> {
    let Some(end) = answer.windows(4).position(|four| four == b"\r\n\r\n") else { return Ok(false) };
    let head = std::str::from_utf8(&answer[..end])?;
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>())
    });
    let length = length.ok_or("a response without content-length")??;
    Ok(answer.len() >= end + 4 + length)
}
