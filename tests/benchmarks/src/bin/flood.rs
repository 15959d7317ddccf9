//! Sends at the maximum rate over many concurrent connections: `flood COUNT CONNECTIONS BASE_URL [PID]`. Prints the rate and the memory use of the
//! process with this ID.
//!
//! It does little work itself, since it shares the cores with the service: requests are prepared, and only the status and the length of a
//! response are read.

use std::time::Instant;

use posthaste_benchmarks::memory;
use posthaste_benchmarks::senders::Failure;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

const MAIL: &str = r#"{"from":"Acme <hi@acme.test>","to":["ada@example.com"],"subject":"Your invoice","html":"<h1>Thank you</h1><p>The invoice is attached; please pay it within <b>thirty days</b>.</p>","text":"Thank you for your order. The invoice is attached; please pay it within thirty days.","tags":[{"name":"kind","value":"invoice"}]}"#;

#[tokio::main(flavor = "current_thread")]
#[expect(clippy::print_stdout, reason = "the pace is the program's result")]
async fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (count, connections, base, pid) = match arguments.as_slice() {
        [count, connections, base] => (count, connections, base, None),
        [count, connections, base, pid] => (count, connections, base, Some(pid)),
        _ => return Err("usage: flood COUNT CONNECTIONS BASE_URL [PID]".into()),
    };
    let (count, connections): (u32, u32) = (count.parse()?, connections.parse()?);
    let host = base.trim_start_matches("http://").to_owned();
    let start = Instant::now();
    let mut tasks = Vec::new();
    for n in 0..connections {
        let share = count / connections + u32::from(n < count % connections);
        tasks.push(tokio::spawn(send(host.clone(), share)));
    }
    for task in tasks {
        task.await??;
    }
    let pace = f64::from(count) / start.elapsed().as_secs_f64();
    let memory = match pid {
        Some(pid) => format!(", {} MiB resident", memory::resident(pid.parse()?)? / 1024),
        None => String::new(),
    };
    println!("{pace:.0} sends a second{memory}");
    Ok(())
}

async fn send(host: String, count: u32) -> Result<(), Failure> {
    let mut stream = TcpStream::connect(&host).await?;
    stream.set_nodelay(true)?;
    let length = MAIL.len();
    let request = format!(
        "POST /emails HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer sb_local\r\nuser-agent: flood/1\r\n\
         content-type: application/json\r\ncontent-length: {length}\r\n\r\n{MAIL}"
    );
    let mut answer = Vec::with_capacity(4096);
    for _ in 0..count {
        stream.write_all(request.as_bytes()).await?;
        answer.clear();
        while !is_whole(&answer)? {
            if stream.read_buf(&mut answer).await? == 0 {
                return Err("the connection was closed".into());
            }
        }
        if !answer.starts_with(b"HTTP/1.1 200 ") {
            return Err(String::from_utf8_lossy(&answer).into_owned().into());
        }
    }
    Ok(())
}

/// Whether the response has the length in its `content-length`.
fn is_whole(answer: &[u8]) -> Result<bool, Failure> {
    let Some(end) = answer.windows(4).position(|four| four == b"\r\n\r\n") else { return Ok(false) };
    let head = std::str::from_utf8(&answer[..end])?;
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>())
    });
    let length = length.ok_or("an answer without content-length")??;
    Ok(answer.len() >= end + 4 + length)
}
