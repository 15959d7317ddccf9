//! What the service promises, asked through its public doors.

#[path = "service/support.rs"]
mod support;

#[path = "service/sending.rs"]
mod sending;
