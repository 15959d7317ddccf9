//! What processes take of the machine.

use std::fs;

use crate::senders::Failure;

/// The peak of its memory so far, in KiB.
///
/// # Errors
/// The system doesn't tell: it isn't Linux.
pub fn peak() -> Result<u64, Failure> {
    figure("self", "VmHWM:")
}

/// What another process holds of the memory now, in KiB.
///
/// # Errors
/// As [`peak`], or there is no such process.
pub fn resident(pid: u32) -> Result<u64, Failure> {
    figure(&pid.to_string(), "VmRSS:")
}

fn figure(process: &str, name: &str) -> Result<u64, Failure> {
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    let figure = status.lines().find_map(|line| line.strip_prefix(name)).ok_or("no such figure")?;
    Ok(figure.trim().trim_end_matches(" kB").parse()?)
}
