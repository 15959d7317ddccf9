//! Responses to requests that the service doesn't read completely: a slow body, a large body, one connection too many.

use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use idempost_conformance::contract::Answer;
use idempost_reference_server::{
    ReferenceServer, Settings,
    faults::{Action, Rule},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use super::world::{Probe, World};
use crate::operations::{Described, Document};

pub(super) async fn run(document: &Document, see: &mut impl FnMut(&Described, &Probe, &Answer)) {
    let world = World::new(Settings::default());
    let quick = Duration::from_millis(50);
    let slow = idempost_sandbox::start(Settings { body_timeout: quick, ..Settings::default() }).await;
    let small = Settings { body_limit: 10, max_memory: 1 << 10, ..Settings::default() };
    let small = idempost_sandbox::start(small).await;
    let full = idempost_sandbox::start(Settings { max_connections: 1, ..Settings::default() }).await;
    // Its only connection waits for a response: an idle one would be closed.
    full.service().faults().add(Rule::new(Action::Stall).always());
    let mut only = TcpStream::connect(address(&full)).await.unwrap();
    let (host, credential) = (address(&full), full.api_key());
    let request =
        format!("GET /emails HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {credential}\r\n\r\n");
    only.write_all(request.as_bytes()).await.unwrap();
    for operation in document.operations() {
        let probe = Probe::new(operation.method.clone(), world.path(&operation));
        see(&operation, &probe, &exchange(&full, &probe, 0).await);
        if document.bodies(&operation).is_empty() {
            continue;
        }
        see(&operation, &probe, &exchange(&slow, &probe, 10).await);
        see(&operation, &probe, &exchange(&small, &probe, 1_000_000).await);
    }
}

fn address(server: &ReferenceServer) -> String {
    server.base_url().trim_start_matches("http://").to_owned()
}

/// Sends a request that announces a body of this length and doesn't send it, and reads the response. The server may wait for the body before it closes
/// the connection.
async fn exchange(server: &ReferenceServer, probe: &Probe, length: usize) -> Answer {
    let mut stream = TcpStream::connect(address(server)).await.unwrap();
    let head = format!(
        "{} {} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n",
        probe.method,
        probe.path,
        address(server),
        probe.credential.as_deref().unwrap_or_default(),
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut response = Vec::new();
    while !is_complete(&response).unwrap_or(false) && stream.read_buf(&mut response).await.unwrap() > 0 {}
    let response = String::from_utf8(response).unwrap();
    let (head, body) = response.split_once("\r\n\r\n").unwrap();
    let mut lines = head.lines();
    let status = lines.next().unwrap().split(' ').nth(1).unwrap();
    let headers = lines.map(|line| {
        let (name, value) = line.split_once(": ").unwrap();
        (name.parse::<HeaderName>().unwrap(), HeaderValue::from_str(value).unwrap())
    });
    let status = StatusCode::from_bytes(status.as_bytes()).unwrap();
    Answer { status, headers: headers.collect::<HeaderMap>(), body: body.to_owned().into() }
}

fn is_complete(response: &[u8]) -> Option<bool> {
    let (head, body) = std::str::from_utf8(response).ok()?.split_once("\r\n\r\n")?;
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "))?;
    Some(body.len() >= length.parse().ok()?)
}
