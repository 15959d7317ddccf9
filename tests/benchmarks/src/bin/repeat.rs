//! Times a command as a whole process: `repeat COUNT COMMAND [ARGUMENT...]`. Prints minimum, median and maximum, in milliseconds.

use std::process::{Command, Stdio};
use std::time::Instant;

use idempost_benchmarks::senders::Failure;

#[expect(clippy::print_stdout, reason = "the figures are the program's result")]
fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let usage = "usage: repeat COUNT COMMAND [ARGUMENT...]";
    let count: usize = arguments.next().ok_or(usage)?.parse()?;
    let program = arguments.next().ok_or(usage)?;
    let arguments: Vec<String> = arguments.collect();
    let mut times = Vec::with_capacity(count);
    for _ in 0..=count {
        let start = Instant::now();
        let status =
            Command::new(&program).args(&arguments).stdout(Stdio::null()).stderr(Stdio::null()).status()?;
        times.push(start.elapsed().as_secs_f64() * 1e3);
        if !status.success() {
            return Err(format!("{program} ended with {status}").into());
        }
    }
    // The first run fills the caches.
    let mut times = times.split_off(1);
    times.sort_by(f64::total_cmp);
    let (least, median, most) = (times[0], times[count / 2], times[count - 1]);
    println!("{}: {least:.1} / {median:.1} / {most:.1} ms", arguments.first().map_or("", String::as_str));
    Ok(())
}
