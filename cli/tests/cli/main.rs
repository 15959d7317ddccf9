//! The program as its user meets it: arguments in; two streams and an exit code out.

mod config;
mod doctor;
mod help;
mod readme;
mod sandbox;
mod sessions;
mod streams;
mod support;
