//! Runs a command and prints its duration and the peak of its memory: `timed COMMAND ARGUMENT...`. Exits with its exit code.

use std::process::Command;
use std::time::{Duration, Instant};

use idempost_benchmarks::memory;
use idempost_benchmarks::senders::Failure;

#[expect(clippy::print_stdout, reason = "the figures are the program's result")]
fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args_os().skip(1);
    let program = arguments.next().ok_or("usage: timed COMMAND ARGUMENT...")?;
    let start = Instant::now();
    let mut child = Command::new(program).args(arguments).spawn()?;
    let mut peak = 0;
    let status = loop {
        // Gone once the process has ended.
        peak = memory::peak_of(child.id()).map_or(peak, |now| peak.max(now));
        if let Some(status) = child.try_wait()? {
            break status;
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    println!("{:.2} s, {} MiB at most", start.elapsed().as_secs_f64(), peak / 1024);
    std::process::exit(status.code().unwrap_or(1));
}
