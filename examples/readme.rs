//! Compiles what README.md shows in Rust.

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
