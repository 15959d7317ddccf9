//! Sends at the maximum rate over many concurrent connections: `flood REQUEST COUNT CONNECTIONS BASE_URL [PID]`. Prints requests and emails per
//! second, and the memory use of the process with this ID. [`Exchange::named`] lists the requests.

use std::time::Instant;

use idempost_benchmarks::memory;
use idempost_benchmarks::senders::Failure;
use idempost_benchmarks::wire::Exchange;

#[tokio::main(flavor = "current_thread")]
#[expect(clippy::print_stdout, reason = "the pace is the program's result")]
async fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (name, count, connections, base, pid) = match arguments.as_slice() {
        [name, count, connections, base] => (name, count, connections, base, None),
        [name, count, connections, base, pid] => (name, count, connections, base, Some(pid)),
        _ => return Err("usage: flood REQUEST COUNT CONNECTIONS BASE_URL [PID]".into()),
    };
    let (count, connections): (u32, u32) = (count.parse()?, connections.parse()?);
    let exchange = Exchange::named(name)?;
    let start = Instant::now();
    let mut tasks = Vec::new();
    for n in 0..connections {
        let share = count / connections + u32::from(n < count % connections);
        let (exchange, base) = (exchange.clone(), base.clone());
        tasks.push(tokio::spawn(async move { exchange.repeat(&base, share).await }));
    }
    for task in tasks {
        task.await??;
    }
    let pace = f64::from(count) / start.elapsed().as_secs_f64();
    let memory = match pid {
        Some(pid) => format!(", {} MiB resident", memory::resident(pid.parse()?)? / 1024),
        None => String::new(),
    };
    println!("{pace:.0} requests, {:.0} emails a second{memory}", pace * f64::from(exchange.emails));
    Ok(())
}
