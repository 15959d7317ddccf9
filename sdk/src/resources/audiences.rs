//! Audiences: the former name of segments. Their routes still work but are deprecated (`SPEC.md`, Versioning).

mod operations;

pub use operations::Audiences;
