//! The memory use of processes.

use std::fs;

use crate::senders::Failure;

/// Returns the peak memory use of this process, in KiB.
///
/// # Errors
/// The operating system isn't Linux.
pub fn peak() -> Result<u64, Failure> {
    figure("self", "VmHWM:")
}

/// Returns the peak memory use of another process so far, in KiB.
///
/// # Errors
/// Those of [`peak`]; the process doesn't exist.
pub fn peak_of(pid: u32) -> Result<u64, Failure> {
    figure(&pid.to_string(), "VmHWM:")
}

/// Returns the current memory use of another process, in KiB.
///
/// # Errors
/// Those of [`peak`]; the process doesn't exist.
pub fn resident(pid: u32) -> Result<u64, Failure> {
    figure(&pid.to_string(), "VmRSS:")
}

fn figure(process: &str, name: &str) -> Result<u64, Failure> {
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    let figure = status.lines().find_map(|line| line.strip_prefix(name)).ok_or("no such figure")?;
    Ok(figure.trim().trim_end_matches(" kB").parse()?)
}
