//! What this process takes of the machine.

use std::fs;

use crate::senders::Failure;

/// The peak of its memory so far, in KiB.
///
/// # Errors
/// The system doesn't tell: it isn't Linux.
pub fn peak() -> Result<u64, Failure> {
    let status = fs::read_to_string("/proc/self/status")?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("no VmHWM")?;
    Ok(peak.trim().trim_end_matches(" kB").parse()?)
}
